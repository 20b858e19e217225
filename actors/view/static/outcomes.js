// Outcomes: small charts of what a world counts in each round, of one run.

import { ofRun, read } from "./api.js";
import { line, TickChart } from "./chart.js";
import { count, el, measured, note, panel, put, svg } from "./dom.js";

/** Return the total of the rounds up to a tick, or the level at the end of the last; null before the first. */
function valueAt(run, one, tick) {
  const place = run.ticks.findLastIndex((each) => each <= tick);
  if (place < 0) return null;
  return one.is_count ? one.values.slice(0, place + 1).reduce((sum, each) => sum + each, one.before) : one.values[place];
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

  /** Draw. run: its outcomes; length: the ticks of the axis. */
  set(run, length) {
    this.run = run;
    this.tick ??= length - 1;
    for (const one of run.outcomes) if (one.values.length) this.draw(one, length);
    put(this.key, keyOf(run));
    if (this.charts.size) this.move(this.tick);
    else put(this.body, note("No round has ended yet."));
  }

  draw(one, length) {
    const { run } = this;
    if (!this.charts.size) put(this.body);
    if (!this.charts.has(one.key)) {
      const chart = new TickChart({ height: 160, compact: true, label: `${one.name} over time`, onpick: this.onpick, marks: this.marks, named: namesOf(run) });
      const value = el("span", {});
      this.charts.set(one.key, { chart, value });
      this.body.append(el("div", { class: "outcome" }, el("h3", {}, one.name), el("p", {}, value), el("p", { class: "unit" }, one.unit), chart.box));
    }
    const { chart } = this.charts.get(one.key);
    chart.named = namesOf(run) ?? chart.named;
    const known = one.history.filter((each) => each !== null);
    const all = [...one.values, ...known, ...(one.target === null ? [] : [one.target])];
    const least = one.is_count ? 0 : Math.min(...all), most = Math.max(...all);
    const room = (most - least || 1) * 0.08;
    chart.set(length, [one.is_count ? 0 : least - room, most + room], () => [
      least < 0 && most > 0 ? svg("line", { class: "grid", x1: chart.x(0), x2: chart.x(length - 1), y1: chart.y(0), y2: chart.y(0) }) : null,
      known.length ? line(chart, run.ticks.filter((_, at) => one.history[at] !== null && at < one.history.length), known, { class: "stroke-history" }) : null,
      one.target === null ? null : svg("line", { class: "stroke-target", x1: chart.x(0), x2: chart.x(length - 1), y1: chart.y(one.target), y2: chart.y(one.target) }),
      line(chart, run.ticks.slice(0, one.values.length), one.values, { class: "stroke-link" }),
    ]);
  }

  /** Show another tick: its line, and the values beside the pictures. */
  move(tick) {
    this.tick = tick;
    for (const [key, { chart, value }] of this.charts) {
      chart.move(tick);
      const one = this.run.outcomes.find((each) => each.key === key);
      const now = valueAt(this.run, one, tick), end = valueAt(this.run, one, Infinity);
      put(value, el("strong", {}, now === null ? "–" : measured(now, one.unit)), one.is_count && now !== end ? ` of ${count(end)}` : "");
    }
  }
}

/** Return the key of the lines that are there; nothing for a run without target and history. */
function keyOf(run) {
  const sample = (look) => svg("svg", { class: "sample", viewBox: "0 0 30 8", width: 30, height: 8, "aria-hidden": "true" }, svg("line", { class: look, x1: 1, x2: 29, y1: 4, y2: 4 }));
  const lines = [["stroke-link", "this run"]];
  if (run.outcomes.some((one) => one.target !== null)) lines.push(["stroke-target", "the target"]);
  if (run.source) lines.push(["stroke-history", `history, ${run.source}`]);
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
      charts.set(session.outcomes, session.last + 1);
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
