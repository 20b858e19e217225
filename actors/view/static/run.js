// The page of one run: a clock that all panels follow.

import { bytes, ofRun, read } from "./api.js";
import { agentPanel } from "./agent.js";
import { cascadePanel } from "./cascade.js";
import { causesPanel } from "./causes.js";
import { drawStack, TickChart } from "./chart.js";
import { count, el, facts, many, mark, note, panel, percent, put, trouble as troubleOf, words } from "./dom.js";
import { councilPanel } from "./economy.js";
import { stateOf } from "./list.js";
import { oraclePanel } from "./oracle.js";
import { networkPanel } from "./network.js";
import { namesOf, outcomesPanel } from "./outcomes.js";
import { whyPanel } from "./why.js";

const LIVE_MS = 1000, READING_MS = 400, REST_MS = 10000;
const SPEEDS = [1, 2, 5, 10, 30, 60];

/** The state of the page: what is known of the run, and the tick that is shown. Panels listen to it. */
class Session {
  constructor(name, query) {
    this.name = name;
    this.page = null;
    this.course = null;
    this.tick = query.has("tick") ? Number(query.get("tick")) : null;
    this.agent = query.has("agent") ? Number(query.get("agent")) : null;
    this.cascade = query.has("post") ? Number(query.get("post")) : null;
    this.follows = this.tick === null;
    this.opened = ""; // why the page shows this tick, until another is chosen
    this.why = null; // the agent and the tick that are explained
    this.outcomes = null;
    this.causes = null; // the kept causes of its outcomes; null if there are none
    this.states = null;
    this.cascadeEdges = [];
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
      this.follows = wanted === this.last && this.page?.line.is_running;
      this.opened = "";
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
    const query = new URLSearchParams();
    if (this.tick !== null) query.set("tick", this.tick);
    if (this.agent !== null) query.set("agent", this.agent);
    if (this.cascade !== null) query.set("post", this.cascade);
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => history.replaceState(null, "", `#/run/${encodeURIComponent(this.name)}?${query}`), 250);
  }

  style(name) {
    return this.page.states.find((style) => style.name === name);
  }
}

/** Return the looks of the states: the server sends them as lists. */
const styles = (page) => page.states.map(([name, number, color, shape, text, description]) => ({ name, number, color, mark: shape, text, description }));

/** Show a run, and follow it. Return how to stop. */
export function showRun(main, name, query) {
  const session = new Session(name, query);
  const headline = el("ul", { class: "headline" });
  const trouble = el("div", {}), told = el("div", {});
  const body = el("div", {}, note("Reading the run …"));
  main.append(el("h1", {}, name), told, headline, trouble, body);
  let timer = 0, isBuilt = false, closed = false, courseOf = "";
  const ends = [];
  let wanted = session.tick, offered = session.tick;

  function build() {
    isBuilt = true;
    const has = (name) => session.page.pictures.includes(name);
    const side = el("div", { class: "column" }), centre = el("div", { class: "column" });
    const agent = agentPanel(session), others = [oraclePanel(session, ends), runPanel(session)];
    const drawn = [has("network") && networkPanel(session, ends), has("cascades") && cascadePanel(session, ends)].filter(Boolean);
    centre.append(...(drawn.length ? drawn : others));
    side.append(...(drawn.length ? [agent, ...others] : [agent]));
    const whole = [has("states") && statesPanel(session, ends), has("quarters") && councilPanel(session)];
    put(body, clock(session, ends), outcomesPanel(session, ends), whole, el("div", { class: "grid two" }, centre, side));
    body.append(causesPanel(session));
    whyPanel(session, centre, agent, ends);
  }

  /** Set the tick: that of the address, once it has been read; else the one with which a run opens. */
  function begin(page) {
    if (wanted === undefined) {
      session.tick = Math.min(session.tick, session.last);
      return;
    }
    if (session.tick !== null && session.tick !== offered) wanted = undefined; // the reader has moved meanwhile
    else if (wanted !== null) session.tick = Math.min(wanted, session.last);
    else [session.tick, session.opened] = opening(session);
    offered = session.tick;
    if (!page.is_reading) wanted = undefined;
  }

  async function look() {
    let wait = REST_MS;
    try {
      const page = await read(ofRun(name));
      if (closed) return;
      session.page = { ...page, states: styles(page) };
      wait = page.is_reading ? READING_MS : page.line.is_running ? LIVE_MS : REST_MS;
      put(told, page.in_words.length ? el("p", { class: "answer" }, page.in_words.join(" ")) : null, ...page.remarks.map((line) => note(line, "remark")));
      drawHead(headline, page);
      put(trouble, page.problem ? note(page.problem, "problem") : null);
      const key = `${page.read_ticks} ${page.digest}`;
      if (page.read_ticks && key !== courseOf) {
        session.course = await read(ofRun(name, "course"));
        if (closed) return; // the reader has gone elsewhere: what is built now would listen for ever
        courseOf = key;
        begin(page);
        if (!isBuilt) build();
        session.tell("grown");
        if (session.follows && page.line.is_running) session.show(session.last, { byHand: false });
        session.tell("tick");
      } else if (!page.read_ticks && !isBuilt) {
        put(body, page.problem ? null : note(page.line.is_running || page.is_reading ? "No tick has ended yet; the page will show the first when it has." : "This run has no tick: it ended before the first."));
      }
      session.tell("page");
    } catch (error) {
      if (!closed) put(trouble, troubleOf(error.message));
      if (!closed && !isBuilt) put(body); // it is not being read
    }
    if (!closed) timer = setTimeout(look, wait);
  }

  look();
  return () => {
    closed = true;
    clearTimeout(timer);
    clearTimeout(session.keeping);
    for (const end of ends) end();
  };
}

