// The page: settings on the left, the answer of the world on the right. Its address holds all that was set.

import { beginTheme, count, el, note, panel, put } from "/static/page.js";
import { showInside } from "/static/run.js";
import { figure, middle, plot } from "/static/plots.js";

const HUES = ["#D55E00", "#009E73", "#CC79A7", "#E69F00"], DASHES = ["7 3", "2 3", "9 3 2 3", "4 2"]; // of pins
const PATIENCE_MS = 400; // a move under way is waited for so long while a slider moves, then cancelled
const GESTURE_MS = 1500; // moves of one setting that follow each other so soon are one
const INSIDE_MS = 500;
const at = (id) => document.getElementById(id);
const words = (name) => name.replaceAll("_", " ");
const button = (text, onclick, more = {}) => el("button", { type: "button", onclick, ...more }, text);

let told = null; // what the server has told of the configuration
let changes = {}; // { path: value } of what differs from the configuration
let seeds = 0, pins = []; // [{ name, changes, played }]
let moveNumber = 0, gesture = 0, moved = { path: "", at: 0 }, askedAt = 0, isUnderWay = false, isWanted = false;
let played = null, fan = [], before = null; // the run of the seed, those of others, the run before the gesture
let after = 0, run = "", inside = null, insideTimer = 0, isDrawing = false;

async function post(path, body) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ page: told?.page, ...body }) };
  const answer = await fetch(`/api/play/${path}`, options).catch(() => {
    throw new Error("prism play does not answer: it has been stopped, or this computer has slept");
  });
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(found.problem ?? `prism play answered ${answer.status}`), { status: answer.status });
  return found;
}

/** Do what a press asks for, and tell in an element what came of it. */
const telling = (node, work) => async () => {
  try {
    put(node, el("p", { class: "kept" }, await work()));
  } catch (error) {
    put(node, note(error.message, "problem"));
  }
};

// The address.

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function readAddress() {
  const query = new URLSearchParams(location.hash.slice(1)), known = new Map(pins.map((pin) => [pin.name, pin.played]));
  changes = Object.fromEntries([...query].filter(([key]) => key.includes(".") || key === "interventions").map(([key, value]) => [key, parsed(value)]));
  seeds = told.fans.find((each) => each === Number(query.get("seeds"))) ?? told.seeds;
  pins = query.getAll("pin").map(parsed).filter((pin) => pin?.name && pin.changes).slice(0, told.pins).map((pin) => ({ ...pin, played: known.get(pin.name) ?? null }));
  for (const pin of pins) if (!pin.played) askPin(pin);
  return new URLSearchParams(["tick", "agent"].filter((key) => query.has(key)).map((key) => [key, query.get(key)]));
}

function keepAddress(isNew = false) {
  const query = new URLSearchParams(Object.entries(changes).map(([path, value]) => [path, JSON.stringify(value)]));
  if (seeds !== told.seeds) query.set("seeds", seeds);
  for (const { name, changes: those } of pins) query.append("pin", JSON.stringify({ name, changes: those }));
  for (const key of ["tick", "agent"]) if ((inside?.session[key] ?? null) !== null) query.set(key, inside.session[key]);
  history[isNew && `#${query}` !== location.hash ? "pushState" : "replaceState"](null, "", `#${query}`);
}

// Moves.

/** Ask for a run of what is set. While a slider moves, the newest wish waits a moment for the answer under way. */
async function move(isSettled = true) {
  if (isUnderWay && !isSettled && performance.now() - askedAt < PATIENCE_MS) {
    isWanted = true;
    return;
  }
  [isWanted, isUnderWay, askedAt] = [false, true, performance.now()];
  document.body.dataset.busy = "";
  try {
    moveNumber = (await post("move", { changes, gesture, seeds })).move;
    keepAddress(isSettled);
  } catch (error) {
    ended();
    if (error.status === 404) await open();
    else put(at("trouble"), note(error.message, "problem"));
  }
}

function ended() {
  isUnderWay = false;
  delete document.body.dataset.busy;
}

