// The council of nations in one quarter of an economy.

import { ofRun, read } from "./api.js";
import { chip, el, note, panel, percent, put, words } from "./dom.js";

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

  const meaning = el("details", {}, el("summary", {}, "What the probability of a formula is"), el("p", {}, "It is no belief. Of a changed rate: that the new rate is nearer than the old one to the right rate. Of a kept rate: that the right rate is within one step of it. The rule's rate is taken as right, with an error of economy.taylor.rate_error. Of a judgement: the rule of succession over the words that led to it."));

  function draw(council) {
    const before = Object.entries(council.before).map(([name, value]) => `${name} ${value.toFixed(2)}%`);
    put(
      body,
      before.length ? el("p", { class: "quiet" }, `What the nations saw: ${before.join(", ")}.`) : null,
      el("div", { class: "council" }, council.seats.map((seat) => {
        const style = session.style(seat.state);
        return el(
          "article",
          { class: "seat", "aria-label": seat.name },
          el("h3", {}, el("span", {}, seat.name), style ? chip(style) : words(seat.state)),
          el("p", { class: "quiet" }, `${percent(seat.share)} of all economic strength`),
          seat.stages.length ? el("ol", {}, seat.stages.map(stage)) : note("No answer in this quarter."),
        );
      })),
      council.seats.some((seat) => seat.stages.some((one) => one.source === "oracle" && one.confidence !== null)) ? meaning : null,
    );
  }

  session.on("tick", () => {
    clearTimeout(asked);
    asked = setTimeout(fetchCouncil, 80);
  });
  return panel("The council of nations", body);
}

function stage(one) {
  const by = { oracle: "by formula", llm: `by ${one.model || "the model"}` }[one.source] ?? `by ${words(one.source)}`;
  return el(
    "li",
    {},
    el("div", { class: "quiet" }, `${STAGES[one.kind] ?? words(one.kind)}, ${by}${confidenceOf(one)}${one.reason ? `: ${words(one.reason)}` : ""}`),
    el("div", {}, el("strong", {}, one.text || "–")),
    one.reasoning ? el("p", {}, one.reasoning) : null,
    one.prompt ? el("details", {}, el("summary", {}, "What the model read"), el("pre", {}, one.prompt)) : null,
  );
}

/** Return a stage's confidence as what it is: a model says it of itself; a formula computes a probability. */
function confidenceOf(one) {
  if (one.confidence === null) return "";
  return one.source === "llm" ? `, which says that it is ${percent(one.confidence)} sure` : `, probability ${percent(one.confidence)}`;
}
