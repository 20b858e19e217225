// The page: settings on the left, the answer of the world on the right. Its address holds all that was set.

import { beginTheme, count, el, note, panel, put } from "/static/page.js";
import { showInside } from "/static/run.js";
import { figure, middle, plot } from "/static/plots.js";

const HUES = ["#D55E00", "#009E73", "#CC79A7", "#E69F00"], DASHES = ["7 3", "2 3", "9 3 2 3", "4 2"]; // of pins
const INSIDE_MS = 500;
const at = (id) => document.getElementById(id);
const words = (name) => name.replaceAll("_", " ");
const button = (text, onclick, more = {}) => el("button", { type: "button", onclick, ...more }, text);

let told = null; // what the server has told of the configuration
let changes = {}; // { path: value } of what differs from the configuration
let seeds = 0, pins = []; // [{ name, changes, played }]
// A run that is shown: { changes, played, run, fan, seeds }, the last one { seed: { place: value } }.
let now = null, before = null, compared = null; // `compared`: the run before the move that is under way
let under = null, isWanted = false, isDragged = false, isDrawing = false, inside = null, insideTimer = 0;
let pinning = Promise.resolve();

/** Return a text of the server with its code as such, and without the names of files of the documentation. */
const coded = (text) => text.replaceAll(/[;:,.]? ?(see )?docs\/[\w-]+\.md/g, "").split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part));
const trouble = (error) => put(at("trouble"), error.message.split("\n").map((line) => put(note("", "problem"), coded(line))));

async function ask(path, body, signal) {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
  const answer = await fetch(`/api/play/${path}`, options);
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).problem ?? `prism play answered ${answer.status}`);
  return answer;
}

/** Yield the events of the answer to a move. */
async function* answered(body, signal) {
  try {
    const reader = (await ask("move", body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = "", part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop();
      yield* lines.map((line) => JSON.parse(line));
    }
  } catch (error) {
    throw error instanceof TypeError ? new Error("prism play does not answer: it has been stopped, or this computer has slept.") : error;
  }
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
  runPins();
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

/** Run what is set, in place of what is under way. */
async function move() {
  under?.abort();
  const mine = (under = new AbortController()), shown = { changes, fan: [], seeds: {} };
  const than = compared && { digest: compared.played.digest, seeds: compared.seeds };
  isWanted = false;
  document.body.dataset.busy = "";
  try {
    for await (const event of answered({ changes, seeds, shows: true, before: than }, mine.signal)) if (under === mine) take(event, shown);
  } catch (error) {
    if (under === mine) trouble(error);
  }
  if (under === mine) ended();
}

function ended() {
  delete document.body.dataset.busy;
  if (isWanted) move();
}

/** Set all settings, and compare the run with the one that is shown. */
function goTo(wanted) {
  [changes, compared] = [wanted, now];
  keepAddress(true);
  showSettings();
  move();
}

const without = (path) => Object.fromEntries(Object.entries(changes).filter(([each]) => each !== path));

function set(path, value) {
  changes = value === (told.controls.find((each) => each.path === path).value ?? null) ? without(path) : { ...changes, [path]: value };
  document.querySelector(`li[data-path="${path}"]`).classList.toggle("changed", path in changes);
}

/** Set a setting once and for all, or while its slider moves: then the answer under way comes first. */
function change(path, value, isMoving = false) {
  const isFirst = !isDragged;
  if (isFirst) compared = now;
  isDragged = isMoving;
  set(path, value);
  keepAddress(isFirst);
  if (isMoving && "busy" in document.body.dataset) isWanted = true;
  else move();
}

function take(event, shown) {
  if (event.kind === "failed") {
    trouble(new Error(event.problem));
    put(at("status"));
  }
  if (event.kind === "seed") shown.fan.push(event.played);
  if (event.played) shown.seeds[event.played.seed] = Object.fromEntries(event.played.measures.map(([place, , , value]) => [place, value]));
  if (event.kind === "fan") tell(event, "seeded");
  if (event.kind === "answer") {
    [now, before] = [Object.assign(shown, event), compared];
    for (const where of ["trouble", "seeded"]) put(at(where));
    tell(event, "changed");
    showAnswer();
    showPins();
    turnInside();
    ended();
  }
  if (shown === now) showStatus();
  redraw();
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
    const pick = el("select", { id, ...about, onchange: () => change(path, kind === "yes" ? pick.value === "true" : pick.value) }, (kind === "yes" ? ["true", "false"] : control.options).map((each) => el("option", { value: each }, each)));
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
      change(path, Number(slider.value), true);
    });
    slider.addEventListener("change", () => {
      isDragged = false;
      if (isWanted) move();
    });
    box.addEventListener("change", () => {
      const text = box.value.trim(), number = text === "" ? null : Number(text);
      if (!Number.isNaN(number)) show(number);
      change(path, Number.isNaN(number) ? text : number);
    });
    show(value);
    fields = [el("div", { class: "row between" }, name, el("span", { class: "number" }, box, el("span", { class: "quiet" }, unit))), slider];
  }
  const reset = button("reset", () => goTo(without(path)), { class: "link", "aria-label": `Reset ${label}` });
  return el("li", { "data-path": path, class: path in changes ? "changed" : null }, fields, el("div", { class: "about" }, el("p", { class: "quiet meaning", id: `${id}-about` }, coded(control.meaning), bounds(control)), reset));
}