function set(path, value, isSettled = true) {
  if (path !== moved.path || performance.now() - moved.at > GESTURE_MS) gesture += 1;
  moved = { path, at: performance.now() };
  changes = { ...changes, [path]: value };
  if (value === (told.controls.find((each) => each.path === path).value ?? null)) delete changes[path];
  document.querySelector(`li[data-path="${path}"]`).classList.toggle("changed", path in changes);
  move(isSettled);
}

/** Set all settings, and compare the run with the one that is shown. */
function goTo(wanted) {
  changes = wanted;
  gesture += 1;
  moved.path = "";
  showSettings();
  move();
}

// Settings.

function bounds({ kind, least = null, most = null }) {
  if (kind === "choice" || kind === "yes" || (least === null && most === null)) return "";
  if (most === null || most > 1e6) return `; ${figure(least)} or more`;
  return `; ${least === null ? "up" : figure(least)} to ${figure(most)}`;
}

function controlItem(control) {
  const { path, kind, label, unit = "" } = control, id = `set-${path}`, value = path in changes ? changes[path] : control.value;
  const about = { "aria-describedby": `${id}-about` }, name = el("label", { for: id, title: path }, label);
  let fields;
  if (kind === "choice" || kind === "yes") {
    const pick = el("select", { id, ...about, onchange: () => set(path, kind === "yes" ? pick.value === "true" : pick.value) }, (kind === "yes" ? ["true", "false"] : control.options).map((each) => el("option", { value: each }, each)));
    pick.value = String(value ?? "");
    fields = [name, pick];
  } else {
    const slider = el("input", { type: "range", min: control.low, max: control.high, step: control.step, "aria-label": label, ...about });
    const box = el("input", { inputmode: "decimal", id, size: 7, autocomplete: "off", placeholder: "none", ...about });
    const show = (given) => {
      box.value = given ?? "";
      if (given > slider.max) slider.max = given;
      if (given < slider.min) slider.min = given;
      slider.value = given ?? slider.min;
      slider.setAttribute("aria-valuetext", `${given ?? "none"} ${unit}`);
    };
    slider.addEventListener("input", () => {
      show(Number(slider.value));
      set(path, Number(slider.value), false);
    });
    slider.addEventListener("change", () => keepAddress(true));
    box.addEventListener("change", () => {
      const text = box.value.trim(), number = text === "" ? null : Number(text);
      if (!Number.isNaN(number)) show(number);
      set(path, Number.isNaN(number) ? text : number);
    });
    show(value);
    fields = [el("div", { class: "row between" }, name, el("span", { class: "number" }, box, el("span", { class: "quiet" }, unit))), slider];
  }
  const reset = () => {
    const { [path]: _, ...others } = changes;
    goTo(others);
  };
  return el("li", { "data-path": path, class: path in changes ? "changed" : null }, fields, el("div", { class: "about" }, el("p", { class: "quiet meaning", id: `${id}-about` }, `${control.meaning}${bounds(control)}`), button("reset", reset, { class: "link", "aria-label": `Reset ${label}` })));
}

