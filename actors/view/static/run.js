// The page of one run: a clock that the network, the agent and the moment follow, and the sections of its report.

import { agentPanel } from "./agent.js";
import { networkPanel } from "./network.js";
import { bytes, count, el, entitle, following, note, ofRun, panel, part, put, read, show } from "./page.js";
import { whyPanel } from "./why.js";

const LIVE_MS = 1000, READING_MS = 400, REST_MS = 10000;
const DRAW_MS = 10000, DRAW_TIMES = 10; // a run under way is drawn again after so long, and so many times its own time
const SPEEDS = [1, 2, 5, 10, 30, 60];

/** The state of the page: what is known of the run, and the tick that is shown. Panels listen to it. */
class Session {
  constructor(name, query, keep = null) {
    this.name = name;
    this.kept = keep; // keeps tick and agent in an address that is not of this page
    this.page = null;
    const given = (key) => (query.has(key) ? Number(query.get(key)) : null);
    this.tick = given("tick");
    this.agent = given("agent");
    this.follows = this.tick === null;
    this.why = null; // the agent and the tick that are explained
    this.states = null; // of each person that is drawn, at the tick `statesOf`
    this.listeners = {};
  }

  on(event, listener) {
    (this.listeners[event] ??= []).push(listener);
  }

  tell(event) {
    for (const listener of this.listeners[event] ?? []) listener();
  }

  get last() {
    return Math.max((this.page?.read_ticks ?? 0) - 1, 0);
  }

  /** Show a tick; the address keeps it, so that it can be sent to somebody. */
  show(tick, { byHand = true } = {}) {
    const wanted = Math.min(Math.max(Math.round(tick), 0), this.last);
    if (byHand) {
      this.follows = wanted === this.last && this.page?.is_running;
    }
    if (wanted === this.tick) return;
    this.tick = wanted;
    this.keep();
    this.tell("tick");
  }

  choose(kind, value) {
    if (this[kind] === value) return;
    this[kind] = value;
    this.keep();
    this.tell(kind);
  }

  keep() {
    if (this.kept) {
      this.kept();
      return;
    }
    const query = new URLSearchParams();
    for (const key of ["tick", "agent"]) if (this[key] !== null) query.set(key, this[key]);
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => history.replaceState(null, "", `#/run/${encodeURIComponent(this.name)}?${query}`), 250);
  }
}

/** Show a run, and follow it. Return how to stop. */
export function showRun(main, name, query) {
  const session = new Session(name, query), ends = [];
  const head = el("div"), body = el("div", {}, note("Reading the run …")), report = el("div", { class: "report" });
  const heading = el("h1", {}, name);
  main.append(heading, head, body, report);
  report.addEventListener("drawn", ({ target }) => follow(session, target));
  session.on("tick", () => report.querySelectorAll(".live").forEach((chart) => mark(session, chart)));
  let isBuilt = false, wanted = session.tick, offered = session.tick, drawn = "", drawAt = 0, isDrawing = false;

  function build() {
    isBuilt = true;
    showPanels(session, body, ends);
  }

  /** Set the tick: that of the address, once it has been read; else the one with which a run opens. */
  function begin(page) {
    if (wanted === undefined) {
      session.tick = Math.min(session.tick, session.last);
      return;
    }
    if (session.tick !== null && session.tick !== offered) wanted = undefined; // the reader has moved meanwhile
    else if (wanted !== null) session.tick = Math.min(wanted, session.last);
    else session.tick = page.opens_at;
    offered = session.tick;
    if (!page.is_reading) wanted = undefined;
  }

  /** Draw the sections of the report, unless they are those of the run as it is. */
  async function drawReport(page, closed) {
    if (isDrawing || page.is_reading || page.version === drawn || Date.now() < drawAt) return;
    isDrawing = true;
    if (!drawn) put(report, note("Drawing the charts …"));
    const began = Date.now();
    try {
      const sections = await part(ofRun(name, "sections"));
      if (!closed()) show(report, sections);
    } catch (error) {
      if (!closed()) put(report, note(error.message, "problem"));
    }
    drawn = page.version;
    drawAt = page.is_running ? Date.now() + Math.max(DRAW_MS, DRAW_TIMES * (Date.now() - began)) : 0;
    isDrawing = false;
  }

  const stop = following(head, async (closed) => {
    const page = await read(ofRun(name)).catch((error) => {
      if (!isBuilt && !closed()) put(body); // the head says what the matter is
      throw error;
    });
    if (closed()) return REST_MS;
    if (!session.page) {
      entitle(heading, page.label);
      put(document.querySelector("#trail [aria-current]"), page.label);
    }
    const grown = page.read_ticks !== session.page?.read_ticks || page.is_running !== session.page?.is_running;
    session.page = page;
    show(head, page.head);
    if (page.read_ticks && grown) {
      begin(page);
      if (!isBuilt) build();
      session.tell("grown");
      if (session.follows && page.is_running) session.show(session.last, { byHand: false });
      session.tell("tick");
    } else if (!page.read_ticks && !isBuilt) {
      put(body, note(page.is_running || page.is_reading ? "No tick has ended yet; the page will show the first when it has." : "This run shows no tick."));
    }
    if (page.read_ticks) drawReport(page, closed);
    return page.is_reading ? READING_MS : page.is_running ? LIVE_MS : REST_MS;
  });
  return () => {
    stop();
    clearTimeout(session.keeping);
    for (const end of ends) end();
  };
}

