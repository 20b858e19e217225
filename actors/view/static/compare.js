// Two runs side by side: what the report has of both, and the first thing in which they differ.

import { ofRun, read } from "./api.js";
import { build, count, el, many, note, percent, put, trouble } from "./dom.js";

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
      put(body, note("Drawing …"));
      const comparison = await read("compare", { left, right });
      if (!closed) draw(comparison);
    } catch (error) {
      put(body, trouble(error.message));
    }
  }

  function draw(comparison) {
    const first = comparison.first === null ? null : [
      el("p", {}, "Look at it in ", [left, right].map((name, at) => [at ? " or " : "", el("a", { href: `#/run/${encodeURIComponent(name)}?tick=${comparison.first}` }, name)]), "."),
      differ(comparison, [left, right]),
    ];
    const [answer, ...parts] = comparison.parts.map((part) => build(part));
    put(body, el("div", { class: "report" }, answer), el("section", { class: "panel", "aria-labelledby": "h-first" }, el("h2", { id: "h-first" }, outcomeOf(comparison)), first), el("div", { class: "report" }, parts));
  }

  begin();
  return () => {
    closed = true;
    clearTimeout(timer);
  };
}

function outcomeOf(comparison) {
  if (!comparison.compared) return "There is no tick that both runs have";
  if (comparison.first === null) return `All ${many(comparison.compared, "tick")} that both runs have are the same, to the byte`;
  if (comparison.first === 0) return "They differ from the first tick on: tick 0";
  return `They first differ in tick ${count(comparison.first)}; the ${many(comparison.first, "tick")} before are the same, to the byte`;
}

/** Return the first message that differs: what it is in each run, and what is in it, with the lines that differ marked. */
function differ(comparison, names) {
  const { left, right, contents } = comparison;
  const lines = contents.map((text) => text.split("\n")), known = lines.map((all) => new Set(all));
  const marked = (side) => lines[side].map((line) => (known[1 - side].has(line) ? `${line}\n` : el("mark", {}, `${line}\n`)));
  const side = (text, at) => el("div", {}, el("h3", {}, names[at]), el("p", {}, text || "the tick ends"), text ? el("pre", { tabindex: 0 }, marked(at)) : null);
  return [note(`In that tick ${many(comparison.place, "message is", "messages are")} the same. Then:`), el("div", { class: "grid even" }, [left, right].map(side))];
}