/** Show the settings that are searched for, or else the first ones and those that were changed; and what was intervened. */
function showSettings() {
  const wanted = at("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (each) => wanted.every((word) => `${each.path} ${each.label} ${each.meaning}`.toLowerCase().includes(word));
  const found = told.controls.filter((each) => (wanted.length ? fits(each) : each.is_first || each.path in changes));
  put(at("controls"), found.slice(0, 40).map(controlItem));
  put(at("found"), `${count(found.length)} of ${count(told.controls.length)} settings`);
  const { interventions = [] } = changes;
  put(at("done"), interventions.map((each, place) => {
    const { tick, silence, publish } = each, what = silence ? `${told.noun} ${silence} is silenced` : publish ? `${told.noun} ${publish.author} publishes “${publish.text}”` : JSON.stringify(each);
    const rest = interventions.toSpliced(place, 1), { interventions: _, ...others } = changes;
    return el("li", {}, `tick ${count(tick ?? 0)}: ${what} `, button("remove", () => goTo(rest.length ? { ...others, interventions: rest } : others), { class: "link", "aria-label": `Remove: ${what}` }));
  }));
}

// The answer.

function tell({ words: said = [] }, where) {
  put(at(where), said.map((each) => el("p", {}, each)));
}

function showAnswer() {
  const [first = `${count(played.agents)} ${told.nouns}`, second = "", ...limits] = played.words;
  put(at("said"), el("p", { class: "answer" }, `${first} ${second}`));
  put(at("limits"), [...limits, ...played.remarks, told.note].filter(Boolean).map((each) => el("p", { class: "quiet" }, each)));
}

function showStatus() {
  const done = fan.length + 1;
  put(at("status"), `seed ${played.seed} · ran in ${played.seconds.toFixed(2)} s · digest `, el("code", {}, played.digest.slice(0, 12)), ` · ${done} of ${count(seeds)} seeds `, seeds > 1 ? el("progress", { max: seeds, value: done, "aria-label": "Seeds" }) : null);
}

async function keep() {
  const { path, digest } = await post("keep", { changes });
  return [`Kept in `, el("code", {}, path), ", digest ", el("code", { class: "digest" }, digest), ". Again: ", el("code", {}, `prism run ${path}/config.yaml`)];
}

async function keepExperiment() {
  const { path } = await post("experiment", { pins: Object.fromEntries(pins.map((pin) => [pin.name, pin.changes])) });
  return ["Written. Run it: ", el("code", {}, `prism experiment ${path}`)];
}

// Charts.

const key = (color, text, kind = "") => el("span", { class: "key" }, Object.assign(el("span", { class: `swatch ${kind}` }), { style: `--swatch: ${color}` }), text);

/** Return the charts of a run: `series` has for each line its name, its colour and its column of any run. */
function charts() {
  const rounds = Array.from({ length: Math.max(1, ...Object.values(played.rounds).map((each) => each.length)) }, (_, place) => place + 1);
  const named = told.charts.length ? told.charts : Object.keys(played.rounds).map((column) => ({ column, name: words(column), unit: "" }));
  const found = named.filter(({ column }) => played.rounds[column]?.length).map(({ column, name, unit }) => ({ id: column, title: name, unit, xs: rounds, x: told.round, series: [["this run", "var(--link)", (each) => each.rounds[column]]] }));
  if (played.cascades.length) found.push({ id: "cascades", title: "sizes of cascades", unit: "% of cascades with at least so many posts", xs: told.sizes, x: "posts", log: true, series: [["this run", "var(--link)", (each) => each.cascades]] });
  const states = Object.keys(played.states).toSorted((one, other) => Math.max(...played.states[other]) - Math.max(...played.states[one]));
  if (states.length) found.push({ id: "states", title: "states over time", unit: `${told.nouns} in each state, on average`, xs: rounds, x: told.round, series: states.map((name) => [words(name), told.colors[name], (each) => each.states[name]]) });
  return found;
}

function drawChart({ id, title, unit, xs, x, log = false, series }) {
  let figureNode = at(`chart-${id}`);
  if (!figureNode) at("plots").append(figureNode = el("figure", { class: "card", id: `chart-${id}` }, el("h3", {}, title), el("div", { class: "plot" }), el("figcaption", { class: "quiet" })));
  const [, box, caption] = figureNode.children, isOne = series.length === 1, [, , of] = series[0];
  const band = isOne ? middle([played, ...fan].map(of)) : null;
  const olds = before ? series.map(([, color, column]) => ({ name: "before", values: column(before) ?? [], color: isOne ? "var(--line)" : color, dash: isOne ? "none" : "2 3" })) : [];
  const pinned = isOne ? pins.map((pin, place) => ({ name: pin.name, values: (pin.played && of(pin.played)) ?? [], color: HUES[place], dash: DASHES[place] })) : [];
  const now = series.map(([name, color, column]) => ({ name, values: column(played), color, width: 2.2 }));
  const peaks = now.map(({ name, values }) => `${name} at most ${figure(Math.max(...values))}, at the end ${figure(values.at(-1))}`);
  const drawn = plot(box, { lines: [...olds, ...pinned, ...now], band, xs, log, said: `${title} by ${x}: ${peaks.join("; ")}` });
  const round = () => (log || !inside?.session.page || inside.session.tick === null ? null : (inside.session.tick + 1) / told.ticks_per_round);
  const rest = () => {
    drawn.mark(round());
    put(caption, isOne ? [unit, `by ${x}`].filter(Boolean).join(", ") : series.map(([name, color]) => key(color, name)));
  };
  box.onpointermove = ({ clientX }) => {
    const place = drawn.nearest(clientX), lines = [...now, ...pinned, ...(isOne ? olds : [])].filter(({ values }) => values[place] !== undefined);
    drawn.mark(xs[place]);
    put(caption, `${x} ${count(xs[place])}: ${lines.map(({ name, values }) => `${name} ${figure(values[place])}`).join(", ")}${band ? `; most seeds ${figure(band.low[place])} to ${figure(band.high[place])}` : ""}`);
  };
  box.onpointerleave = rest;
  box.onclick = ({ clientX }) => !log && inside?.session.page && inside.session.show((drawn.nearest(clientX) + 1) * told.ticks_per_round - 1);
  rest();
}

/** Draw all charts before the next picture of the screen, and what stands beside them. */
function redraw() {
  if (isDrawing || !played) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    const all = charts();
    all.forEach(drawChart);
    for (const node of at("plots").children) node.hidden = !all.some(({ id }) => node.id === `chart-${id}`);
    put(at("legend"), key("var(--link)", "this run"), before ? key("var(--line)", "the run before") : null, fan.length > 1 ? key("var(--link)", `the middle 80% of ${fan.length + 1} seeds`, "area") : null, pins.map((pin, place) => key(HUES[place], pin.name, "dashed")));
  });
}