const done = ({ tick = 0, silence, publish, ...other }) => `tick ${count(tick)}: ${silence ? `${told.noun} ${silence} is silenced` : publish ? `${told.noun} ${publish.author} publishes “${publish.text}”` : JSON.stringify(other)}`;

/** Show the settings that are searched for, or else the first ones and those that were changed; and what was intervened. */
function showSettings() {
  const wanted = at("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (each) => wanted.every((word) => `${each.path} ${each.label} ${each.meaning}`.toLowerCase().includes(word));
  const found = told.controls.filter((each) => (wanted.length ? fits(each) : each.is_first || each.path in changes));
  put(at("controls"), found.slice(0, 40).map(controlItem));
  put(at("found"), `${count(found.length)} of ${count(told.controls.length)} settings`);
  const { interventions = [] } = changes;
  put(at("done"), interventions.map((each, place) => {
    const rest = interventions.toSpliced(place, 1);
    return el("li", {}, done(each), " ", button("remove", () => goTo(rest.length ? { ...changes, interventions: rest } : without("interventions")), { class: "link", "aria-label": `Remove: ${done(each)}` }));
  }));
}

// The answer.

function tell({ words: said = [] }, where) {
  put(at(where), said.map((each) => el("p", {}, each)));
}

function showAnswer() {
  const { played } = now, [first = `${count(played.agents)} ${told.nouns}`, second = "", ...limits] = played.words;
  put(at("said"), el("p", { class: "answer" }, `${first} ${second}`));
  put(at("limits"), [...limits, ...played.remarks, told.note].filter(Boolean).map((each) => el("p", { class: "quiet" }, coded(each))));
}

function showStatus() {
  const { seed, seconds, digest } = now.played, number = now.fan.length + 1;
  put(at("status"), `seed ${seed} · ran in ${seconds.toFixed(2)} s · digest `, el("code", {}, digest.slice(0, 12)), ` · ${number} of ${count(seeds)} seeds `, seeds > 1 ? el("progress", { max: seeds, value: number, "aria-label": "Seeds" }) : null);
}

async function keep() {
  const { path, digest } = await (await ask("keep", { changes })).json();
  return [`Kept in `, el("code", {}, path), ", digest ", el("code", { class: "digest" }, digest), ". Again: ", el("code", {}, `prism run ${path}/config.yaml`)];
}

async function keepExperiment() {
  const { path } = await (await ask("experiment", { pins: Object.fromEntries(pins.map((pin) => [pin.name, pin.changes])) })).json();
  return ["Written. Run it: ", el("code", {}, `prism experiment ${path}`)];
}

// Charts.

const key = (color, text, kind = "") => el("span", { class: "key" }, Object.assign(el("span", { class: `swatch ${kind}` }), { style: `--swatch: ${color}` }), text);

/** Return the charts of a run: `series` has for each line its name, its colour and its column of any run. */
function charts({ rounds, cascades, states }) {
  const numbers = Array.from({ length: Math.max(1, ...Object.values(rounds).map((each) => each.length)) }, (_, place) => place + 1);
  const named = told.charts.length ? told.charts : Object.keys(rounds).map((column) => ({ column, name: words(column), unit: "" }));
  const found = named.filter(({ column }) => rounds[column]?.length).map(({ column, name, unit }) => ({ id: column, title: name, unit, xs: numbers, x: told.round, series: [["this run", "var(--link)", (each) => each.rounds[column]]] }));
  if (cascades.length) found.push({ id: "cascades", title: "sizes of cascades", unit: "% of cascades with at least so many posts", xs: told.sizes, x: "posts", log: true, series: [["this run", "var(--link)", (each) => each.cascades]] });
  const busiest = Object.keys(states).toSorted((one, other) => Math.max(...states[other]) - Math.max(...states[one]));
  if (busiest.length) found.push({ id: "states", title: "states over time", unit: `${told.nouns} in each state, on average`, xs: numbers, x: told.round, series: busiest.map((name) => [words(name), told.colors[name], (each) => each.states[name]]) });
  return found;
}

function drawChart({ id, title, unit, xs, x, log = false, series }) {
  let figureNode = at(`chart-${id}`);
  if (!figureNode) at("plots").append(figureNode = el("figure", { class: "card", id: `chart-${id}` }, el("h3", {}, title), el("div", { class: "plot" }), el("figcaption", { class: "quiet" })));
  const [, box, caption] = figureNode.children, isOne = series.length === 1, [, , of] = series[0];
  const band = isOne ? middle([now.played, ...now.fan].map(of)) : null;
  const olds = before ? series.map(([, color, column]) => ({ name: "before", values: column(before.played) ?? [], color: isOne ? "var(--line)" : color, dash: isOne ? "none" : "2 3" })) : [];
  const pinned = isOne ? pins.map((pin, place) => ({ name: pin.name, values: (pin.played && of(pin.played)) ?? [], color: HUES[place], dash: DASHES[place] })) : [];
  const lines = series.map(([name, color, column]) => ({ name, values: column(now.played), color, width: 2.2 }));
  const peaks = lines.map(({ name, values }) => `${name} at most ${figure(Math.max(...values))}, at the end ${figure(values.at(-1))}`);
  const drawn = plot(box, { lines: [...olds, ...pinned, ...lines], band, xs, log, said: `${title} by ${x}: ${peaks.join("; ")}` });
  const round = () => (log || !inside?.session.page || inside.session.tick === null ? null : (inside.session.tick + 1) / told.ticks_per_round);
  const rest = () => {
    drawn.mark(round());
    put(caption, isOne ? [unit, `by ${x}`].filter(Boolean).join(", ") : series.map(([name, color]) => key(color, name)));
  };
  box.onpointermove = ({ clientX }) => {
    const place = drawn.nearest(clientX), there = [...lines, ...pinned, ...(isOne ? olds : [])].filter(({ values }) => values[place] !== undefined);
    drawn.mark(xs[place]);
    put(caption, `${x} ${count(xs[place])}: ${there.map(({ name, values }) => `${name} ${figure(values[place])}`).join(", ")}${band ? `; most seeds ${figure(band.low[place])} to ${figure(band.high[place])}` : ""}`);
  };
  box.onpointerleave = rest;
  box.onclick = ({ clientX }) => !log && inside?.session.page && inside.session.show((drawn.nearest(clientX) + 1) * told.ticks_per_round - 1);
  rest();
}

/** Draw all charts before the next picture of the screen, and what stands beside them. */
function redraw() {
  if (isDrawing || !now) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    const all = charts(now.played);
    all.forEach(drawChart);
    for (const node of at("plots").children) node.hidden = !all.some(({ id }) => node.id === `chart-${id}`);
    put(at("legend"), key("var(--link)", "this run"), before ? key("var(--line)", "the run before") : null, now.fan.length > 1 ? key("var(--link)", `the middle 80% of ${now.fan.length + 1} seeds`, "area") : null, pins.map((pin, place) => key(HUES[place], pin.name, "dashed")));
  });
}

