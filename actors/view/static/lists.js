// The list of runs, two runs side by side, and the cells of an experiment.

import { el, entitle, following, note, ofRun, part, put, read, show, trouble } from "./page.js";

const LIST_MS = 2000, CELLS_MS = 3000;

/** Show what the directory is: an experiment, a run, or a list of runs. Return how to stop. */
export function showHome(main) {
  let leave = () => {}, closed = false;
  read("home").then(
    (home) => {
      if (closed) return;
      if (home.run !== undefined) location.replace(`#/run/${encodeURIComponent(home.run)}`);
      else leave = home.question === undefined ? showList(main) : showExperiment(main, home.question);
    },
    (error) => closed || put(main, trouble(error.message)),
  );
  return () => {
    closed = true;
    leave();
  };
}

/** Show the list of runs, and look again from time to time. */
export function showList(main) {
  const body = el("div", { onchange: choose }, note("Reading the runs …")), chosen = new Set();
  const compare = el("a", { class: "button", "aria-disabled": "true", role: "link" }, "Tick two runs to compare them (0 of 2)");
  main.append(el("h1", {}, "Runs"), el("p", {}, compare), body);

  function choose({ target }) {
    if (target.checked) chosen.add(target.value);
    else chosen.delete(target.value);
    const two = chosen.size === 2;
    compare.textContent = two ? "Compare these two" : `Tick two runs to compare them (${chosen.size} of 2)`;
    compare.toggleAttribute("href", two);
    if (two) compare.href = `#/compare/${[...chosen].map(encodeURIComponent).join("/")}`;
    compare.setAttribute("aria-disabled", String(!two));
  }

  return following(body, async (closed) => {
    const list = await part("runs");
    if (closed()) return LIST_MS;
    show(body, list);
    const boxes = [...body.querySelectorAll("input")];
    compare.hidden = !boxes.length;
    for (const box of boxes) box.checked = chosen.has(box.value);
    return LIST_MS;
  });
}

/** Show two runs side by side. */
export function showComparison(main, left, right) {
  const heading = el("h1", {}, `${left} and ${right}`), body = el("div", { class: "report" }, note("Comparing …"));
  main.append(heading, body);
  let closed = false;
  Promise.all([left, right].map((name) => read(ofRun(name)))).then((both) => closed || entitle(heading, both.map(({ label }) => label).join(" and ")), () => {}); // the part says what the matter is
  part("compare", { left, right }).then((html) => closed || show(body, html), (error) => closed || put(body, trouble(error.message)));
  return () => (closed = true);
}

/** Show an experiment: its cells, and the sections of its report, drawn anew as cells end. */
function showExperiment(main, question) {
  document.title = "Experiment – PRISM view";
  const cells = el("div"), report = el("div", { class: "report" }, note("Drawing the charts …"));
  main.append(el("h1", {}, question), el("p", {}, el("a", { href: "#/runs" }, "All runs")), el("section", { class: "panel" }, cells), report);
  let drawn = "";
  return following(report, async (closed) => {
    const { version } = await read("home"), states = await part("experiment");
    if (closed()) return CELLS_MS;
    show(cells, states);
    if (version === drawn) return CELLS_MS;
    const sections = await part("experiment/sections");
    if (!closed()) show(report, sections);
    drawn = version;
    return CELLS_MS;
  });
}