/** Return the tick with which a run opens, and the reason in words: the busiest if ticks differ, else the end. */
function opening({ page, course, last }) {
  if (page.line.is_running) return [last, "This page follows the run: it shows the latest tick."];
  const first = course.states.map((row) => row[0]);
  const least = Math.min(...first), most = Math.max(...first);
  if (!page.pictures.includes("states") || !(least < most)) return [last, "Opened at the end of the run."];
  const name = words(page.states.find((style) => style.number === 0).name);
  return [course.ticks[first.indexOf(least)], `Opened at the busiest tick: ${count(page.line.agents - least)} of ${many(page.line.agents, "agent")} ${page.line.agents - least === 1 ? "is" : "are"} not ${name}.`];
}

function drawHead(headline, page) {
  const { line, config } = page;
  const reading = page.is_reading && page.read_share < 1 ? `reading its journal: ${percent(page.read_share)}` : "";
  put(
    headline,
    [
      el("span", {}, stateOf(line), line.note ? ` (${line.note})` : ""),
      `${count(line.ticks)} of ${many(line.length, "tick")}`,
      many(line.agents, "agent"),
      config.simulation ? `seed ${config.simulation.seed}` : "",
      config.oracle ? (config.oracle.backend === "choice" ? "embedded oracle" : `oracle ${config.llm?.model} by ${config.oracle.backend}`) : "",
      reading,
    ].filter(Boolean).map((each) => el("li", {}, each)),
  );
}

/** Return the clock: play, a slider, and the tick in words. */
function clock(session, ends) {
  const slider = el("input", { type: "range", min: 0, value: 0, "aria-label": "Tick", class: "slider", oninput: () => session.show(Number(slider.value)) });
  const play = el("button", { class: "play", type: "button", onclick: () => toggle() }, "▶ Play");
  const speed = el("select", { "aria-label": "Speed of play" }, SPEEDS.map((each) => el("option", { value: each }, `${each} a second`)));
  speed.value = "10";
  const said = el("output", {}), why = el("p", { class: "quiet opened" });
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
    if (session.tick >= session.last && !session.page.line.is_running) {
      toggle(false);
      return;
    }
    if (!session.isBusy) session.show(session.tick + 1);
    timer = setTimeout(step, 1000 / Number(speed.value));
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inField = event.target.closest?.("select, input:not([type=range]), textarea");
    if (inField || (event.key === " " && event.target.closest?.("button, summary, a"))) return;
    const round = session.page.config.simulation?.ticks_per_round ?? 10;
    const far = event.shiftKey ? 10 : 1;
    const to = { ArrowLeft: session.tick - far, ArrowRight: session.tick + far, PageUp: session.tick - round, PageDown: session.tick + round, Home: 0, End: session.last }[event.key];
    if (event.key === " ") toggle();
    else if (to === undefined) return;
    else if (event.target.closest?.(".scroller, pre") && event.key.startsWith("Page")) return;
    else session.show(to);
    event.preventDefault();
  }

  function draw() {
    slider.max = session.last;
    slider.value = session.tick;
    slider.setAttribute("aria-valuetext", `tick ${session.tick} of ${session.last}`);
    put(said, `tick ${count(session.tick)}`, el("span", { class: "when" }, ` ${moment(session)}`));
    const end = el("button", { type: "button", class: "link", onclick: () => session.show(session.last) }, "Go to the end");
    put(why, session.opened, session.opened && session.tick < session.last ? [" ", end] : null);
    why.hidden = !session.opened;
  }

  session.on("tick", draw);
  session.on("grown", draw);
  session.on("outcomes", draw);
  addEventListener("keydown", key);
  ends.push(() => {
    clearTimeout(timer);
    isPlaying = false;
    removeEventListener("keydown", key);
  });
  return el("div", { class: "clock", role: "group", "aria-label": "Time" }, el("div", { class: "tools" }, play, speed), slider, said, why);
}

