// The network of people, drawn by the graphics card: a point for each person, a line for each tie.

import { bytes, ofRun, read } from "./api.js";
import { count, el, many, note, panel, put, words } from "./dom.js";

const LOOK_MS = 500;
const MARKS = ["circle", "square", "triangle", "diamond", "cross", "plus", "star", "ring", "open_square", "open_triangle", "open_diamond", "bar"];
const POINTS = `
attribute vec2 place; attribute float size; attribute float state;
uniform vec2 middle; uniform vec2 scale; uniform float dots; uniform float dim; uniform vec4 rim; uniform vec4 colors[64];
varying vec3 color; varying float shape; varying float strength;
void main() {
  vec4 look = colors[int(state + 0.5)];
  color = mix(look.rgb, rim.rgb, rim.a); shape = look.a; strength = state < 0.5 ? dim : 1.0;
  gl_Position = vec4((place - middle) * scale, 0.0, 1.0);
  gl_PointSize = max(1.5, size * dots);
}`;
const SHAPES = `
precision mediump float;
varying vec3 color; varying float shape; varying float strength;
void main() {
  vec2 p = gl_PointCoord * 2.0 - 1.0;
  float r = length(p), a = abs(p.x), b = abs(p.y);
  bool isIn = r < 1.0;
  if (shape > 0.5 && shape < 1.5) isIn = max(a, b) < 0.86;
  else if (shape < 2.5 && shape > 1.5) isIn = p.y < 0.85 && a < (p.y + 1.0) * 0.55;
  else if (shape < 3.5 && shape > 2.5) isIn = a + b < 1.0;
  else if (shape < 4.5 && shape > 3.5) isIn = abs(a - b) < 0.38 && max(a, b) < 0.9;
  else if (shape < 5.5 && shape > 4.5) isIn = min(a, b) < 0.32 && max(a, b) < 0.95;
  else if (shape < 6.5 && shape > 5.5) isIn = r < 0.62 + 0.36 * cos(5.0 * atan(p.x, -p.y));
  else if (shape < 7.5 && shape > 6.5) isIn = r < 1.0 && r > 0.5;
  else if (shape < 8.5 && shape > 7.5) isIn = max(a, b) < 0.9 && max(a, b) > 0.42;
  else if (shape < 9.5 && shape > 8.5) isIn = p.y < 0.85 && a < (p.y + 1.0) * 0.55 && !(p.y < 0.5 && a < (p.y + 0.25) * 0.45);
  else if (shape < 10.5 && shape > 9.5) isIn = a + b < 1.0 && a + b > 0.45;
  else if (shape > 10.5) isIn = a < 0.95 && b < 0.36;
  if (!isIn) discard;
  gl_FragColor = vec4(color * strength, strength);
}`;
const LINES = `
attribute vec2 place; uniform vec2 middle; uniform vec2 scale;
void main() { gl_Position = vec4((place - middle) * scale, 0.0, 1.0); }`;
const PLAIN = `precision mediump float; uniform vec4 ink; void main() { gl_FragColor = ink; }`;

function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  return made;
}

/** Read what the server has packed: two counts, people, places, followers, ties. */
function unpack(buffer) {
  const [people, ties] = new Int32Array(buffer, 0, 2);
  let at = 8;
  const take = (Kind, length) => {
    const values = new Kind(buffer, at, length);
    at += 4 * length;
    return values;
  };
  return { people: take(Int32Array, people), places: take(Float32Array, 2 * people), followers: take(Float32Array, people), ties: take(Int32Array, 2 * ties) };
}

const rgbOfHex = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255);

/** Return a colour of the page's theme, as it is now. */
const rgbOf = (name) => rgbOfHex(getComputedStyle(document.documentElement).getPropertyValue(name).trim());