// Pins.

const askPin = (pin) => post("pin", { key: pin.name, changes: pin.changes }).catch((error) => put(at("trouble"), note(error.message, "problem")));

function addPin() {
  if (pins.length === told.pins) throw new Error(`There are ${told.pins} pins already: remove one first.`);
  const set = Object.entries(changes).map(([path, value]) => (path === "interventions" ? `${value.length} interventions` : `${words(path.split(".").at(-1))} ${value}`));
  const name = set.join(", ").slice(0, 40) || "as configured";
  const pin = { name: pins.some((each) => each.name === name) ? `${name} (${pins.length + 1})` : name, changes, played: isUnderWay ? null : played };
  pins = [...pins, pin];
  if (!pin.played) askPin(pin); // what is shown is of other settings
  showPins();
}

function showPins() {
  keepAddress(true);
  redraw();
  at("pins").hidden = !pins.length;
  const columns = [...pins, { name: "now", played }];
  const act = (pin) => [button("Go there", () => goTo(pin.changes), { class: "link", "aria-label": `Go to ${pin.name}` }), button("Remove", () => {
    pins = pins.filter((each) => each !== pin);
    showPins();
  }, { class: "link", "aria-label": `Remove ${pin.name}` })];
  put(at("table"), el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "text" }, "measure"), columns.map(({ name }) => el("th", { scope: "col" }, name)))), el("tbody", {}, played?.measures.map(([where, label]) => el("tr", {}, el("th", { scope: "row", class: "text" }, label), columns.map(({ played: one }) => el("td", {}, one ? (one.measures.find(([its]) => its === where)?.[2] ?? "–") : "…")))), el("tr", {}, el("td"), columns.map((pin) => el("td", {}, pin.changes ? act(pin) : null))))));
  at("write").disabled = pins.length < 2;
}

// Inside the run.

function openInside(query) {
  inside = showInside(at("panels"), query, () => keepAddress());
  inside.session.on("tick", redraw);
  inside.session.on("agent", () => put(at("acts"), told.has_people && inside.session.agent !== null ? interventions(inside.session) : null));
  at("inside").addEventListener("toggle", turnInside);
  at("inside").open = query.size > 0;
}