/** Show the clock of a run, and the panels that follow it. */
function showPanels(session, body, ends) {
  const { pictures } = session.page, agent = agentPanel(session), moment = momentPanel(session);
  const centre = el("div", { class: "column" }, pictures.includes("network") ? networkPanel(session, ends) : moment);
  const side = el("div", { class: "column" }, pictures.includes("network") ? moment : null, agent);
  put(body, clock(session, ends), el("div", { class: "grid two" }, centre, side));
  whyPanel(session, centre, agent, ends);
}

/** Show the panels of a run without its head and its report; `turn` shows another run at the same tick. */
export function showInside(body, query, keep) {
  const session = new Session("", query, keep);
  let wanted = "";

  async function turn(name) {
    wanted = name;
    let page;
    do page = await read(ofRun(name));
    while (wanted === name && page.is_reading && (await new Promise((done) => setTimeout(done, READING_MS / 4, true))));
    if (wanted !== name) return;
    const isFirst = !session.page;
    Object.assign(session, { name, page, why: null, tick: Math.min(session.tick ?? page.opens_at, Math.max(page.read_ticks - 1, 0)) });
    if (isFirst) showPanels(session, body, []);
    for (const event of ["run", "grown", "tick", "agent"]) session.tell(event);
  }

  return { session, turn: (name) => turn(name).catch((error) => session.page ?? put(body, note(error.message, "problem"))) };
}

/** Draw the line of a chart over time at the tick that is shown. */
function mark({ tick }, { view, clock }) {
  if (clock) view.signal("at", clock[0] + clock[1] * (tick + 1)).runAsync();
}

/** Let a chart over time follow the clock; a click on it shows the tick there. */
function follow(session, chart) {
  const { view, clock } = chart;
  if (!clock) return;
  mark(session, chart);
  view.addEventListener("click", ({ clientX }) => {
    const svg = chart.querySelector("svg"), { left, width } = svg.getBoundingClientRect();
    const x = ((clientX - left) * svg.width.baseVal.value) / width - view.origin()[0];
    session.show((view.scale("x").invert(x) - clock[0]) / clock[1] - 1);
  });
}

/** Return the clock: play, a slider, and the tick in words. */
function clock(session, ends) {
  const slider = el("input", { type: "range", min: 0, value: 0, "aria-label": "Tick", class: "slider", oninput: () => session.show(Number(slider.value)) });
  const play = el("button", { class: "play", type: "button", onclick: () => toggle() }, "▶ Play");
  const speed = el("select", { "aria-label": "Speed of play" }, SPEEDS.map((each) => el("option", { value: each }, `${each} a second`)));
  speed.value = "10";
  const said = el("output", {});
  const move = (sign, name, key) => el("button", { type: "button", "aria-label": name, title: name, onclick: () => session.show(to(key)) }, sign);
  let timer = 0, isPlaying = false;

  function toggle(is = !isPlaying) {
    isPlaying = is;
    clearTimeout(timer);
    put(play, is ? "❚❚ Pause" : "▶ Play");
    if (is && session.tick >= session.last) session.show(0);
    if (is) step();
  }

  function step() {
    if (!isPlaying) return;
    if (session.tick >= session.last && !session.page.is_running) {
      toggle(false);
      return;
    }
    if (!session.isBusy) session.show(session.tick + 1);
    timer = setTimeout(step, 1000 / Number(speed.value));
  }

  /** Return the tick to which a key leads; undefined for other keys. */
  function to(key, far = 1) {
    const { tick, last, page } = session;
    return { ArrowLeft: tick - far, ArrowRight: tick + far, PageUp: tick - page.round, PageDown: tick + page.round, Home: 0, End: last }[key];
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inField = event.target !== slider && event.target.closest?.("select, input, textarea");
    if (inField || (event.key === " " && event.target.closest?.("button, summary, a"))) return;
    const wanted = to(event.key, event.shiftKey ? 10 : 1);
    if (event.key === " ") toggle();
    else if (wanted === undefined) return;
    else if (event.target.closest?.(".scroller, .scroll, pre") && event.key.startsWith("Page")) return;
    else session.show(wanted);
    event.preventDefault();
  }

  function draw() {
    slider.max = session.last;
    slider.value = session.tick;
    slider.setAttribute("aria-valuetext", `tick ${session.tick} of ${session.last}`);
    put(said, `tick ${count(session.tick)}`);
  }

  session.on("tick", draw);
  session.on("grown", draw);
  addEventListener("keydown", key);
  ends.push(() => {
    clearTimeout(timer);
    isPlaying = false;
    removeEventListener("keydown", key);
  });
  return el("div", { class: "clock", role: "group", "aria-label": "Time" }, el("div", { class: "tools" }, move("«", "One round back", "PageUp"), move("‹", "One tick back", "ArrowLeft"), play, move("›", "One tick on", "ArrowRight"), move("»", "One round on", "PageDown"), speed), slider, said);
}

/** Return the panel of what a tick changes; the network's states come with it. */
function momentPanel(session) {
  const body = el("div");
  let again = false;

  async function look() {
    if (session.isBusy) {
      again = true;
      return;
    }
    session.isBusy = true;
    const { tick, page, name } = session, hasNetwork = page.pictures.includes("network");
    try {
      const [moment, states] = await Promise.all([part(ofRun(name, "moment"), { tick }), hasNetwork ? bytes(ofRun(name, "states"), { tick }) : null]);
      show(body, moment);
      if (states) session.states = new Uint8Array(states);
      session.statesOf = tick;
      session.tell("states");
    } catch {
      // the next look at the run says what the matter is
    }
    session.isBusy = false;
    if (again || session.tick !== tick) {
      again = false;
      look();
    }
  }

  session.on("tick", look);
  session.on("refetch", look);
  return panel("At this tick", body);
}
