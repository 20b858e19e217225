// Two runs side by side: their outcomes on the same axes, and the first thing in which they differ.

import { ofRun, read } from "./api.js";
import { chip, count, el, many, measured, note, panel, percent, put, trouble, words } from "./dom.js";
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
    const hasStates = pages.some((page) => page.pictures.includes("states"));
    const charts = new OutcomeCharts(ends, (tick) => show(tick), () => new Map(courses.flatMap((course) => course.interventions).map((each) => [`${each}`, each])).values());
    const counts = el("div", {}), said = el("output", {});
    const slider = el("input", { type: "range", min: 0, max: longest - 1, "aria-label": "Tick", oninput: () => show(Number(slider.value)) });
    const nameOf = namesOf(runs[0]) ?? ((tick) => `tick ${count(tick)}`);
    const show = (tick) => {
      charts.move(tick);
      slider.value = tick;
      slider.setAttribute("aria-valuetext", nameOf(tick));
      put(said, nameOf(tick));
      if (hasStates) put(counts, states(pages, courses, names, tick));
    };
    charts.set(runs.map((run, side) => ({ ...run, name: names[side] })), longest);
    put(
      body,
      comparison.answers.length ? el("div", { class: "answers" }, comparison.answers.map((text) => el("p", { class: "answer" }, text)), note(comparison.limits)) : null,
      ...comparison.remarks.map((line) => note(line, "remark")),
      el("div", { class: "grid even" }, pages.map((page, side) => head(page, names[side], comparison))),
      el("div", { class: "grid" }, panel("Outcomes", charts.key, el("div", { class: "row at" }, slider, said), charts.body), ending(pages, names)),
      el("div", { class: "grid" }, el("section", { class: "panel", "aria-labelledby": "h-first" }, el("h2", { id: "h-first" }, outcomeOf(comparison)), comparison.first === null ? null : differ(comparison, names))),
      el("div", { class: "grid even" }, hasStates ? panel("Agents in each state", counts) : null, settings(comparison, names)),
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

/** Return the agents in each state at a tick; states in which nobody is in either run are left out. */
function states(pages, courses, names, tick) {
  const styles = [...new Map(pages.flatMap((page) => page.states.map((state) => [state[0], { name: state[0], color: state[2], mark: state[3] }]))).values()];
  const rows = courses.map((course) => course.states[course.ticks.findLastIndex((each) => each <= tick)] ?? null);
  const value = (side, name) => {
    const state = pages[side].states.find((each) => each[0] === name);
    return rows[side] && state && tick < pages[side].read_ticks ? rows[side][state[1]] : null;
  };
  const found = styles.map((style) => [style, value(0, style.name), value(1, style.name)]).filter(([, one, other]) => one || other);
  const text = (number) => (number === null ? "–" : count(number));
  return table("Agents in each state", [`at tick ${count(tick)}`, ...names, "difference"], found.map(([style, one, other]) => [chip(style), text(one), text(other), one === null || other === null ? "–" : `${other > one ? "+" : ""}${count(other - one)}`]));
}

/** Return the first message that differs: what it is, and its parts that differ, with what differs in them marked. */
function differ(comparison, names) {
  const { left, right, parts } = comparison;
  const before = `In that tick ${many(comparison.place, "message is", "messages are")} the same. `;
  const told = left === right ? [note(`${before}The next is in both: ${left}.`)] : [note(`${before}Then:`), el("dl", { class: "facts wide" }, [left, right].map((text, side) => el("div", {}, el("dt", {}, names[side]), el("dd", {}, text || "the tick ends"))))];
  if (!parts.length) return told;
  const [first, ...others] = parts;
  return [
    told,
    el("h3", {}, `The first part that differs: ${nameOfPart(first)}`),
    el("dl", { class: "facts wide" }, first.values.map((_, side) => el("div", {}, el("dt", {}, names[side]), el("dd", {}, marked(first.values, side))))),
    others.length ? el("details", {}, el("summary", {}, `${many(others.length, "more part differs", "more parts differ")}`), others.map((part) => [el("h3", {}, nameOfPart(part)), el("dl", { class: "facts wide" }, part.values.map((_, side) => el("div", {}, el("dt", {}, names[side]), el("dd", {}, marked(part.values, side)))))])) : null,
  ];
}

const nameOfPart = (part) => part.name.split(".").map(words).join(", ");

/** Return one of two texts, with what differs from the other marked: from the first letter that does to the last. */
function marked(values, side) {
  const own = [...values[side]], other = [...values[1 - side]];
  if (!own.length) return el("span", { class: "quiet" }, "nothing");
  const most = Math.min(own.length, other.length);
  let start = 0, end = 0;
  while (start < most && own[start] === other[start]) start += 1;
  while (end < most - start && own.at(-1 - end) === other.at(-1 - end)) end += 1;
  const isWord = (letter) => letter !== undefined && /[\p{L}\p{N}.,+−-]/u.test(letter);
  while (start > 0 && isWord(own[start - 1])) start -= 1; // whole words and numbers are easier to compare
  while (end > 0 && isWord(own[own.length - end])) end -= 1;
  return [own.slice(0, start).join(""), el("mark", {}, own.slice(start, own.length - end).join("")), own.slice(own.length - end).join("")];
}

function settings(comparison, names) {
  if (!comparison.settings.length) return panel("Settings that differ", note("None: the two have the same settings."));
  return panel("Settings that differ", el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Settings that differ" }, el("table", { class: "texts" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "setting"), names.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, comparison.settings.map((one) => el("tr", {}, el("th", { scope: "row" }, el("code", {}, one.key)), one.values.map((value) => el("td", {}, value || "not set"))))))));
}
