// The network of people: a mark for each person, a line for each tie.

import { bytes, count, el, ofRun, panel, part, put, read, show as showPart } from "./page.js";

const SPRITE = 64; // pixels of a side of the picture that the marks of a state are drawn from

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

/** Return a colour of the page's theme, as it is now. */
const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Return a canvas that is not on the page. */
const hidden = (width, height) => Object.assign(document.createElement("canvas"), { width, height });

/** The picture on a canvas. */
class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", { alpha: false });
    this.zoom = 1;
    this.middle = [0, 0];
    this.edges = []; // those of a cascade, as pairs of rows of the data
    this.chosen = undefined; // the row of the chosen person
  }

  load(data) {
    this.data = data;
    this.rows = new Map();
    data.people.forEach((person, row) => this.rows.set(person, row));
    const base = data.people.length > 20000 ? 1.6 : data.people.length > 3000 ? 3 : 7;
    const most = data.followers.reduce((one, other) => Math.max(one, other), 1);
    this.sizes = data.followers.map((followers) => base * (0.8 + 1.7 * Math.sqrt(followers / most)));
    this.states = new Uint8Array(data.people.length);
  }

  setStates(states) {
    if (states.length !== this.data?.people.length) return false;
    this.states = states;
    return true;
  }

  /** Show the edges of a cascade, as pairs of people. */
  setEdges(pairs) {
    this.edges = pairs.map((pair) => pair.map((person) => this.rows?.get(person))).filter((pair) => !pair.includes(undefined));
  }

  /** Draw the marks of the states once, in the colours of the page, to be copied; the ties have its colours, too. */
  setLooks(styles) {
    const text = themed("--text");
    const isRimmed = (this.data?.people.length ?? 0) < 20000; // a rim, so that pale marks stand out
    this.marks = new Map(styles.map((style) => {
      const mark = hidden(SPRITE, SPRITE), pen = mark.getContext("2d"), shape = new Path2D(style.shape);
      pen.scale(SPRITE / 14, SPRITE / 14);
      pen.translate(1, 1);
      pen.fillStyle = style.color;
      pen.fill(shape, "evenodd");
      if (isRimmed) Object.assign(pen, { strokeStyle: text, lineWidth: 0.8 }).stroke(shape);
      return [style.number, mark];
    }));
    this.ties = undefined;
  }

  /** Return the pixels of the canvas for one unit of the picture, which keeps its shape in any window. */
  get scale() {
    return 0.47 * this.zoom * Math.min(this.canvas.width, this.canvas.height);
  }

  /** Return where a row of the data is on the canvas. */
  at(row) {
    const { data, middle, scale, canvas } = this;
    return [canvas.width / 2 + (data.places[2 * row] - middle[0]) * scale, canvas.height / 2 - (data.places[2 * row + 1] - middle[1]) * scale];
  }

  /** Return the ties as a picture of their own, which stays until they move. */
  drawnTies() {
    const { canvas, data, zoom, middle } = this, key = [canvas.width, canvas.height, zoom, ...middle].join(" ");
    if (this.ties?.key === key) return this.ties.canvas;
    const layer = hidden(canvas.width, canvas.height), pen = layer.getContext("2d");
    Object.assign(pen, { strokeStyle: themed("--line"), globalAlpha: Math.min(0.16, 420 / Math.max(data.ties.length, 1)) });
    for (let first = 0; first < data.ties.length; first += 200) { // lines of one stroke do not add up where they cross
      pen.beginPath();
      for (let end = first; end < Math.min(first + 200, data.ties.length); end += 2) {
        pen.moveTo(...this.at(data.ties[end]));
        pen.lineTo(...this.at(data.ties[end + 1]));
      }
      pen.stroke();
    }
    this.ties = { key, canvas: layer };
    return layer;
  }

  draw() {
    const { pen, canvas, data, marks, edges } = this;
    const ratio = Math.min(devicePixelRatio, 2);
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    pen.globalAlpha = 1;
    pen.fillStyle = themed("--ground");
    pen.fillRect(0, 0, width, height);
    if (!data || !marks || !width) return;
    pen.globalAlpha = edges.length ? 0.4 : 1;
    pen.drawImage(this.drawnTies(), 0, 0);
    const grown = (14 / 12) * ratio * Math.sqrt(this.zoom);
    for (const isInitial of [true, false]) { // the initial state is dimmed, and behind the others
      pen.globalAlpha = isInitial ? (edges.length ? 0.3 : 0.55) : 1;
      this.states.forEach((state, row) => {
        if ((state === 0) !== isInitial || !marks.has(state)) return;
        const side = Math.max(1.5, this.sizes[row] * grown), [x, y] = this.at(row);
        pen.drawImage(marks.get(state), x - side / 2, y - side / 2, side, side);
      });
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = themed("--text");
    pen.lineWidth = ratio;
    pen.beginPath();
    for (const [from, to] of edges) {
      pen.moveTo(...this.at(from));
      pen.lineTo(...this.at(to));
    }
    if (this.chosen !== undefined) {
      const [x, y] = this.at(this.chosen), radius = (Math.max(this.sizes[this.chosen] * 1.2, 11) * grown) / 2;
      pen.moveTo(x + radius, y);
      pen.arc(x, y, radius, 0, 2 * Math.PI);
    }
    pen.stroke();
  }

  /** Return the person nearest to a point of the canvas, or null if nobody is near. */
  personAt(x, y) {
    if (!this.data) return null;
    const ratio = this.canvas.width / this.canvas.clientWidth;
    let best = null, least = (16 * ratio) ** 2;
    this.data.people.forEach((person, row) => {
      const [px, py] = this.at(row), away = (px - x * ratio) ** 2 + (py - y * ratio) ** 2;
      if (away < least) [best, least] = [person, away];
    });
    return best;
  }
}

