// The page: settings on the left, the answer of the world on the right. Its address holds all that was set.

import { beginTheme, count, el, note, panel, put } from "/static/page.js";
import { showInside } from "/static/run.js";
import { figure, middle, plot } from "./plots.js";

const HUES = ["#D55E00", "#009E73", "#CC79A7", "#E69F00"], DASHES = ["7 3", "2 3", "9 3 2 3", "4 2"];
const PATIENCE_MS = 400; // a move under way is waited for so long while a slider moves, then cancelled
const INSIDE_MS = 500, GESTURE_MS = 1500; // moves of one setting that follow each other so soon are one
const main = Object.fromEntries(["settings", "answer", "charts", "pins", "inside"].map((id) => [id, document.getElementById(id)]));

const state = {
  opening: null,
  changes: {}, // { path: value } of what differs from the configuration
  seeds: 5,
  move: 0,
  played: null, // the run of the configured seed
  fan: [], // the runs of other seeds
  before: null, // the run before the last gesture
  pins: [], // [{ key, name, changes, played }]
  run: "", // the name of the run that the panels show
  words: [], changed: [],
};
let after = 0, gesture = 0, moved = { path: "", at: 0 }, compared = -1, askedAt = 0, isUnderWay = false, isWanted = false, inside = null, insideTimer = 0;