/** The picture on a canvas. */
class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl", { antialias: true, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("this browser draws no WebGL, which the picture of the network needs; everything else works");
    this.gl = gl;
    this.points = program(gl, POINTS, SHAPES);
    this.lines = program(gl, LINES, PLAIN);
    this.zoom = 1;
    this.middle = [0, 0];
    this.buffers = Object.fromEntries(["place", "size", "state", "ties", "edges", "chosen", "chosenSize", "chosenState"].map((name) => [name, gl.createBuffer()]));
    this.edges = 0;
    this.chosen = 0;
  }

  fill(name, values) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[name]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values, this.gl.DYNAMIC_DRAW);
  }

  load(data) {
    this.data = data;
    this.rows = new Map();
    data.people.forEach((person, row) => this.rows.set(person, row));
    const base = data.people.length > 20000 ? 1.6 : data.people.length > 3000 ? 3 : 7;
    const most = Math.max(1, ...sample(data.followers));
    this.sizes = data.followers.map((followers) => base * (0.8 + 1.7 * Math.sqrt(followers / most)));
    this.fill("place", data.places);
    this.fill("size", this.sizes);
    const ends = new Float32Array(2 * data.ties.length);
    data.ties.forEach((row, at) => {
      ends[2 * at] = data.places[2 * row];
      ends[2 * at + 1] = data.places[2 * row + 1];
    });
    this.fill("ties", ends);
    this.state = new Float32Array(data.people.length);
    this.fill("state", this.state);
  }

  setStates(states) {
    if (!this.data || states.length !== this.data.people.length) return false;
    this.state.set(states);
    this.fill("state", this.state);
    return true;
  }

  /** Show the edges of a cascade, as pairs of people. */
  setEdges(pairs) {
    if (!this.data) return;
    const ends = pairs.flatMap(([from, to]) => {
      const [a, b] = [this.rows.get(from), this.rows.get(to)];
      return a === undefined || b === undefined ? [] : [this.data.places[2 * a], this.data.places[2 * a + 1], this.data.places[2 * b], this.data.places[2 * b + 1]];
    });
    this.edges = ends.length / 2;
    this.fill("edges", new Float32Array(ends));
  }

  setChosen(person) {
    const row = this.rows?.get(person);
    this.chosen = row === undefined ? 0 : 1;
    if (!this.chosen) return;
    this.fill("chosen", this.data.places.slice(2 * row, 2 * row + 2));
    this.fill("chosenSize", new Float32Array([Math.max(this.sizes[row] * 1.2, 11)]));
    this.fill("chosenState", new Float32Array([63]));
  }

  setColors(styles) {
    this.colors = new Float32Array(64 * 4);
    for (const style of styles.slice(0, 62)) this.colors.set([...rgbOfHex(style.color), MARKS.indexOf(style.mark)], 4 * style.number);
    this.ink = [rgbOf("--ground"), rgbOf("--text"), rgbOf("--line")];
    this.colors.set([...this.ink[1], MARKS.indexOf("ring")], 4 * 63); // the ring around the chosen person
  }

  /** Return the scale: the picture keeps its shape in any window. */
  get scale() {
    const { width, height } = this.canvas;
    const least = Math.min(width, height);
    return [(0.94 * this.zoom * least) / width, (0.94 * this.zoom * least) / height];
  }

  draw() {
    const { gl, canvas } = this;
    const ratio = Math.min(devicePixelRatio, 2);
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    gl.viewport(0, 0, width, height);
    const [ground, text, tie] = this.ink ?? [rgbOf("--ground"), rgbOf("--text"), rgbOf("--line")];
    gl.clearColor(...ground, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    if (!this.data || !this.colors) return;
    const fade = Math.min(0.16, 420 / Math.max(this.data.ties.length, 1)) * (this.edges ? 0.4 : 1);
    this.drawLines("ties", this.data.ties.length, [...tie.map((part) => part * fade), fade]);
    const dim = this.edges ? 0.3 : 0.55, people = this.data.people.length;
    if (people < 20000) this.drawPoints(["place", "size", "state"], people, ratio, { dim: 0, grown: 1.35, rim: [...text, 1] }); // a rim, so that pale marks stand out
    this.drawPoints(["place", "size", "state"], people, ratio, { dim });
    if (this.edges) this.drawLines("edges", this.edges, [...text, 1]);
    if (this.chosen) this.drawPoints(["chosen", "chosenSize", "chosenState"], 1, ratio, {});
  }

  bind(made, attribute, buffer, size) {
    const { gl } = this;
    const at = gl.getAttribLocation(made, attribute);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[buffer]);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, gl.FLOAT, false, 0, 0);
  }

  drawLines(buffer, length, ink) {
    const { gl, lines } = this;
    gl.useProgram(lines);
    this.bind(lines, "place", buffer, 2);
    gl.uniform2fv(gl.getUniformLocation(lines, "middle"), this.middle);
    gl.uniform2fv(gl.getUniformLocation(lines, "scale"), this.scale);
    gl.uniform4fv(gl.getUniformLocation(lines, "ink"), ink);
    gl.drawArrays(gl.LINES, 0, length);
  }

  drawPoints([place, size, state], length, ratio, { dim = 1, grown = 1, rim = [0, 0, 0, 0] }) {
    const { gl, points } = this;
    gl.useProgram(points);
    this.bind(points, "place", place, 2);
    this.bind(points, "size", size, 1);
    this.bind(points, "state", state, 1);
    gl.uniform2fv(gl.getUniformLocation(points, "middle"), this.middle);
    gl.uniform2fv(gl.getUniformLocation(points, "scale"), this.scale);
    gl.uniform1f(gl.getUniformLocation(points, "dots"), grown * ratio * Math.sqrt(this.zoom));
    gl.uniform4fv(gl.getUniformLocation(points, "rim"), rim);
    gl.uniform1f(gl.getUniformLocation(points, "dim"), dim);
    gl.uniform4fv(gl.getUniformLocation(points, "colors"), this.colors);
    gl.drawArrays(gl.POINTS, 0, length);
  }

  /** Return the person nearest to a point of the canvas, or null if nobody is near. */
  personAt(x, y) {
    if (!this.data) return null;
    const ratio = this.canvas.width / this.canvas.clientWidth;
    const [sx, sy] = this.scale;
    const px = ((2 * x * ratio) / this.canvas.width - 1) / sx + this.middle[0];
    const py = (1 - (2 * y * ratio) / this.canvas.height) / sy + this.middle[1];
    let best = null, least = (16 * ratio * 2) / (this.canvas.width * sx);
    least *= least;
    this.data.people.forEach((person, row) => {
      const away = (this.data.places[2 * row] - px) ** 2 + (this.data.places[2 * row + 1] - py) ** 2;
      if (away < least) [best, least] = [person, away];
    });
    return best;
  }
}