/** Return the panel of the network. */
export function networkPanel(session, ends) {
  const canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": "The network of people" });
  const busy = el("div", { class: "busy" });
  const said = el("p", { class: "quiet" });
  const button = (text, label, action) => el("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
  const zoom = el("div", { class: "zoom" }, button("+", "Zoom in", () => zoomBy(1.5)), button("−", "Zoom out", () => zoomBy(1 / 1.5)), button("1:1", "Show all", () => zoomBy(0)));
  const stage = el("div", { class: "stage" }, canvas, busy, zoom);
  const pick = el("select", { id: "cascade", onchange: choose }), tree = el("div", { class: "report" });
  const box = panel("The network", stage, said, el("p", { class: "row" }, el("label", { for: "cascade" }, "Show a cascade"), pick), tree);
  const picture = new Picture(canvas);
  let asked = 0, closed = false, cascades = [];

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
    const { name } = session, isLeft = () => closed || session.name !== name;
    if (!picture.data) put(busy, el("span", {}, "Placing the people …"));
    try {
      const { words } = await read(ofRun(name, "network")), places = await bytes(ofRun(name, "places"));
      if (isLeft()) return;
      picture.load(unpack(places));
      put(busy);
      put(said, words);
      session.tell("refetch");
      picture.setLooks(Object.values(session.page.states));
      show();
      session.tell("people");
    } catch (error) {
      if (!isLeft()) put(busy, el("span", {}, `No picture: ${error.message}.`));
    }
  }

  function show() {
    if (session.states && picture.setStates(session.states)) picture.tick = session.statesOf;
    picture.setEdges(cascades[pick.value]?.ties ?? []);
    picture.chosen = picture.rows?.get(session.agent);
    const counts = new Map();
    for (const state of session.states ?? []) counts.set(state, (counts.get(state) ?? 0) + 1);
    const parts = Object.entries(session.page.states).filter(([, { number }]) => counts.has(number)).map(([name, { number }]) => `${count(counts.get(number))} ${name}`);
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
    const unit = (picture.scale * canvas.clientWidth) / canvas.width;
    picture.middle = [from.middle[0] - dx / unit, from.middle[1] + dy / unit];
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

  /** List the largest cascades so far; the chosen one stays chosen. */
  async function list() {
    const found = await read(ofRun(session.name, "cascades")).catch(() => []);
    const chosen = cascades[pick.value]?.post;
    cascades = found;
    put(pick, el("option", { value: "" }, found.length ? "none" : "there is none"), found.map((each, place) => el("option", { value: place }, each.words)));
    const place = found.findIndex((each) => each.post === chosen);
    pick.value = place < 0 ? "" : place;
  }

  async function choose() {
    const chosen = cascades[pick.value];
    show();
    const card = chosen ? await part(ofRun(session.name, "cascade"), { post: chosen.post }).catch((error) => error.message) : "";
    if (!closed) showPart(tree, card);
  }

  session.on("run", look);
  for (const event of ["states", "agent"]) session.on(event, show);
  session.on("grown", list);
  const recolor = () => {
    if (!picture.data) return;
    picture.setLooks(Object.values(session.page.states));
    show();
  };
  addEventListener("themechange", recolor);
  const observer = new ResizeObserver(redraw);
  observer.observe(canvas);
  look();
  ends.push(() => {
    closed = true;
    observer.disconnect();
    removeEventListener("themechange", recolor);
  });
  return box;
}
