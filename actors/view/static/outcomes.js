// Outcomes: small charts of what a world counts in each round, of one run, or of two on the same axes.

import { ofRun, read } from "./api.js";
import { line, TickChart } from "./chart.js";
import { count, digits, el, measured, note, panel, percent, put, svg } from "./dom.js";

const COUNTS = new Set(["", "in each round"]); // the units of counts
const LOOKS = ["stroke-link", "stroke-warm"];

/** Return the total of the rounds up to a tick, or the level at the end of the last; null before the first. */
function valueAt(run, one, tick) {
  const place = run.ticks.findLastIndex((each) => each <= tick);
  if (place < 0) return null;
  return one.is_count ? one.values.slice(0, place + 1).reduce((sum, each) => sum + each, one.before) : one.values[place];
}

/** Return in words by how much a number is another. */
export function differenceOf(first, second, unit) {
  if (first === second) return "the same";
  if (unit.startsWith("%")) return `${second > first ? "+" : "−"}${Math.abs(second - first).toFixed(2)} points`;
  if (first <= 0 || second < 0) return `${second > first ? "+" : "−"}${digits(Math.abs(second - first), 4)}`;
  const ratio = second / first, isCount = COUNTS.has(unit);
  if (ratio >= 3) return `${digits(ratio, 2)} times as ${isCount ? "many" : "much"}`;
  return `${percent(Math.abs(ratio - 1))} ${ratio < 1 ? (isCount ? "fewer" : "lower") : isCount ? "more" : "higher"}`;
}

/** Return how a tick is named where rounds have names, such as quarters. Ticks are named by number elsewhere. */
export function namesOf({ ticks, names }) {
  if (!names.length) return undefined;
  return (tick) => names[Math.max(0, ticks.findIndex((each) => each >= tick))] ?? names.at(-1);
}

/** Charts of outcomes, one for each number. */
export class OutcomeCharts {
  /** onpick, marks: as of `TickChart`. */
  constructor(ends, onpick, marks) {
    this.onpick = onpick;
    this.marks = marks;
    this.charts = new Map();
    this.key = el("ul", { class: "line-key" });
    this.body = el("div", { class: "small-charts" });
    ends.push(() => this.charts.forEach(({ chart }) => chart.close()));
  }

  /** Draw. runs: each with its name and its outcomes; length: the ticks of the axis. */
  set(runs, length) {
    this.runs = runs;
    this.tick ??= length - 1;
    const longest = runs.reduce((most, run) => (run.ticks.length > most.ticks.length ? run : most));
    for (const one of longest.outcomes) {
      const of = runs.map((run) => run.outcomes.find((each) => each.key === one.key)).filter((each) => each?.values.length);
      if (of.length) this.draw(one, of, length, longest);
    }
    put(this.key, keyOf(runs));
    if (this.charts.size) this.move(this.tick);
    else put(this.body, note("No round has ended yet."));
  }

  draw(one, of, length, longest) {
    if (!this.charts.size) put(this.body);
    if (!this.charts.has(one.key)) {
      const chart = new TickChart({ height: 160, compact: true, label: `${one.name} over time`, onpick: this.onpick, marks: this.marks, named: namesOf(longest) });
      const value = el("span", {});
      this.charts.set(one.key, { chart, value });
      this.body.append(el("div", { class: "outcome" }, el("h3", {}, one.name), el("p", {}, value), el("p", { class: "unit" }, one.unit), chart.box));
    }
    const { chart } = this.charts.get(one.key);
    chart.named = namesOf(longest) ?? chart.named;
    const known = one.history.filter((each) => each !== null);
    const all = [...of.flatMap((each) => each.values), ...known, ...(one.target === null ? [] : [one.target])];
    const least = one.is_count ? 0 : Math.min(...all), most = Math.max(...all);
    const room = (most - least || 1) * 0.08;
    chart.set(length, [one.is_count ? 0 : least - room, most + room], () => [
      least < 0 && most > 0 ? svg("line", { class: "grid", x1: chart.x(0), x2: chart.x(length - 1), y1: chart.y(0), y2: chart.y(0) }) : null,
      known.length ? line(chart, longest.ticks.filter((_, at) => one.history[at] !== null && at < one.history.length), known, { class: "stroke-history" }) : null,
      one.target === null ? null : svg("line", { class: "stroke-target", x1: chart.x(0), x2: chart.x(length - 1), y1: chart.y(one.target), y2: chart.y(one.target) }),
      this.runs.map((run, side) => {
        const values = run.outcomes.find((each) => each.key === one.key)?.values ?? [];
        return line(chart, run.ticks.slice(0, values.length), values, { class: LOOKS[side] });
      }),
    ]);
  }

  /** Show another tick: its line, and the values beside the pictures. */
  move(tick) {
    this.tick = tick;
    for (const [key, { chart, value }] of this.charts) {
      chart.move(tick);
      const found = this.runs.map((run) => [run, run.outcomes.find((each) => each.key === key)]).filter(([, one]) => one?.values.length);
      const told = found.map(([run, one]) => {
        const now = valueAt(run, one, tick), end = valueAt(run, one, Infinity);
        const shown = el("strong", {}, now === null ? "–" : measured(now, one.unit));
        return [this.runs.length > 1 ? `${run.name} ` : "", shown, one.is_count && now !== end ? ` of ${count(end)}` : ""];
      });
      const ends = found.map(([run, one]) => valueAt(run, one, tick));
      const apart = ends.length > 1 && ends.every((each) => each !== null) ? ` · ${differenceOf(ends[0], ends[1], found[0][1].unit)}` : "";
      put(value, told.map((each, place) => [place ? " · " : "", each]), apart);
    }
  }
}

/** Return the key of the lines that are there; nothing for a run without target and history. */
function keyOf(runs) {
  const sample = (look) => svg("svg", { class: "sample", viewBox: "0 0 30 8", width: 30, height: 8, "aria-hidden": "true" }, svg("line", { class: look, x1: 1, x2: 29, y1: 4, y2: 4 }));
  const has = (test) => runs.some((run) => run.outcomes.some(test));
  const lines = runs.map((run, side) => [LOOKS[side], runs.length > 1 ? run.name : "this run"]);
  if (has((one) => one.target !== null)) lines.push(["stroke-target", "the target"]);
  const source = runs.find((run) => run.source)?.source;
  if (source) lines.push(["stroke-history", `history, ${source}`]);
  return lines.length > 1 ? lines.map(([look, name]) => el("li", {}, sample(look), name)) : null;
}

/** Return the panel of a run's outcomes. */
export function outcomesPanel(session, ends) {
  const charts = new OutcomeCharts(ends, (tick) => session.show(tick), () => session.course?.interventions);
  const said = el("div", {}), reading = el("p", { class: "quiet" });

  async function grown() {
    try {
      session.outcomes = await read(ofRun(session.name, "outcomes"));
      put(said);
      put(reading, session.outcomes.outcomes.some((one) => one.is_count) ? "A line of counts is what happened in each round; its figures are totals up to the tick above, of those of the whole run." : "The figure beside each name is that of the tick above.");
      charts.set([{ name: session.name, ...session.outcomes }], session.last + 1);
      charts.move(session.tick);
      session.tell("outcomes");
    } catch (error) {
      put(said, note(error.message, "problem"));
    }
  }

  session.on("grown", grown);
  session.on("tick", () => charts.charts.size && charts.move(session.tick));
  return panel(session.page.title, reading, charts.key, charts.body, said);
}