// Pins.

/** Run the pins that have not been run, one after the other, beside the moves. */
function runPins() {
  pinning = pinning.then(async () => {
    for (const pin of pins.filter(({ played }) => !played)) {
      try {
        for await (const { played = null, problem } of answered({ changes: pin.changes })) {
          pin.played = played;
          if (problem) throw new Error(problem);
        }
      } catch (error) {
        trouble(error);
      }
      showPins();
    }
  });
}

function addPin() {
  if (pins.length === told.pins) throw new Error(`There are ${told.pins} pins already: remove one first.`);
  const label = (path) => told.controls.find((each) => each.path === path).label;
  const name = Object.entries(changes).map(([path, value]) => (path === "interventions" ? value.map(done).join(", ") : `${label(path)} ${value}`)).join(", ") || "as configured";
  pins = [...pins, { name: pins.some((each) => each.name === name) ? `${name} (${pins.length + 1})` : name, changes, played: now?.changes === changes ? now.played : null }];
  showPins();
  runPins();
}

function showPins() {
  keepAddress(true);
  redraw();
  at("pins").hidden = !pins.length;
  const columns = [...pins, { name: "now", played: now?.played }];
  const act = (pin) => [button("Go there", () => goTo(pin.changes), { class: "link", "aria-label": `Go to ${pin.name}` }), button("Remove", () => {
    pins = pins.filter((each) => each !== pin);
    showPins();
  }, { class: "link", "aria-label": `Remove ${pin.name}` })];
  const value = (one, where) => (one ? (one.measures.find(([its]) => its === where)?.[2] ?? "–") : "…");
  put(at("table"), el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "text" }, "measure"), columns.map(({ name }) => el("th", { scope: "col" }, name)))), el("tbody", {}, now?.played.measures.map(([where, label]) => el("tr", {}, el("th", { scope: "row", class: "text" }, label), columns.map(({ played }) => el("td", {}, value(played, where))))), el("tr", {}, el("td"), columns.map((pin) => el("td", {}, pin.changes ? act(pin) : null))))));
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
  if (now && at("inside").open) insideTimer = setTimeout(() => inside.turn(now.run), inside.session.page ? INSIDE_MS : 0);
}

async function open() {
  told = await (await ask("settings")).json();
  const query = readAddress();
  document.title = `${told.name} – PRISM play`;
  put(at("trail"), el("span", { "aria-current": "page" }, told.name));
  put(at("seeds"), told.fans.map((each) => el("option", { value: each }, each === 1 ? "1 seed" : `${each} seeds`)));
  at("seeds").value = seeds;
  showSettings();
  openInside(query);
  move();
}

beginTheme();
at("search").addEventListener("input", showSettings);
at("seeds").addEventListener("change", () => {
  seeds = Number(at("seeds").value);
  keepAddress(true);
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
open().catch(trouble);