async function post(path, body, options = {}) {
  const sent = JSON.stringify({ page: state.opening?.page, ...body });
  let answer;
  try {
    answer = await fetch(`/api/play/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: sent, ...options });
  } catch {
    throw new Error("prism play does not answer: it has been stopped, or this computer has slept");
  }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(found.problem ?? `prism play answered ${answer.status}`), { status: answer.status });
  return found;
}

/** Read the settings, the seeds and the pins that the address holds. */
function readAddress() {
  const query = new URLSearchParams(location.hash.slice(1));
  const parsed = (text) => {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  };
  state.changes = {};
  for (const [key, value] of query) if (key.includes(".") || key === "interventions") state.changes[key] = parsed(value);
  state.seeds = Number(query.get("seeds") ?? state.opening.seeds);
  if (!state.opening.fans.includes(state.seeds)) state.seeds = state.opening.seeds;
  const old = new Map(state.pins.map((pin) => [pin.name, pin]));
  const asked = query.getAll("pin").map(parsed).filter((pin) => pin?.name && pin.changes).slice(0, state.opening.pins);
  state.pins = asked.map((pin) => ({ key: pin.name, ...pin, played: old.get(pin.name)?.played ?? null }));
  for (const pin of state.pins) if (!pin.played) post("pin", pin).catch((error) => put(main.pins, note(error.message, "problem")));
  return { tick: query.get("tick"), agent: query.get("agent") };
}

function address() {
  const query = new URLSearchParams();
  for (const [path, value] of Object.entries(state.changes)) query.set(path, JSON.stringify(value));
  if (state.seeds !== state.opening.seeds) query.set("seeds", state.seeds);
  for (const { name, changes } of state.pins) query.append("pin", JSON.stringify({ name, changes }));
  for (const key of ["tick", "agent"]) if (inside?.session[key] !== null && inside?.session[key] !== undefined) query.set(key, inside.session[key]);
  return `#${query}`;
}

const keepAddress = (isNew = false) => history[isNew && address() !== location.hash ? "pushState" : "replaceState"](null, "", address());

/** Ask for a run of what is set now. While a slider moves, the newest wish waits a moment for the answer under way. */
async function move({ isSettled = true } = {}) {
  if (isUnderWay && !isSettled && performance.now() - askedAt < PATIENCE_MS) {
    isWanted = true;
    return;
  }
  [isWanted, isUnderWay, askedAt] = [false, true, performance.now()];
  document.body.dataset.busy = "";
  try {
    state.move = (await post("move", { changes: state.changes, gesture, seeds: state.seeds })).move;
    keepAddress(isSettled);
  } catch (error) {
    isUnderWay = false;
    delete document.body.dataset.busy;
    if (error.status === 404) await open();
    else say(error.message);
  }
}

function set(path, value, how) {
  if (path !== moved.path || performance.now() - moved.at > GESTURE_MS) gesture += 1;
  moved = { path, at: performance.now() };
  const control = state.opening.controls.find((each) => each.path === path);
  const changes = { ...state.changes };
  if (value === (control.value ?? null)) delete changes[path];
  else changes[path] = value;
  state.changes = changes;
  mark(path);
  move(how);
}

/** Ask for a run that is compared with the one that is shown. */
function anew() {
  gesture += 1;
  moved.path = "";
  move();
}

const valueOf = (control) => (control.path in state.changes ? state.changes[control.path] : control.value);

// The settings.

const shownControls = new Map();

/** Return the bounds of a number in words. */
function bounds({ kind, least, most }) {
  if (kind === "choice" || kind === "yes") return "";
  const [low, high] = [least ?? null, (most ?? Infinity) > 1e6 ? null : most].map((each) => (each === null ? null : figure(each)));
  if (low !== null && high !== null) return `; ${low} to ${high}`;
  return low === null ? (high === null ? "" : `; up to ${high}`) : `; ${low} or more`;
}

function controlItem(control) {
  const id = `set-${control.path}`, value = valueOf(control), { path, kind } = control;
  const say = el("p", { class: "quiet meaning", id: `${id}-about` }, `${control.meaning}${bounds(control)}`);
  const back = el("button", { type: "button", class: "link", onclick: () => (set(path, control.value ?? null), refresh()), "aria-label": `Reset ${control.label}` }, "reset");
  let fields, label;
  if (kind === "choice" || kind === "yes") {
    const options = kind === "yes" ? ["true", "false"] : control.options;
    const pick = el("select", { id, "aria-describedby": `${id}-about`, onchange: () => set(path, kind === "yes" ? pick.value === "true" : pick.value) }, options.map((each) => el("option", { value: each }, each)));
    fields = [pick];
    label = el("label", { for: id, title: path }, control.label);
    pick.value = String(value ?? "");
  } else {
    const slider = el("input", { type: "range", id: `${id}-slider`, min: control.low, max: control.high, step: control.step, "aria-label": control.label, "aria-describedby": `${id}-about` });
    const box = el("input", { inputmode: "decimal", id, size: 7, autocomplete: "off", "aria-describedby": `${id}-about` });
    const shown = (given) => {
      box.value = given ?? "";
      box.placeholder = control.is_optional ? "none" : "";
      if (given > Number(slider.max)) slider.max = given;
      if (given < Number(slider.min)) slider.min = given;
      slider.value = given ?? slider.min;
      slider.setAttribute("aria-valuetext", `${given ?? "none"} ${control.unit ?? ""}`);
    };
    slider.addEventListener("input", () => {
      shown(Number(slider.value));
      set(path, Number(slider.value), { isSettled: false });
    });
    slider.addEventListener("change", () => keepAddress(true));
    box.addEventListener("change", () => {
      const text = box.value.trim(), number = Number(text);
      set(path, text === "" ? null : Number.isNaN(number) ? text : number);
      if (!Number.isNaN(number)) shown(text === "" ? null : number);
    });
    shown(value);
    fields = [slider];
    label = el("div", { class: "row between" }, el("label", { for: id, title: path }, control.label), el("span", { class: "number" }, box, el("span", { class: "quiet" }, control.unit ?? "")));
  }
  const item = el("li", { "data-path": path }, label, ...fields, el("div", { class: "about" }, say, back));
  shownControls.set(path, item);
  mark(path);
  return item;
}

/** Show whether a setting differs from the configuration. */
function mark(path) {
  shownControls.get(path)?.classList.toggle("changed", path in state.changes);
}

const search = el("input", { id: "search", autocomplete: "off", placeholder: "feed, activity, seed …", oninput: () => listControls() });
const list = el("ul", { class: "controls" }), found = el("p", { class: "quiet", "aria-live": "polite" }), done = el("ul", { class: "done" });

function listControls() {
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const { controls } = state.opening;
  const wanted = controls.filter((each) => (words.length ? words.every((word) => `${each.path} ${each.label} ${each.meaning}`.toLowerCase().includes(word)) : each.is_first || each.path in state.changes));
  shownControls.clear();
  put(list, wanted.slice(0, 40).map(controlItem));
  put(found, words.length ? `${count(wanted.length)} of ${count(controls.length)} settings` : `${count(wanted.length)} of ${count(controls.length)} settings; search for the others`);
}

function listInterventions() {
  const given = state.changes.interventions ?? [];
  put(done, given.map((each, place) => {
    const words = each.silence ? `tick ${count(each.tick)}: ${state.opening.noun} ${each.silence.join(", ")} is silenced` : `tick ${count(each.tick)}: ${state.opening.noun} ${each.publish.author} publishes “${each.publish.text}”`;
    return el("li", {}, words, " ", el("button", { type: "button", class: "link", "aria-label": `Remove: ${words}`, onclick: () => intervene(given.filter((_, other) => other !== place)) }, "remove"));
  }));
}

function intervene(given) {
  state.changes = { ...state.changes, interventions: given };
  if (!given.length) delete state.changes.interventions;
  listInterventions();
  anew();
}

/** Show all settings as they are now. */
function refresh() {
  listControls();
  listInterventions();
}

// The answer.

const answer = el("div", { "aria-live": "polite" }), status = el("p", { class: "quiet status" }), trouble = el("div"), kept = el("div", { "aria-live": "polite" });

function say(problem) {
  put(trouble, problem ? note(problem, "problem") : null);
}

function tell() {
  const { played } = state;
  if (!played) return;
  const [first, second, ...limits] = played.words.length ? played.words : [`${count(played.agents)} agents`];
  put(answer, el("p", { class: "answer" }, [first, second].filter(Boolean).join(" ")), state.changed.map((each) => el("p", {}, each)), state.words.map((each) => el("p", {}, each)), el("details", {}, el("summary", {}, "Limits of this answer"), [...limits, ...played.remarks, state.opening.note].filter(Boolean).map((each) => el("p", { class: "quiet" }, each))));
  counted();
}

function counted() {
  const { played, fan, seeds } = state;
  const done = fan.length + 1;
  put(status, `seed ${played.seed} · ran in ${played.seconds.toFixed(2)} s · digest `, el("code", {}, played.digest.slice(0, 12)), ` · ${done} of ${count(seeds)} seeds `, seeds > 1 ? el("progress", { max: seeds, value: done, "aria-label": "Seeds" }) : null);
}

const fanPick = el("select", { id: "seeds", onchange: () => ((state.seeds = Number(fanPick.value)), move()) });

function tools() {
  const button = (text, action, title) => el("button", { type: "button", onclick: action, title }, text);
  put(fanPick, state.opening.fans.map((each) => el("option", { value: each }, each === 1 ? "1 seed" : `${each} seeds`)));
  fanPick.value = state.seeds;
  return el("div", { class: "row tools-row" }, el("label", { for: "seeds" }, "Fan"), fanPick, button("Pin", pin, "Keep these settings beside others"), button("Keep this run", keep, "Write the run: prism run gives the same digest"), button("Start over", () => {
    state.changes = {};
    refresh();
    anew();
  }, "Set everything back"));
}

async function keep() {
  put(kept, note("Keeping the run …"));
  try {
    const { path, digest } = await post("keep", { changes: state.changes });
    put(kept, el("p", { class: "kept" }, "Kept in ", el("code", {}, path), ", digest ", el("code", { class: "digest" }, digest), digest === state.played?.digest ? ": as shown here. " : ". ", "Again: ", el("code", {}, `prism run ${path}/config.yaml`)));
  } catch (error) {
    put(kept, note(error.message, "problem"));
  }
}

// Charts.

const frames = new Map();

function frame(key, title) {
  if (frames.has(key)) return frames.get(key);
  const box = el("div", { class: "plot" }), read = el("figcaption", { class: "quiet" }), head = el("h3", {}, title);
  const node = el("figure", { class: "card", "data-chart-of": key }, head, box, read);
  const made = { node, box, read, head };
  box.addEventListener("pointermove", ({ clientX }) => made.point?.(made.svg.nearest(clientX)));
  box.addEventListener("pointerleave", () => made.rest?.());
  box.addEventListener("click", ({ clientX }) => made.press?.(made.svg.nearest(clientX)));
  frames.set(key, made);
  main.charts.querySelector(".plots").append(node);
  return made;
}

/** Draw one chart: `of` returns a run's column. */
function drawOne(key, title, unit, xs, xName, of, { log = false } = {}) {
  const { played, fan, before, pins } = state;
  const now = of(played);
  if (!now?.length) return false;
  const made = frame(key, title), band = middle([played, ...fan].map(of).filter((each) => each?.length));
  const lines = [
    ...(before ? [{ name: "before", values: of(before) ?? [], color: "var(--line)", width: 1.6 }] : []),
    ...pins.map((pin, place) => ({ name: pin.name, values: (pin.played && of(pin.played)) ?? [], color: HUES[place], dash: DASHES[place], width: 1.6 })),
    { name: "this run", values: now, color: "var(--link)", width: 2.2 },
  ].filter(({ values }) => values.length);
  const numbers = now.filter((each) => each !== null);
  const said = `${title} by ${xName}: from ${figure(numbers[0])} to ${figure(numbers.at(-1))}, at most ${figure(Math.max(...numbers))}`;
  made.svg = plot(made.box, { lines, band, xs, log, said, at: log ? null : atRound() });
  made.rest = () => {
    put(made.read, `${unit ? `${unit}, ` : ""}by ${xName}`);
    made.svg.mark(0, false);
    const at = atRound();
    if (!log && at !== null) made.svg.mark(at, true);
  };
  made.point = (place) => {
    made.svg.mark(xs[place], true);
    const parts = lines.toReversed().filter(({ values }) => values[place] !== undefined).map(({ name, values }) => `${name} ${figure(values[place])}`);
    put(made.read, `${xName} ${count(xs[place])}: ${parts.join(", ")}${band && band.low[place] !== undefined ? `; most seeds ${figure(band.low[place])} to ${figure(band.high[place])}` : ""}`);
  };
  made.press = log ? null : (place) => inside?.session.page && inside.session.show((place + 1) * state.opening.ticks_per_round - 1);
  made.rest();
  return true;
}

/** Draw the mean number in each state over the rounds, in the colours of the states. */
function drawStates(xs) {
  const { played, before, opening } = state, names = Object.keys(played.states);
  const made = frame("states", "states over time"), peak = (name) => Math.max(...played.states[name]);
  const lines = [
    ...names.filter((name) => before?.states[name]).map((name) => ({ values: before.states[name], color: opening.colors[name], width: 1.2, dash: "2 3", opacity: 0.75 })),
    ...names.map((name) => ({ name: name.replaceAll("_", " "), values: played.states[name], color: opening.colors[name], width: 2 })),
  ];
  made.svg = plot(made.box, { lines, band: null, xs, at: atRound(), said: `States over time: ${names.map((name) => `${name.replaceAll("_", " ")} at most ${figure(peak(name))}`).join(", ")}` });
  const chips = (place) => names.toSorted((one, other) => peak(other) - peak(one)).map((name) => key(opening.colors[name], `${name.replaceAll("_", " ")}${place === null ? "" : ` ${figure(played.states[name][place] ?? 0)}`}`));
  made.rest = () => {
    put(made.read, chips(null));
    made.svg.mark(0, false);
  };
  made.point = (place) => {
    made.svg.mark(xs[place], true);
    put(made.read, `${opening.round} ${count(xs[place])}: `, chips(place));
  };
  made.press = (place) => inside?.session.page && inside.session.show((place + 1) * opening.ticks_per_round - 1);
  made.rest();
  return true;
}

const key = (color, words, kind = "") => el("span", { class: "key" }, Object.assign(el("span", { class: `swatch ${kind}` }), { style: `--swatch: ${color}` }), words);

const atRound = () => (inside?.session.page && inside.session.tick !== null ? (inside.session.tick + 1) / state.opening.ticks_per_round : null);

function drawAll() {
  const { opening, played } = state;
  if (!played) return;
  if (!main.charts.firstChild) put(main.charts, el("p", { class: "legend-line" }), el("div", { class: "plots" }));
  const known = opening.charts.filter(({ column }) => column in played.rounds);
  const charts = known.length ? known : Object.keys(played.rounds).map((column) => ({ column, name: column.replaceAll("_", " "), unit: "" }));
  const rounds = Array.from({ length: Math.max(1, ...Object.values(played.rounds).map((each) => each.length)) }, (_, at) => at + 1);
  const drawn = new Set();
  const one = (key, ...rest) => drawOne(key, ...rest) && drawn.add(key);
  for (const { column, name, unit } of charts) one(column, name, unit, rounds, opening.round, (run) => run.rounds[column]);
  if (played.cascades.length) one("cascades", "sizes of cascades", "% of cascades with at least so many posts", opening.sizes, "posts", (run) => run.cascades, { log: true });
  if (Object.keys(played.states).length && drawStates(rounds)) drawn.add("states");
  for (const [key, { node }] of frames) node.hidden = !drawn.has(key);
  put(main.charts.querySelector(".legend-line"), key("var(--link)", "this run"), state.before ? key("var(--line)", "the run before") : null, state.fan.length > 1 ? key("var(--link)", `the middle 80% of ${state.fan.length + 1} seeds`, "area") : null, state.pins.filter(({ played }) => played).map((pin) => key(HUES[state.pins.indexOf(pin)], pin.name, "dashed")));
}

let isDrawing = false;

function redraw() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    drawAll();
  });
}

