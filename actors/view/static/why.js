// Why an agent did what it did in a tick: the run is done again in memory, and what led to it is shown beside the agent.

import { text } from "./agent.js";
import { ofRun, read } from "./api.js";
import { chip, count, el, note, panel, percent, put, seconds, words } from "./dom.js";

const LOOK_MS = 500;

/** Show the panel of an explanation when one is asked for: in a wide window beside the agent's panel, else below it. */
export function whyPanel(session, centre, agent, ends) {
  const body = el("div", { "aria-live": "polite" });
  const title = el("p", { class: "quiet" });
  const close = el("button", { type: "button", onclick: () => session.choose("why", null) }, "Close");
  const box = panel("Why", el("div", { class: "row" }, title, close), body);
  const wide = matchMedia("(min-width: 1000px)");
  let asked = null;
  box.classList.add("why");
  box.tabIndex = -1;

  function place() {
    if (!session.why) box.remove();
    else if (wide.matches) centre.prepend(box);
    else agent.after(box);
  }

  async function ask() {
    const wanted = (asked = session.why);
    place();
    if (!wanted) return;
    put(title, `What led to what agent ${count(wanted.agent)} did in tick ${count(wanted.tick)}.`);
    box.scrollIntoView({ block: wide.matches ? "nearest" : "start" });
    box.focus({ preventScroll: true });
    try {
      for (;;) {
        const now = await read(ofRun(session.name, "explanation"), wanted);
        if (asked !== wanted || !box.isConnected) return;
        if (now.state === "failed") throw new Error(now.problem);
        if (now.state === "done") {
          put(body, turns(session, now.explanation));
          return;
        }
        put(body, note(now.state === "waiting" ? "Waiting for another turn that is being worked out …" : `Working it out for ${seconds(now.seconds)}: the run is done again in memory up to here …`));
        await new Promise((done) => setTimeout(done, LOOK_MS));
      }
    } catch (error) {
      if (asked === wanted) put(body, note(`This cannot be worked out: ${error.message}`, "problem"));
    }
  }

  session.on("why", ask);
  session.on("agent", () => session.why && session.why.agent !== session.agent && session.choose("why", null));
  wide.addEventListener("change", place);
  ends.push(() => {
    asked = null;
    wide.removeEventListener("change", place);
  });
}

function turns(session, explanation) {
  const questions = new Set(), guards = new Set();
  const isNew = (seen, key) => !seen.has(key) && seen.add(key);
  return explanation.turns.map((turn) => [
    el("h3", {}, `tick ${count(turn.tick)}, on ${words(turn.trigger)}: ${words(turn.state)} → ${turn.source === "question" ? "asks" : words(turn.to_state)}`),
    turn.rows.map((row) => isNew(guards, `${turn.trigger} ${row.guard} ${JSON.stringify(row.values)}`)).some(Boolean) ? rows(turn) : taken(turn),
    turn.question && isNew(questions, turn.question.id) ? asked(session, turn.question) : null,
  ]);
}

/** Return the rows of a turn below their guards: each guard once, with the rows that it opens or shuts. */
function rows(turn) {
  const groups = new Map();
  for (const row of turn.rows) {
    const key = `${row.guard} ${row.outcome}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const values = Object.assign({}, ...turn.rows.map((row) => row.values));
  const name = (row) => el("span", { class: row.is_taken ? "taken" : null }, `${row.is_taken ? "✓ " : ""}${row.name}`);
  return [
    el("ul", { class: "guards" }, [...groups.values()].map((group) => el("li", {}, group[0].guard ? [el("code", {}, group[0].guard), ` is ${outcomeOf(group[0])}: `] : `${outcomeOf(group[0])}: `, group.map((row, place) => [place ? ", " : "", name(row)])))),
    Object.keys(values).length ? el("p", { class: "quiet" }, `with ${Object.entries(values).map(([field, value]) => `${field} = ${text(value)}`).join(", ")}`) : null,
  ];
}

const outcomeOf = (row) => ({ true: "true", false: "false" })[row.outcome] ?? words(row.outcome);

/** Return the row that was taken, where its guards have been shown before. */
function taken(turn) {
  const row = turn.rows.find((each) => each.is_taken);
  return row ? el("p", {}, el("strong", {}, `✓ ${row.name}`)) : null;
}


/** Return a question as it was put: each request word for word, what came back, and the probabilities of the options. */
function asked(session, question) {
  const sharing = question.sharing;
  const shares = question.requests.findLast((request) => request.reply?.probabilities)?.reply.probabilities;
  return [
    shares ? [el("h3", {}, "Probabilities by the model"), probabilities(session, question, shares)] : null,
    sharing?.shared && sharing.part !== "asked for all" ? [el("h3", {}, `Shared probabilities (${sharing.part})`), sharing.archetype ? note(sharing.archetype) : null, probabilities(session, question, sharing.shared)] : null,
    question.embedded ? [el("h3", {}, "Probabilities by the embedded choice"), probabilities(session, question, question.embedded)] : null,
    question.requests.length || sharing?.part === "shared" ? null : note("No model was asked: the embedded oracle draws from these probabilities."),
    question.requests.map((request) => [
      request.messages.map((message) => [el("h3", {}, `What the model read (${message.role})`), el("pre", { tabindex: 0 }, message.content)]),
      request.state || request.instructions ? [el("h3", {}, "What the model read"), el("pre", { tabindex: 0 }, `${request.instructions}\n\n${request.state}`)] : null,
      request.reply?.text ? [el("h3", {}, "What it said"), el("pre", { tabindex: 0 }, request.reply.text)] : null,
      request.reply ? null : note("No tape of this run has the reply word for word."),
    ]),
  ];
}

function probabilities(session, question, shares) {
  return el("ul", { class: "options" }, question.options.map((name) => {
    const style = session.style(name), share = shares[name] ?? 0;
    const bar = el("span", { class: "bar", "aria-hidden": "true" }, el("span", {}));
    bar.firstChild.style.width = `${share * 100}%`;
    return el("li", { class: name === question.answer?.state ? "taken" : null }, el("span", {}, style ? chip(style) : words(name), name === question.answer?.state ? " ✓ taken" : ""), bar, el("span", {}, percent(share)));
  }));
}
