// Charts over the ticks of a run: a stack of states, and lines.

import { count, digits, el, inkOn, many, put, svg, words } from "./dom.js";

const MARGIN = { left: 56, right: 14, top: 10, bottom: 26 };

/** Return round numbers from 0 to about the largest. */
export function steps(least, most, about = 4) {
  const span = most - least || 1;
  const power = 10 ** Math.floor(Math.log10(span / about));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => span / each <= about + 0.5) ?? power * 10;
  const first = Math.ceil(least / step - 1e-9) * step;
  const all = [];
  for (let value = first; value <= most + step * 1e-6; value += step) all.push(Math.abs(value) < step * 1e-9 ? 0 : value);
  return all;
}

/** A chart over ticks: a frame with axes, and a line at the tick that is shown. */
export class TickChart {
  /** height in pixels; label: said to those who cannot see it; onpick: called with the tick under a click; named: names a tick; marks: returns what was done from outside, as [tick, kind] each. */
  constructor({ height, label, onpick, marks = () => [], compact = false, named = (tick) => (tick ? count(tick) : "tick 0") }) {
    this.marks = marks;
    this.height = height;
    this.named = named;
    this.compact = compact;
    this.tick = 0;
    this.ticks = 1;
    this.picture = svg("svg", { class: "chart", height, role: "img", "aria-label": label });
    this.box = el("div", { class: "chart-box" }, this.picture);
    this.head = svg("line", { class: "playhead" });
    this.draw = () => {};
    if (onpick) {
      this.picture.classList.add("pickable");
      this.picture.addEventListener("pointerdown", (event) => {
        const pick = (at) => onpick(this.tickAt(at.clientX - this.picture.getBoundingClientRect().left));
        pick(event);
        this.picture.setPointerCapture(event.pointerId);
        this.picture.onpointermove = pick;
        this.picture.onpointerup = this.picture.onpointercancel = () => (this.picture.onpointermove = null);
      });
    }
    this.observer = new ResizeObserver(() => this.redraw());
    this.observer.observe(this.box);
  }

  close() {
    this.observer.disconnect();
  }

  get width() {
    return Math.max(this.box.clientWidth, 200);
  }

  x(tick) {
    return MARGIN.left + ((this.width - MARGIN.left - MARGIN.right) * tick) / Math.max(this.ticks - 1, 1);
  }

  tickAt(x) {
    const share = (x - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right);
    return Math.round(Math.min(1, Math.max(0, share)) * Math.max(this.ticks - 1, 0));
  }

  y(value) {
    const [least, most] = this.range;
    return MARGIN.top + (this.height - MARGIN.top - MARGIN.bottom) * (1 - (value - least) / (most - least || 1));
  }

  /** Set what is drawn: the number of ticks, the range of values, and a function that returns the shapes. */
  set(ticks, range, draw) {
    Object.assign(this, { ticks, range, draw });
    this.redraw();
  }

  move(tick) {
    this.tick = tick;
    const x = this.x(Math.max(tick, 0));
    for (const [name, value] of Object.entries({ x1: x, x2: x, y1: MARGIN.top - 4, y2: this.height - MARGIN.bottom + 4 })) this.head.setAttribute(name, value);
  }

  redraw() {
    if (!this.range) return;
    this.picture.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.picture.setAttribute("width", this.width);
    put(this.picture, this.axes(), this.draw(this) ?? [], this.interventions(), this.head);
    this.move(this.tick);
  }

  /** Return a dotted line with a triangle for each tick with interventions, which a pointer over it names. */
  interventions() {
    const kinds = new Map();
    for (const [tick, kind] of this.marks() ?? []) kinds.set(tick, [...(kinds.get(tick) ?? []), words(kind)]);
    return [...kinds].map(([tick, all]) => {
      const x = this.x(tick), bottom = this.height - MARGIN.bottom;
      const told = svg("title", {}, `${all.length > 3 ? many(all.length, "intervention") : all.join(", ")}, tick ${count(tick)}`);
      return svg("g", { class: "intervention" }, told, svg("line", { x1: x, x2: x, y1: MARGIN.top, y2: bottom }), svg("path", { d: `M${x - 5},${MARGIN.top - 8}h10l-5,8z` }));
    });
  }

  axes() {
    const bottom = this.height - MARGIN.bottom;
    const across = steps(0, this.ticks, this.width < 500 ? 3 : this.compact ? 5 : 8).filter((tick) => Number.isInteger(tick) && tick < this.ticks);
    const up = steps(...this.range, this.compact ? 3 : 4);
    return [
      up.map((value) => svg("line", { class: "grid", x1: MARGIN.left, x2: this.width - MARGIN.right, y1: this.y(value), y2: this.y(value) })),
      up.map((value) => svg("text", { class: "axis", x: MARGIN.left - 6, y: this.y(value) + 4, "text-anchor": "end" }, Math.abs(value) >= 1000 ? count(value) : digits(value))),
      across.map((tick) => svg("text", { class: "axis", x: this.x(tick), y: bottom + 18, "text-anchor": tick ? (this.x(tick) > this.width - 40 ? "end" : "middle") : "start" }, this.named(tick))),
    ];
  }
}

/** Draw a stack: rows[i] has the number of each series at ticks[i]; series has color, text and name, lowest first. */
export function drawStack(chart, ticks, rows, series) {
  const sums = rows.map(() => 0);
  const shapes = [], labels = [];
  for (const [place, one] of series.entries()) {
    const low = [...sums];
    for (const at of rows.keys()) sums[at] += rows[at][place];
    const top = sums.map((value, at) => `${chart.x(ticks[at]).toFixed(1)},${chart.y(value).toFixed(1)}`);
    const bottom = low.map((value, at) => `${chart.x(ticks[at]).toFixed(1)},${chart.y(value).toFixed(1)}`).reverse();
    shapes.push(svg("path", { d: `M${top.join("L")}L${bottom.join("L")}Z`, fill: one.color, class: ticks.length < 150 ? "band is-wide" : "band" }, svg("title", {}, words(one.name))));
    labels.push(...bandLabels(chart, ticks, low, sums, one));
  }
  return [shapes, labels];
}

/** Return the mark of a band, where it is thick: nobody has to tell bands by their colours alone. */
function bandLabels(chart, ticks, low, high, one) {
  const found = [];
  const parts = chart.width < 500 ? 2 : 5;
  for (let part = 0; part < parts; part += 1) {
    const from = Math.floor((ticks.length * part) / parts), to = Math.floor((ticks.length * (part + 1)) / parts);
    let best = -1, thick = 15;
    for (let at = from; at < to; at += 1) {
      const here = chart.y(low[at]) - chart.y(high[at]);
      const inside = chart.x(ticks[at]) > MARGIN.left + 10 && chart.x(ticks[at]) < chart.width - MARGIN.right - 10;
      if (inside && here > thick) [best, thick] = [at, here];
    }
    if (best >= 0) {
      const y = (chart.y(low[best]) + chart.y(high[best])) / 2 + 4;
      found.push(svg("text", { x: chart.x(ticks[best]), y, fill: inkOn(one.color), class: "band-mark", "text-anchor": "middle", "aria-hidden": "true" }, one.text));
    }
  }
  return found;
}

/** Return a line through points, as a path. */
export function line(chart, ticks, values, properties) {
  const points = values.map((value, at) => `${chart.x(ticks[at]).toFixed(1)},${chart.y(value).toFixed(1)}`);
  return points.length ? svg("path", { d: `M${points.join("L")}`, fill: "none", ...properties }) : null;
}