// Pins.

function pin() {
  if (state.pins.length >= state.opening.pins) return say(`There are ${state.opening.pins} pins already: remove one first.`);
  const words = Object.entries(state.changes).map(([path, value]) => (path === "interventions" ? `${value.length} interventions` : `${path.split(".").at(-1).replaceAll("_", " ")} ${value}`));
  let name = words.join(", ").slice(0, 34) || "as configured";
  for (let place = 2; state.pins.some((each) => each.name === name); place += 1) name = `${name.slice(0, 30)} (${place})`;
  const pinned = { key: name, name, changes: { ...state.changes }, played: isUnderWay ? null : state.played };
  state.pins.push(pinned);
  if (isUnderWay) post("pin", pinned).catch((error) => say(error.message)); // what is shown is of other settings
  keepAddress(true);
  listPins();
  redraw();
}

function listPins() {
  const { pins, played } = state;
  if (!pins.length) return put(main.pins);
  const columns = [...pins.map((pin) => ({ name: pin.name, run: pin.played })), { name: "now", run: played }];
  const cell = (run, place) => el("td", {}, run?.measures[place]?.[4] ?? "…");
  const table = el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "measure"), columns.map(({ name }) => el("th", { scope: "col" }, name)))), el("tbody", {}, (played?.measures ?? []).map((each, place) => el("tr", {}, el("th", { scope: "row", class: "text" }, each[3]), columns.map(({ run }) => cell(run, place))))));
  const removal = pins.map((pin) => el("button", { type: "button", class: "link", onclick: () => unpin(pin) }, `Remove ${pin.name}`));
  const going = pins.map((pin) => el("button", { type: "button", class: "link", onclick: () => {
    state.changes = { ...pin.changes };
    refresh();
    anew();
  } }, `Go to ${pin.name}`));
  const write = el("button", { type: "button", disabled: pins.length < 2, onclick: keepExperiment }, "Keep as an experiment");
  put(main.pins, panel("Pinned", el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Pinned settings side by side" }, table), el("div", { class: "row" }, going, removal), el("div", { class: "row" }, write, pins.length < 2 ? el("span", { class: "quiet" }, "from two pins on") : null), experiment));
}

const experiment = el("div", { "aria-live": "polite" });

async function keepExperiment() {
  try {
    const { path } = await post("experiment", { pins: Object.fromEntries(state.pins.map(({ name, changes }) => [name, changes])) });
    put(experiment, el("p", { class: "kept" }, "Written: ", el("code", {}, path), ". Run it: ", el("code", {}, `prism experiment ${path}`)));
  } catch (error) {
    put(experiment, note(error.message, "problem"));
  }
}

function unpin(pin) {
  state.pins = state.pins.filter((each) => each !== pin);
  keepAddress(true);
  listPins();
  redraw();
}

// Inside the run.

function openInside(query) {
  const body = el("div"), acts = el("div"), box = el("details", { class: "inside" }, el("summary", {}, "Inside this run: its people, tick by tick"), body, acts);
  put(main.inside, box);
  inside = showInside(body, new URLSearchParams(Object.entries(query).filter(([, value]) => value !== null)), () => keepAddress());
  inside.session.on("tick", redraw);
  inside.session.on("agent", () => put(acts, state.opening.has_people && inside.session.agent !== null ? interventions() : null));
  box.addEventListener("toggle", turnInside);
  if (query.agent !== null || query.tick !== null) box.open = true;
}

function interventions() {
  const { session } = inside, text = el("input", { id: "post-text", autocomplete: "off", size: 30 });
  const when = () => Math.min(session.tick + 1, session.last), given = () => state.changes.interventions ?? [];
  const publish = (event) => {
    event.preventDefault();
    if (text.value.trim()) intervene([...given(), { tick: when(), publish: { author: session.agent, text: text.value.trim() } }]);
  };
  return panel("What if", el("p", { class: "quiet" }, `From the next tick on, ${state.opening.noun} ${session.agent} …`), el("div", { class: "row" }, el("button", { type: "button", onclick: () => intervene([...given(), { tick: when(), silence: [session.agent] }]) }, "is silenced"), el("form", { class: "row", onsubmit: publish }, el("label", { for: "post-text" }, "publishes"), text, el("button", { type: "submit" }, "Publish"))));
}

function turnInside() {
  clearTimeout(insideTimer);
  if (!state.run || !main.inside.querySelector("details").open) return;
  insideTimer = setTimeout(() => inside.turn(state.run), inside.session.page ? INSIDE_MS : 0);
}

// Events.

function take({ number, kind, move: of, played, run, words, problem, key }) {
  after = number;
  if (kind === "pin") {
    const pin = state.pins.find((each) => each.key === key);
    if (pin) pin.played = played;
    listPins();
    return redraw();
  }
  if (of < state.move && kind !== "failed") return;
  if (kind === "answer") {
    if (state.played && gesture !== compared) state.before = state.played;
    compared = gesture;
    Object.assign(state, { played, fan: [], run, changed: words ?? [], words: [] });
    say("");
    tell();
    listPins();
    redraw();
    turnInside();
  } else if (kind === "seed") {
    state.fan.push(played);
    counted();
    redraw();
  } else if (kind === "fan") {
    state.words = words;
    tell();
  } else if (kind === "failed") say(problem);
  if (kind === "answer" || kind === "failed") {
    isUnderWay = false;
    delete document.body.dataset.busy;
    if (isWanted) move({ isSettled: false });
  }
}

async function listen(page) {
  for (let isOn = true; isOn;) {
    try {
      const answer = await fetch(`/api/play/events?page=${page}&after=${after}`);
      if (state.opening.page !== page) return;
      if (answer.status === 404) return open();
      for (const event of await answer.json()) take(event);
    } catch {
      isOn = false;
      say("prism play does not answer: it has been stopped, or this computer has slept. Load the page again when it runs.");
    }
  }
}

async function open() {
  state.opening = await post("open", {});
  [after, isUnderWay] = [0, false];
  const query = readAddress();
  document.title = `${state.opening.name} – PRISM play`;
  put(document.getElementById("trail"), el("span", { "aria-current": "page" }, state.opening.name));
  if (!main.settings.firstChild) put(main.settings, el("p", { class: "row" }, el("label", { for: "search" }, "Search all settings"), search), found, done, list);
  put(main.answer, tools(), kept, trouble, answer, status);
  refresh();
  listPins();
  if (!inside) openInside(query);
  listen(state.opening.page);
  if (Object.keys(state.changes).length || state.seeds !== state.opening.seeds) move();
  else [isUnderWay, askedAt] = [true, performance.now()];
}

beginTheme();
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.answer.focus();
});
addEventListener("popstate", () => {
  readAddress();
  refresh();
  listPins();
  anew();
});
addEventListener("resize", redraw);
addEventListener("pagehide", () => state.opening && navigator.sendBeacon("/api/play/leave", new Blob([JSON.stringify({ page: state.opening.page })], { type: "application/json" })));
addEventListener("pageshow", (event) => event.persisted && open());
open().catch((error) => put(main.answer, note(error.message, "problem")));
