// The oracle: what it was asked, how long it took, what it cost.

import { ofRun, read } from "./api.js";
import { line, TickChart } from "./chart.js";
import { namesOf } from "./outcomes.js";
import { count, digits, el, facts, note, panel, put, seconds, words } from "./dom.js";

const at = (session, name) => {
  const { course, tick } = session;
  const place = course.counted_names.indexOf(name);
  let low = 0, high = course.ticks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (course.ticks[middle] <= tick) low = middle;
    else high = middle - 1;
  }
  return course.ticks[low] <= tick ? course.counted[low][place] : 0;
};

/** Return the panel of the oracle. */
export function oraclePanel(session, ends) {
  const numbers = el("div", {}), rest = el("div", {});
  const named = (tick) => namesOf(session.outcomes ?? { names: [] })?.(tick) ?? (tick ? count(tick) : "tick 0");
  const chart = new TickChart({ height: 120, compact: true, label: "Open questions over time", onpick: (tick) => session.show(tick), marks: () => session.course?.interventions, named });
  ends.push(() => chart.close());
  let looked = -1;

  function draw() {
    const settled = at(session, "oracle") + at(session, "llm") + at(session, "fallback") + at(session, "timeout");
    const asked = at(session, "questions");
    put(numbers, facts([
      ["questions so far", count(asked)],
      ["open at this tick", count(Math.max(0, asked - settled))],
      ["answered", count(at(session, "oracle") + at(session, "llm"))],
      ["fallbacks", count(at(session, "fallback") + at(session, "timeout"))],
    ]));
    chart.move(session.tick);
  }

  async function grown() {
    const { course } = session;
    const place = (name) => course.counted_names.indexOf(name);
    const open = course.counted.map((row) => Math.max(0, row[place("questions")] - row[place("oracle")] - row[place("llm")] - row[place("fallback")] - row[place("timeout")]));
    chart.set(session.last + 1, [0, Math.max(1, ...open)], () => [line(chart, course.ticks, open, { class: "stroke-link" })]);
    if (looked === session.last) return;
    looked = session.last;
    let now;
    try {
      now = await read(ofRun(session.name, "oracle"));
    } catch (error) {
      put(rest, note(error.message, "problem"));
      return;
    }
    if (!now.answers) {
      put(rest, note(session.page.config.oracle?.backend === "choice" ? "The embedded oracle computes its answers in the run itself: no server is asked, so there is no latency and no cost." : "The oracle's log has no answer yet."));
      return;
    }
    const reasons = Object.entries(now.by_reason).map(([name, value]) => [`fallback: ${words(name)}`, count(value)]);
    const calls = Object.entries(now.calls).map(([name, value]) => [`calls: ${words(name)}`, count(value)]);
    put(rest, facts([
      ["answers in the log", count(now.answers)],
      ["median latency", seconds(now.latencies_s[0])],
      ["95% are within", seconds(now.latencies_s[1])],
      ["the slowest", seconds(now.latencies_s[2])],
      ...Object.entries(now.by_method).map(([name, value]) => [`found by ${name}`, count(value)]),
      ...reasons,
      ...calls,
      ["asked again", count(now.retries)],
      ["tokens read", count(now.prompt_tokens)],
      ["tokens written", count(now.completion_tokens)],
      ["cost", now.cost_usd === null ? "unknown: llm.prices is not set" : `${digits(now.cost_usd, 4)} US dollars`],
    ]));
  }

  session.on("grown", grown);
  session.on("outcomes", () => chart.redraw());
  session.on("tick", draw);
  return panel("The oracle", numbers, el("p", { class: "unit" }, "open questions: asked, and not yet in effect"), chart.box, rest);
}