/** Return the simulated moment of the tick. */
function moment(session) {
  const simulation = session.page.config.simulation;
  if (!simulation) return "";
  const round = Math.floor(session.tick / simulation.ticks_per_round) + 1;
  const at = new Date(Date.parse(simulation.epoch) + session.tick * simulation.tick_seconds * 1000);
  if (Number.isNaN(at.getTime())) return `round ${count(round)}`;
  if (session.page.pictures.includes("quarters")) return namesOf(session.outcomes ?? { names: [] })?.(session.tick) ?? "";
  return `round ${count(round)} · ${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Return the panel of states over time, whose legend shows the counts of the tick. */
function statesPanel(session, ends) {
  const chart = new TickChart({ height: 230, label: "Agents in each state over time", onpick: (tick) => session.show(tick), marks: () => session.course?.interventions });
  const legend = el("ul", { class: "legend" });
  const said = el("p", { class: "quiet" });
  ends.push(() => chart.close());

  /** Draw the stack. Without the initial state, if most agents are in it: the others would be a thin line. */
  function grown() {
    const { ticks, states } = session.course;
    const all = session.page.states;
    const mean = states.reduce((sum, row) => sum + row[0], 0) / Math.max(ticks.length * session.page.line.agents, 1);
    const shown = mean > 0.5 && all.length > 1 ? all.filter((style) => style.number) : all;
    const rows = states.map((row) => shown.map((style) => row[style.number] ?? 0));
    const most = Math.max(1, ...rows.map((row) => row.reduce((sum, each) => sum + each, 0)));
    chart.set(session.last + 1, [0, most], () => drawStack(chart, ticks, rows, shown));
    put(said, shown.length < all.length ? `Not in the picture: ${words(all.find((style) => !style.number).name)}.` : "");
    draw();
  }

  function draw() {
    chart.move(session.tick);
    const counts = new Array(session.page.states.length).fill(0);
    for (const state of session.states ?? []) counts[state] += 1;
    const sampled = session.page.line.agents > (session.states?.length ?? 0);
    const number = (style) => (session.states ? count(counts[style.number]) + (sampled ? " drawn" : "") : "");
    put(
      legend,
      session.page.states.map((style) => el("li", { id: `state-${style.number}`, title: style.description || null }, mark(style), el("span", {}, words(style.name)), el("b", {}, number(style)))),
    );
  }

  let waiting = false;
  async function fetchStates() {
    if (session.isBusy) {
      waiting = true;
      return;
    }
    session.isBusy = true;
    const tick = session.tick;
    try {
      session.states = new Uint8Array(await bytes(ofRun(session.name, "states"), { tick }));
      session.statesOf = tick;
      draw();
      session.tell("states");
    } catch {
      // the next look at the run says what the matter is
    }
    session.isBusy = false;
    if (waiting || session.tick !== tick) {
      waiting = false;
      fetchStates();
    }
  }

  session.on("grown", grown);
  session.on("refetch", fetchStates);
  session.on("tick", () => {
    chart.move(session.tick);
    fetchStates();
  });
  return panel("States over time", el("p", { class: "unit" }, "agents in each state at the end of a tick"), chart.box, legend, said);
}

/** Return what the run is made of. */
function runPanel(session) {
  const box = el("div", {});
  session.on("page", () => {
    const { page } = session;
    const { simulation, population, feed, interventions } = page.config;
    const changes = interventions?.some((one) => "feed.algorithm" in (one.set ?? {}));
    put(
      box,
      facts(
        [
          ["domain", page.line.domain],
          ["ticks a round", simulation && count(simulation.ticks_per_round)],
          ["seconds a tick, simulated", simulation && count(simulation.tick_seconds)],
          ["graph", page.pictures.includes("network") && `${words(population?.graph?.kind)}, degree ${population?.graph?.degree}`],
          [changes ? "feed, before interventions" : "feed", page.pictures.includes("network") && feed?.algorithm],
          ["begun by PRISM", page.record_version],
          [page.line.is_running ? "digest so far" : "digest", page.digest],
        ].filter(([, value]) => value),
      ),
    );
  });
  return panel("The run", box);
}
