// The oracle: what it was asked, how long it took, what it cost.

import { ofRun, read } from "./api.js";
import { line, TickChart } from "./chart.js";
import { namesOf } from "./outcomes.js";
import { count, digits, el, facts, note, panel, put, seconds, svg, words } from "./dom.js";

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
  const slow = new TickChart({ height: 120, compact: true, label: "Latency of answers over time", onpick: (tick) => session.show(tick), marks: () => session.course?.interventions, named });
  const latency = el("div", {}, el("p", { class: "unit" }, "latency of answers by the tick of the question, in seconds: mean (bars) and slowest (line)"), slow.box);
  latency.hidden = true;
  ends.push(() => chart.close(), () => slow.close());
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
    slow.move(session.tick);
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
      ["median latency", quantile(now, 0.5)],
      ["95% are within", quantile(now, 0.95)],
      ...Object.entries(now.by_method).map(([name, value]) => [`found by ${name}`, count(value)]),
      ...reasons,
      ...calls,
      ["asked again", count(now.retries)],
      ["tokens read", count(now.prompt_tokens)],
      ["tokens written", count(now.completion_tokens)],
      ["cost", now.cost_usd === null ? "unknown: llm.prices is not set" : `${digits(now.cost_usd, 4)} US dollars`],
    ]));
    latency.hidden = false;
    const most = Math.max(...now.over_time.map((one) => one.slowest_s));
    slow.set(session.last + 1, [0, most || 1], () => {
      const wide = Math.max(1, slow.x(now.bin_ticks) - slow.x(0) - 1);
      const bars = now.over_time.map((one) => {
        const top = slow.y(one.total_s / one.count);
        return svg("rect", { class: "fill-link", x: slow.x(one.first), y: top, width: wide, height: Math.max(0.5, slow.y(0) - top) });
      });
      return [bars, line(slow, now.over_time.map((one) => one.first + now.bin_ticks / 2), now.over_time.map((one) => one.slowest_s), { class: "stroke-warm" })];
    });
  }

  session.on("grown", grown);
  session.on("outcomes", () => chart.redraw());
  session.on("tick", draw);
  return panel("The oracle", numbers, el("p", { class: "unit" }, "open questions: asked, and not yet in effect"), chart.box, rest, latency);
}

/** Return a quantile of the latencies in words: it is known by the bin that it falls into. */
function quantile(now, share) {
  const total = now.histogram.reduce((sum, each) => sum + each, 0);
  let sum = 0;
  for (const [place, each] of now.histogram.entries()) {
    sum += each;
    if (sum >= share * total) return place < now.edges_s.length ? `up to ${seconds(now.edges_s[place])}` : `over ${seconds(now.edges_s.at(-1))}`;
  }
  return "–";
}
