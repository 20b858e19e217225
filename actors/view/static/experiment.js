// The page of an experiment: its cells with their states, and the charts of its report, drawn anew as cells end.

import { read } from "./api.js";
import { build, count, el, many, note, panel, put, words } from "./dom.js";
import { showList } from "./list.js";

const EVERY_MS = 3000;
const MARKS = { done: "✓", running: "▶", interrupted: "✖", waiting: "·" };

/** Show the experiment of this directory, or its runs if it is none. Return how to stop. */
export function showHome(main) {
  let leave = () => {}, closed = false;
  read("experiment").then(
    (page) => {
      if (!closed) leave = page ? showExperiment(main, page) : showList(main);
    },
    (error) => {
      if (!closed) put(main, note(error.message, "problem"));
    },
  );
  return () => {
    closed = true;
    leave();
  };
}

function showExperiment(main, first) {
  const head = el("div"), answers = el("div"), cells = el("div"), charts = el("div", { class: "report" }, note("Drawing the charts …"));
  document.title = "Experiment – PRISM view";
  main.append(head, answers, cells, charts);
  let timer = 0, closed = false, seen = "", drawn = "";

  function draw(page) {
    const total = Object.values(page.counts).reduce((sum, each) => sum + each, 0);
    put(
      head,
      el("h1", {}, page.question),
      el(
        "ul",
        { class: "headline" },
        el("li", {}, `${count(page.counts.done)} of ${many(total, "cell")} done`),
        page.counts.running ? el("li", {}, `${count(page.counts.running)} under way`) : null,
        page.counts.interrupted ? el("li", {}, `${count(page.counts.interrupted)} interrupted`) : null,
        el("li", {}, `plan ${page.plan}, made ${page.is_planned_first ? "before any result" : "after there were results"}`),
        el("li", {}, el("a", { href: "#/runs" }, "All runs")),
      ),
    );
    const place = document.activeElement?.id;
    const key = Object.entries(MARKS).filter(([state]) => page.counts[state]).map(([state, mark]) => `${mark} ${words(state)}`).join("   ");
    put(
      cells,
      panel(
        "Cells",
        el("p", { class: "quiet" }, `A cell is a condition under a seed, and leads to its run. ${key}`),
        el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Cells" }, el("table", { class: "cells" }, page.conditions.map(row))),
        page.left_out ? note(`${count(page.left_out)} more cells are not listed.`) : null,
      ),
    );
    if (place) document.getElementById(place)?.focus({ preventScroll: true });
  }

  async function look() {
    try {
      const page = first ?? (await read("experiment"));
      first = null;
      if (closed) return;
      const now = JSON.stringify(page);
      if (now !== seen) draw(page);
      seen = now;
      if (page.version !== drawn) {
        const sections = await read("experiment/charts");
        if (closed) return;
        const open = new Set([...charts.querySelectorAll("figure:has(details[open])")].map((figure) => figure.id));
        const hasAnswers = sections[0]?.[1].class === "answers"; // without the packages for charts there are none
        put(answers, hasAnswers ? build(sections[0]) : null);
        put(charts, sections.slice(hasAnswers ? 1 : 0).map((section) => build(section)));
        for (const id of open) document.getElementById(id)?.querySelector("details")?.setAttribute("open", "");
        drawn = page.version;
      }
    } catch (error) {
      put(charts, note(error.message, "problem"));
      drawn = "";
    }
    if (!closed) timer = setTimeout(look, EVERY_MS);
  }

  look();
  return () => {
    closed = true;
    clearTimeout(timer);
  };
}

function row(condition) {
  const link = ([seed, key, state]) => {
    const said = { class: `cell cell-${state}`, title: `seed ${seed}: ${words(state)}` };
    if (state === "waiting") return el("span", { ...said, role: "img", "aria-label": `seed ${seed}: waiting` }, MARKS[state]);
    return el("a", { ...said, id: `cell-${key}`, href: `#/run/${encodeURIComponent(key)}`, "aria-label": `${condition.name}, seed ${seed}: ${words(state)}` }, MARKS[state]);
  };
  return el("tr", {}, el("th", { scope: "row" }, condition.name), el("td", {}, condition.cells.map(link)));
}
