// Two runs side by side, and the first tick in which they differ.

import { ofRun, read } from "./api.js";
import { drawStack, TickChart } from "./chart.js";
import { chip, count, el, many, note, panel, percent, put, words } from "./dom.js";
import { stateOf } from "./list.js";

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
        put(pick, el("option", { value: "" }, "choose a run"), runs.map((line) => el("option", { value: line.name }, line.name)));
        pick.value = [left, right][side];
      }
      if (!left || !right) {
        put(body, note("Choose two runs."));
        return;
      }
      look();
    } catch (error) {
      put(body, note(error.message, "problem"));
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
      const [comparison, ...courses] = await Promise.all([read("compare", { left, right }), ...[left, right].map((name) => read(ofRun(name, "course")))]);
      if (!closed) draw(pages, courses, comparison);
    } catch (error) {
      put(body, note(error.message, "problem"));
    }
  }

  function draw(pages, courses, comparison) {
    const names = [left, right];
    const longest = Math.max(...pages.map((page) => page.read_ticks), 1);
    const charts = [];
    const show = (tick) => {
      for (const chart of charts) chart.move(tick);
      slider.value = tick;
      slider.setAttribute("aria-valuetext", `tick ${tick}`);
      drawCounts(tick);
    };
    const slider = el("input", { type: "range", min: 0, max: longest - 1, "aria-label": "Tick", oninput: () => show(Number(slider.value)) });
    const counts = el("div", {});

    function drawCounts(tick) {
      const styles = [...new Map(pages.flatMap((page) => page.states.map((state) => [state[0], { name: state[0], color: state[2], mark: state[3] }]))).values()];
      const rows = courses.map((course) => course.states[course.ticks.findLastIndex((each) => each <= tick)] ?? null);
      const value = (side, name) => {
        const state = pages[side].states.find((each) => each[0] === name);
        return rows[side] && state && tick < pages[side].read_ticks ? rows[side][state[1]] : null;
      };
      const text = (number) => (number === null ? "–" : count(number));
      put(counts, el("table", {}, el("caption", { class: "quiet" }, `agents in each state at tick ${count(tick)}`), el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "state"), names.map((name) => el("th", { scope: "col", class: "number" }, name)), el("th", { scope: "col", class: "number" }, "difference"))), el("tbody", {}, styles.map((style) => {
        const [one, other] = [value(0, style.name), value(1, style.name)];
        return el("tr", {}, el("th", { scope: "row" }, chip(style)), [one, other].map((each) => el("td", { class: "number" }, text(each))), el("td", { class: "number" }, one === null || other === null ? "–" : `${other > one ? "+" : ""}${count(other - one)}`));
      }))));
    }

    const panels = pages.map((page, side) => {
      const chart = new TickChart({ height: 200, label: `Agents in each state over time in ${names[side]}`, onpick: show, marks: () => courses[side].interventions });
      charts.push(chart);
      ends.push(() => chart.close());
      const styles = page.states.map(([name, number, color, shape, text]) => ({ name, number, color, mark: shape, text }));
      const mean = courses[side].states.reduce((sum, row) => sum + row[0], 0) / Math.max(courses[side].ticks.length, 1) / Math.max(page.line.agents, 1);
      const shown = mean > 0.5 ? styles.filter((style) => style.number !== 0) : styles;
      const rows = courses[side].states.map((row) => shown.map((style) => row[style.number] ?? 0));
      const most = Math.max(1, ...rows.map((row) => row.reduce((sum, each) => sum + each, 0)));
      chart.set(longest, [0, most], () => drawStack(chart, courses[side].ticks, rows, shown));
      return el("section", { class: "panel", "aria-label": names[side] }, el("h2", {}, el("a", { href: `#/run/${encodeURIComponent(names[side])}${comparison.first === null ? "" : `?tick=${comparison.first}`}` }, names[side])), el("p", { class: "quiet" }, stateOf(page.line), ` · ${many(page.read_ticks, "tick")} · ${many(page.line.agents, "agent")}`), el("p", { class: "unit" }, `agents in each state${shown.length < styles.length ? `, without ${words(styles.find((style) => style.number === 0).name)}` : ""}`), chart.box);
    });
    put(
      body,
      comparison.answers.length ? el("div", { class: "answers" }, comparison.answers.map((text) => el("p", { class: "answer" }, text)), note(comparison.limits)) : null,
      el("div", { class: "grid" }, el("section", { class: "panel", "aria-labelledby": "h-first" }, el("h2", { id: "h-first" }, outcomeOf(comparison)), comparison.first === null ? null : differ(comparison, names))),
      el("div", { class: "grid even" }, panels),
      el("div", { class: "grid even" }, panel("At one tick", slider, counts), settings(comparison, names)),
    );
    show(comparison.first ?? 0);
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

const differ = (comparison, names) => [
  note(`In that tick ${many(comparison.place, "message is", "messages are")} the same. Then:`),
  el("dl", { class: "facts wide" }, [comparison.left, comparison.right].map((text, side) => el("div", {}, el("dt", {}, names[side]), el("dd", {}, text || "the tick ends")))),
];

function settings(comparison, names) {
  if (!comparison.settings.length) return panel("Settings that differ", note("None: the two have the same settings."));
  return panel("Settings that differ", el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Settings that differ" }, el("table", { class: "texts" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "setting"), names.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, comparison.settings.map((one) => el("tr", {}, el("th", { scope: "row" }, el("code", {}, one.key)), one.values.map((value) => el("td", {}, value || "not set"))))))));
}
