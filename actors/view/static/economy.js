// An economy: its indicators over the quarters, and the council of nations in one of them.

import { ofRun, read } from "./api.js";
import { line, TickChart } from "./chart.js";
import { chip, count, digits, el, note, panel, percent, put, svg, words } from "./dom.js";

/** Return the panel of indicators. */
export function indicatorsPanel(session, ends) {
  const body = el("div", { class: "small-charts" });
  const charts = new Map();
  ends.push(() => charts.forEach(({ chart }) => chart.close()));

  async function grown() {
    let economy;
    try {
      economy = await read(ofRun(session.name, "economy"));
    } catch (error) {
      put(body, note(error.message, "problem"));
      return;
    }
    if (!economy.ticks.length) {
      put(body, note("No quarter has ended yet."));
      return;
    }
    session.economy = economy;
    for (const one of economy.indicators) {
      if (!charts.has(one.key)) {
        const chart = new TickChart({ height: 140, compact: true, label: `${one.name} over time`, onpick: (tick) => session.show(tick), marks: () => session.course?.interventions });
        const value = el("strong", {});
        charts.set(one.key, { chart, value });
        body.append(el("div", {}, el("h3", {}, one.name, " ", value), el("p", { class: "unit" }, one.unit), chart.box));
      }
      const { chart } = charts.get(one.key);
      const least = Math.min(...one.values), most = Math.max(...one.values);
      const room = (most - least || 1) * 0.08;
      chart.set(session.last + 1, [least - room, most + room], () => [
        least < 0 && most > 0 ? svg("line", { class: "stroke-quiet", x1: chart.x(0), x2: chart.x(session.last), y1: chart.y(0), y2: chart.y(0) }) : null,
        line(chart, economy.ticks, one.values, { class: "stroke-link" }),
      ]);
    }
    draw();
  }

  function draw() {
    const economy = session.economy;
    if (!economy) return;
    const place = economy.ticks.findLastIndex((tick) => tick <= session.tick);
    for (const one of economy.indicators) {
      const { chart, value } = charts.get(one.key);
      chart.move(session.tick);
      put(value, place < 0 ? "" : one.unit.startsWith("%") ? `${one.values[place].toFixed(2)}%` : digits(one.values[place], 6));
    }
  }

  session.on("grown", grown);
  session.on("tick", draw);
  return panel("Indicators", el("p", { class: "quiet" }, "at the end of each quarter; the figure beside each name is that of the tick above"), body);
}

const STAGES = { proposed: "proposes", reviewed: "judged", applied: "applied" };

/** Return the panel of the council. */
export function councilPanel(session) {
  const body = el("div", {}, note("Reading the quarter …"));
  let asked = 0;

  async function fetchCouncil() {
    try {
      draw(await read(ofRun(session.name, "council"), { tick: session.tick }));
    } catch (error) {
      put(body, note(error.message, "problem"));
    }
  }

  function draw(council) {
    const strengths = session.economy?.strengths ?? [], all = strengths.reduce((sum, each) => sum + each, 0);
    const before = Object.entries(council.before).filter(([name]) => name !== "total_economic_value").map(([name, value]) => `${words(name)} ${value.toFixed(2)}%`);
    put(
      body,
      before.length ? el("p", { class: "quiet" }, `What the nations saw: ${before.join(", ")}.`) : null,
      el("div", { class: "council" }, council.seats.map((seat) => {
        const style = session.style(seat.state);
        return el(
          "article",
          { class: "seat", "aria-label": seat.name },
          el("h3", {}, el("span", {}, seat.name), style ? chip(style) : words(seat.state)),
          el("p", { class: "quiet" }, all ? `${percent(strengths[seat.agent] / all)} of all economic strength` : `nation ${count(seat.agent)}`),
          seat.stages.length ? el("ol", {}, seat.stages.map(stage)) : note("No answer in this quarter."),
        );
      })),
    );
  }

  session.on("tick", () => {
    clearTimeout(asked);
    asked = setTimeout(fetchCouncil, 80);
  });
  session.on("grown", () => session.economy || setTimeout(fetchCouncil, 400));
  return panel("The council of nations", body);
}

function stage(one) {
  const sure = one.confidence === null ? "" : `, ${percent(one.confidence)} sure`;
  const by = { oracle: "embedded", llm: one.model || "model" }[one.source] ?? words(one.source);
  return el(
    "li",
    {},
    el("div", { class: "quiet" }, `${STAGES[one.kind] ?? words(one.kind)}, ${by}${sure}${one.reason ? `: ${words(one.reason)}` : ""}`),
    el("div", {}, el("strong", {}, one.text || "–")),
    one.reasoning ? el("p", {}, one.reasoning) : null,
    one.prompt ? el("details", {}, el("summary", {}, "What the model read"), el("pre", {}, one.prompt)) : null,
  );
}
