// The list of runs.

import { read } from "./api.js";
import { count, el, many, measured, note, put, seconds, words } from "./dom.js";

const EVERY_MS = 2000;
const MARKS = { running: "▶", done: "✓", stopped: "■", crashed: "✖", damaged: "⚠", starting: "…", recovering: "↻", ended: "✓" };

/** Return the state of a run: a mark and a word. */
export function stateOf(line) {
  const kind = line.is_running ? "running" : line.state;
  return el("span", { class: `state state-${kind}` }, el("span", { "aria-hidden": "true" }, MARKS[line.state] ?? "▶"), ` ${words(line.state)}`);
}

/** Show the list, and look again from time to time. Return how to stop. */
export function showList(main) {
  const body = el("div", {}, note("Reading the runs …"));
  const chosen = new Set();
  const compare = el("a", { class: "button", "aria-disabled": "true", role: "link" }, "Compare two runs");
  main.append(el("h1", {}, "Runs"), body);
  let timer = 0, before = "", closed = false;

  function choose(name, is) {
    if (is) chosen.add(name);
    else chosen.delete(name);
    const two = chosen.size === 2;
    compare.textContent = two ? "Compare these two" : `Tick two runs to compare them (${chosen.size} of 2)`;
    if (two) {
      compare.href = `#/compare/${[...chosen].map(encodeURIComponent).join("/")}`;
      compare.removeAttribute("aria-disabled");
    } else {
      compare.removeAttribute("href");
      compare.setAttribute("aria-disabled", "true");
    }
  }

  function draw(list) {
    if (list.is_run) {
      location.replace(`#/run/${encodeURIComponent(list.runs[0].name)}`);
      return;
    }
    if (!list.runs.length) {
      put(body, note(`No run here: ${list.root} has no directory of a run. Begin one with`), el("pre", {}, "prism run"), note("and it will appear on this page."));
      return;
    }
    const place = document.activeElement?.id;
    put(
      body,
      el("p", { class: "quiet" }, `${many(list.runs.length, "run")} in `, el("code", {}, list.root), list.runs_left_out ? `; ${count(list.runs_left_out)} more are not listed` : ""),
      list.runs.length > 1 ? el("p", {}, compare) : null,
      el("ul", { class: "runs" }, list.runs.map((line, place) => row(line, list, place))),
      list.settings_left_out ? note(`${many(list.settings_left_out, "more setting differs", "more settings differ")} and ${list.settings_left_out === 1 ? "is" : "are"} not listed.`) : null,
    );
    if (place) document.getElementById(place)?.focus({ preventScroll: true });
  }

  function row(line, list, place) {
    const share = line.length ? line.ticks / line.length : 0;
    const box = el("input", { type: "checkbox", id: `choose-${place}`, "aria-label": `Compare ${line.label}`, onchange: (event) => choose(line.name, event.target.checked) });
    box.checked = chosen.has(line.name);
    const bar = el("span", { class: "bar", "aria-hidden": "true" }, el("span", {}));
    bar.firstChild.style.width = `${share * 100}%`;
    const notes = [line.since_s !== null ? `for ${seconds(line.since_s)}` : "", line.note].filter(Boolean).join("; ");
    return el(
      "li",
      { class: "run" },
      list.runs.length > 1 ? el("label", { class: "choose" }, box) : null,
      el("div", { class: "run-name" }, el("a", { href: `#/run/${encodeURIComponent(line.name)}`, id: `run-${place}` }, line.label), el("span", { class: "quiet" }, line.domain)),
      el("div", { class: "run-state" }, stateOf(line), notes ? el("span", { class: "quiet" }, notes) : null),
      el("div", { class: "run-progress" }, bar, el("span", {}, `${count(line.ticks)} of ${count(line.length)} ticks`), el("span", { class: "quiet" }, `${many(line.agents, "agent")}${line.digest ? ` · digest ${line.digest.slice(0, 8)}` : ""}`)),
      el("dl", { class: "outcome-figures" }, line.figures.map((one) => el("div", {}, el("dt", {}, one.name), el("dd", {}, measured(one.value, one.unit))))),
      el(
        "dl",
        { class: "settings", "aria-label": "Settings in which the runs differ" },
        list.differences.map((one) => [one, one.values[place]]).filter(([, value]) => value !== "").map(([one, value]) => el("div", {}, el("dt", {}, one.key), el("dd", {}, value))),
      ),
    );
  }

  async function look() {
    try {
      const list = await read("runs");
      if (closed) return;
      const now = JSON.stringify(list);
      if (now !== before) draw(list);
      before = now;
    } catch (error) {
      put(body, note(error.message, "problem"));
      before = "";
    }
    if (!closed) timer = setTimeout(look, EVERY_MS);
  }

  choose("", false);
  look();
  return () => {
    closed = true;
    clearTimeout(timer);
  };
}
