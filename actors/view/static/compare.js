// Two runs side by side: their outcomes on the same axes, and the first thing in which they differ.

import { ofRun, read } from "./api.js";
import { count, el, many, measured, note, panel, percent, put, trouble } from "./dom.js";
import { stateOf } from "./list.js";
import { differenceOf, namesOf, OutcomeCharts } from "./outcomes.js";

const LOOK_MS = 500;

/** Show two runs. Return how to stop. */
export function showComparison(main, left, right) {
  const picks = [left, right].map((name, side) => {
    const pick = el("select", { "aria-label": side ? "Second run" : "First run" });
    pick.addEventListener("change", () => (location.hash = `#/compare/${picks.map((each) => encodeURIComponent(each.value)).join("/")}`));
    return pick;
  });
  const body = el("div", {}, note("Comparing …"));
  main.append(el("h1", {}, "Two runs side by side"), el("div", { class: "row" }, picks), body);
  const ends = [];
  let timer = 0, closed = false;

  async function begin() {
    try {
      const { runs } = await read("runs");
      if (closed) return;
      for (const [side, pick] of picks.entries()) {
        put(pick, el("option", { value: "" }, "choose a run"), runs.map((line) => el("option", { value: line.name }, line.label)));
        pick.value = [left, right][side];
      }
      if (!left || !right) {
        put(body, note("Choose two runs."));
        return;
      }
      look();
    } catch (error) {
      put(body, trouble(error.message));
    }
  }

  async function look() {
    try {
      const pages = await Promise.all([left, right].map((name) => read(ofRun(name))));
      if (closed) return;
      if (pages.some((page) => page.is_reading && page.read_share < 1)) {
        put(body, note(`Reading the journals: ${pages.map((page) => percent(page.read_share)).join(" and ")} …`));
        timer = setTimeout(look, LOOK_MS);
        return;
      }
      const both = (part) => Promise.all([left, right].map((name) => read(ofRun(name, part))));
      const [comparison, runs, courses] = await Promise.all([read("compare", { left, right }), both("outcomes"), both("course")]);
      if (!closed) draw(pages, runs, courses, comparison);
    } catch (error) {
      put(body, trouble(error.message));
    }
  }

  function draw(pages, runs, courses, comparison) {
    const names = [left, right];
    const longest = Math.max(...pages.map((page) => page.read_ticks), 1);
    const charts = new OutcomeCharts(ends, (tick) => show(tick), () => new Map(courses.flatMap((course) => course.interventions).map((each) => [`${each}`, each])).values());
    const said = el("output", {});
    const slider = el("input", { type: "range", min: 0, max: longest - 1, "aria-label": "Tick", oninput: () => show(Number(slider.value)) });
    const nameOf = namesOf(runs[0]) ?? ((tick) => `tick ${count(tick)}`);
    const show = (tick) => {
      charts.move(tick);
      slider.value = tick;
      slider.setAttribute("aria-valuetext", nameOf(tick));
      put(said, nameOf(tick));
    };
    charts.set(runs.map((run, side) => ({ ...run, name: names[side] })), longest);
    put(
      body,
      comparison.answers.length ? el("div", { class: "answers" }, comparison.answers.map((text) => el("p", { class: "answer" }, text)), note(comparison.limits)) : null,
      ...comparison.remarks.map((line) => note(line, "remark")),
      el("div", { class: "grid even" }, pages.map((page, side) => head(page, names[side], comparison))),
      el("div", { class: "grid" }, panel("Outcomes", charts.key, el("div", { class: "row at" }, slider, said), charts.body), ending(pages, names)),
      el("div", { class: "grid" }, el("section", { class: "panel", "aria-labelledby": "h-first" }, el("h2", { id: "h-first" }, outcomeOf(comparison)), comparison.first === null ? null : differ(comparison, names))),
      el("div", { class: "grid" }, settings(comparison, names)),
    );
    show(longest - 1);
  }

  begin();
  return () => {
    closed = true;
    clearTimeout(timer);
    for (const end of ends) end();
  };
}

function outcomeOf(comparison) {
  if (!comparison.compared) return "There is no tick that both runs have";
  if (comparison.first === null) return `All ${many(comparison.compared, "tick")} that both runs have are the same, to the byte`;
  if (comparison.first === 0) return "They differ from the first tick on: tick 0";
  return `They first differ in tick ${count(comparison.first)}; the ${many(comparison.first, "tick")} before are the same, to the byte`;
}

function head(page, name, comparison) {
  const there = `#/run/${encodeURIComponent(name)}${comparison.first === null ? "" : `?tick=${comparison.first}`}`;
  return el("section", { class: "panel", "aria-label": name }, el("h2", {}, el("a", { href: there }, name)), el("p", { class: "quiet" }, stateOf(page.line), ` · ${many(page.read_ticks, "tick")} · ${many(page.line.agents, "agent")} · seed ${page.config.simulation?.seed ?? "–"}`));
}

const table = (caption, heads, rows) =>
  el("div", { class: "scroller pair", tabindex: 0, role: "region", "aria-label": caption }, el("table", {}, el("caption", { class: "unseen" }, caption), el("thead", {}, el("tr", {}, heads.map((name, at) => el("th", { scope: "col", class: at ? "number" : null }, name)))), el("tbody", {}, rows.map(([first, ...cells]) => el("tr", {}, el("th", { scope: "row" }, first), cells.map((cell) => el("td", { class: "number" }, cell)))))));

/** Return the figures of both runs at their ends, with the difference. */
function ending(pages, names) {
  const [ours, theirs] = pages.map((page) => page.line.figures);
  const rows = ours.flatMap((one) => {
    const other = theirs.find((each) => each.name === one.name);
    return other ? [[one.name, measured(one.value, one.unit), measured(other.value, one.unit), differenceOf(one.value, other.value, one.unit)]] : [];
  });
  return panel("At the end", rows.length ? table("The figures of both runs", ["", ...names, "difference"], rows) : note("No round of both has ended yet."));
}

/** Return the first message that differs: what it is in each run, and what is in it, with the lines that differ marked. */
function differ(comparison, names) {
  const { left, right, contents } = comparison;
  const lines = contents.map((text) => text.split("\n")), known = lines.map((all) => new Set(all));
  const marked = (side) => lines[side].map((line) => (known[1 - side].has(line) ? `${line}\n` : el("mark", {}, `${line}\n`)));
  const side = (text, at) => el("div", {}, el("h3", {}, names[at]), el("p", {}, text || "the tick ends"), text ? el("pre", { tabindex: 0 }, marked(at)) : null);
  return [note(`In that tick ${many(comparison.place, "message is", "messages are")} the same. Then:`), el("div", { class: "grid even" }, [left, right].map(side))];
}

function settings(comparison, names) {
  if (!comparison.settings.length) return panel("Settings that differ", note("None: the two have the same settings."));
  return panel("Settings that differ", el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Settings that differ" }, el("table", { class: "texts" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "setting"), names.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, comparison.settings.map((one) => el("tr", {}, el("th", { scope: "row" }, el("code", {}, one.key)), one.values.map((value) => el("td", {}, value || "not set"))))))));
}