/** Return a bounded part of many numbers, to find about their largest. */
const sample = (values) => (values.length < 50000 ? values : values.filter((_, at) => at % 7 === 0 || at < 2000));

/** Return the panel of the network. */
export function networkPanel(session, ends) {
  const canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": "The network of people" });
  const busy = el("div", { class: "busy" });
  const said = el("p", { class: "quiet" });
  const button = (text, label, action) => el("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
  const zoom = el("div", { class: "zoom" }, button("+", "Zoom in", () => zoomBy(1.5)), button("−", "Zoom out", () => zoomBy(1 / 1.5)), button("1:1", "Show all", () => zoomBy(0)));
  const stage = el("div", { class: "stage" }, canvas, busy, zoom);
  const box = panel("The network", stage, said);
  let picture, timer = 0, asked = 0, closed = false;

  try {
    picture = new Picture(canvas);
  } catch (error) {
    put(box, el("h2", {}, "The network"), note(error.message, "problem"));
    return box;
  }

  const redraw = () => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(() => {
      picture.draw();
      canvas.dataset.tick = picture.tick ?? ""; // the tick that can be seen now
    });
  };

  function zoomBy(factor) {
    picture.zoom = factor ? Math.min(40, Math.max(1, picture.zoom * factor)) : 1;
    if (picture.zoom === 1) picture.middle = [0, 0];
    redraw();
  }

  async function look() {
    try {
      const now = await read(ofRun(session.name, "network"));
      if (closed) return;
      if (now.problem) {
        put(busy, el("span", {}, `No picture: ${now.problem}.`));
        return;
      }
      if (now.people) {
        const places = await bytes(ofRun(session.name, "places"));
        if (closed) return;
        picture.load(unpack(places));
        put(busy);
        const drawn = now.people_drawn < now.people ? `Drawn: ${count(now.people_drawn)} of ${many(now.people, "person", "people")}, every ${digitsOf(now.people / now.people_drawn)}th` : `All ${many(now.people, "person", "people")}`;
        const ties = now.ties_drawn < now.ties ? `${count(now.ties_drawn)} of ${many(now.ties, "tie")}` : `all ${many(now.ties, "tie")}`;
        put(said, `${drawn}, and ${ties}; two people who follow each other share a line. Larger points have more followers. Press a person, or name one beside, to look closer.`);
        session.tell("refetch");
        show();
        session.tell("people");
        return;
      }
      put(busy, el("span", {}, `${now.step} …`), el("progress", { max: 1, value: now.share, "aria-label": now.step }));
    } catch (error) {
      put(busy, el("span", {}, error.message));
    }
    if (!closed) timer = setTimeout(look, LOOK_MS);
  }

  function show() {
    picture.setColors(session.page.states);
    if (session.states && picture.setStates(session.states)) picture.tick = session.statesOf;
    picture.setEdges(session.cascadeEdges);
    if (session.agent !== null) picture.setChosen(session.agent);
    else picture.chosen = 0;
    const counts = new Map();
    for (const state of session.states ?? []) counts.set(state, (counts.get(state) ?? 0) + 1);
    const parts = session.page.states.filter((style) => counts.has(style.number)).map((style) => `${count(counts.get(style.number))} ${words(style.name)}`);
    canvas.setAttribute("aria-label", `The network of people at tick ${session.statesOf ?? session.tick}: ${parts.join(", ")}`);
    redraw();
  }

  let from = null;
  canvas.addEventListener("pointerdown", (event) => (from = { x: event.clientX, y: event.clientY, middle: [...picture.middle], moved: false }));
  canvas.addEventListener("pointermove", (event) => {
    if (!from || event.buttons === 0) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (Math.hypot(dx, dy) > 4) from.moved = true;
    if (!from.moved || picture.zoom === 1) return;
    const [sx, sy] = picture.scale;
    picture.middle = [from.middle[0] - (2 * dx) / canvas.clientWidth / sx, from.middle[1] + (2 * dy) / canvas.clientHeight / sy];
    redraw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    const person = from && !from.moved ? picture.personAt(event.clientX - left, event.clientY - top) : null;
    if (person !== null) session.choose("agent", person);
    from = null;
  });
  canvas.addEventListener("keydown", (event) => {
    const factor = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, 0: 0 }[event.key];
    if (factor !== undefined) zoomBy(factor);
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return; // without it the page scrolls
      event.preventDefault();
      zoomBy(event.deltaY < 0 ? 1.2 : 1 / 1.2);
    },
    { passive: false },
  );

  for (const event of ["states", "agent", "edges"]) session.on(event, show);
  const recolor = () => picture.data && show();
  addEventListener("themechange", recolor);
  const observer = new ResizeObserver(redraw);
  observer.observe(canvas);
  look();
  ends.push(() => {
    closed = true;
    clearTimeout(timer);
    observer.disconnect();
    removeEventListener("themechange", recolor);
    picture.gl.getExtension("WEBGL_lose_context")?.loseContext();
  });
  return box;
}

const digitsOf = (value) => (value < 10 ? value.toFixed(1) : Math.round(value));