function interventions(session) {
  const text = el("input", { id: "post-text", autocomplete: "off", size: 30 });
  const add = (what) => goTo({ ...changes, interventions: [...(changes.interventions ?? []), { tick: Math.min(session.tick + 1, session.last), ...what }] });
  const publish = (event) => {
    event.preventDefault();
    if (text.value.trim()) add({ publish: { author: session.agent, text: text.value.trim() } });
  };
  return panel("What if", el("p", { class: "quiet" }, `From the next tick on, ${told.noun} ${session.agent} …`), el("div", { class: "row" }, button("is silenced", () => add({ silence: [session.agent] })), el("form", { class: "row", onsubmit: publish }, el("label", { for: "post-text" }, "publishes"), text, el("button", { type: "submit" }, "Publish"))));
}

/** Show the panels of the run that is shown, once no other has come for a moment. */
function turnInside() {
  clearTimeout(insideTimer);
  if (run && at("inside").open) insideTimer = setTimeout(() => inside.turn(run), inside.session.page ? INSIDE_MS : 0);
}

// Events.

function take(event) {
  after = event.number;
  if (event.kind === "pin") {
    for (const pin of pins) if (pin.name === event.key) pin.played = event.played;
    showPins();
  } else if (event.kind === "failed") put(at("trouble"), note(event.problem, "problem"));
  if (event.kind === "pin" || event.move < moveNumber) return;
  if (event.kind === "answer") {
    [played, before, fan, run] = [event.played, event.before ?? null, [], event.run];
    for (const where of ["trouble", "seeded"]) put(at(where));
    tell(event, "changed");
    showAnswer();
    showPins();
    turnInside();
  } else if (event.kind === "seed") fan.push(event.played);
  else if (event.kind === "fan") tell(event, "seeded");
  if (played) showStatus();
  redraw();
  if (event.kind === "answer" || event.kind === "failed") ended();
  if (isWanted && !isUnderWay) move(false);
}

async function listen(page) {
  while (told.page === page) {
    const answer = await fetch(`/api/play/events?page=${page}&after=${after}`).catch(() => null);
    if (told.page !== page) return;
    if (!answer) return put(at("trouble"), note("prism play does not answer: it has been stopped, or this computer has slept. Load the page again when it runs.", "problem"));
    if (answer.status === 404) return open();
    (await answer.json()).forEach(take);
  }
}

/** Begin, or begin again after the server has closed this page: the address holds what was set. */
async function open() {
  told = await post("open", {});
  [after, moveNumber, isUnderWay, askedAt] = [0, 0, true, performance.now()]; // the server runs the configuration as it is
  const query = readAddress();
  document.title = `${told.name} – PRISM play`;
  put(at("trail"), el("span", { "aria-current": "page" }, told.name));
  put(at("seeds"), told.fans.map((each) => el("option", { value: each }, each === 1 ? "1 seed" : `${each} seeds`)));
  at("seeds").value = seeds;
  showSettings();
  if (!inside) openInside(query);
  listen(told.page);
  if (Object.keys(changes).length || seeds !== told.seeds) move();
}

beginTheme();
at("search").addEventListener("input", showSettings);
at("seeds").addEventListener("change", () => {
  seeds = Number(at("seeds").value);
  move();
});
at("pin").addEventListener("click", () => telling(at("kept"), async () => addPin())());
at("keep").addEventListener("click", telling(at("kept"), keep));
at("write").addEventListener("click", telling(at("written"), keepExperiment));
at("reset").addEventListener("click", () => goTo({}));
addEventListener("popstate", () => {
  readAddress();
  goTo(changes);
});
addEventListener("resize", redraw);
addEventListener("pagehide", () => told && navigator.sendBeacon("/api/play/leave", new Blob([JSON.stringify({ page: told.page })], { type: "application/json" })));
addEventListener("pageshow", (event) => event.persisted && open());
open().catch((error) => put(at("trouble"), note(error.message, "problem")));
