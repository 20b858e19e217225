// One agent: the state it is in, what it did, what it asked, and what is known of it.

import { ofRun, read } from "./api.js";
import { chip, count, digits, el, facts, many, note, panel, put, seconds, words } from "./dom.js";

const ARROW = { rule: "a rule", oracle: "the embedded oracle", llm: "the model", fallback: "a fallback", timeout: "a fallback, too late" };

/** Return the panel of an agent. */
export function agentPanel(session) {
  const number = el("input", { type: "number", min: 0, step: 1, id: "agent-number", inputmode: "numeric" });
  const form = el("form", { class: "row", onsubmit: pick }, el("label", { for: "agent-number" }, "Agent"), number, el("button", { type: "submit" }, "Show"), el("button", { type: "button", onclick: () => session.choose("agent", null) }, "None"));
  const body = el("div", { "aria-live": "off" });
  let asked = 0, isBusy = false, open = new Set();

  function pick(event) {
    event.preventDefault();
    const agent = Number(number.value);
    if (Number.isInteger(agent) && agent >= 0 && agent < session.page.line.agents && number.value !== "") session.choose("agent", agent);
    else put(body, note(`Agents have the numbers 0 to ${count(session.page.line.agents - 1)}.`, "problem"));
  }

  function ask() {
    number.max = session.page.line.agents - 1;
    if (session.agent === null) {
      put(body, note(`Give the number of an agent${session.page.pictures.includes("network") ? ", or press one in the network," : ""} to see its state, what it did and what it asked.`));
      number.value = "";
      return;
    }
    number.value = session.agent;
    clearTimeout(asked);
    asked = setTimeout(fetchPanel, body.childElementCount ? 120 : 0);
  }

  async function fetchPanel() {
    if (isBusy) {
      asked = setTimeout(fetchPanel, 100);
      return;
    }
    isBusy = true;
    try {
      const found = await read(ofRun(session.name, "agent"), { agent: session.agent, tick: session.tick });
      if (found.agent === session.agent) draw(found);
    } catch (error) {
      put(body, note(error.message, "problem"));
    }
    isBusy = false;
  }

  function draw(found) {
    const style = session.style(found.state);
    const person = (agent) => el("button", { type: "button", class: "link", onclick: () => session.choose("agent", agent) }, `agent ${agent}`);
    const shown = {
      head: el("p", {}, el("strong", {}, found.name || `agent ${found.agent}`), " is ", style ? chip(style) : words(found.state), ` at the end of tick ${count(found.tick)}`),
      known: found.person.length ? facts(found.person.map(([name, value]) => [words(name), typeof value === "number" ? digits(value) : String(value ?? "–") || "–"])) : null,
      ties: found.follows_count || found.followers_count ? el("p", {}, `${many(found.followers_count, "follower")}; follows ${count(found.follows_count)}: `, found.follows.map((agent) => [person(agent), " "]), found.follows_count > found.follows.length ? "…" : "") : null,
    };
    put(
      body,
      shown.head,
      found.since > 0 ? note(`Searched from tick ${count(found.since)} on; what was before is not listed.`) : null,
      section(`What it did (${count(found.moves_in_all)})`, [latest(session, found.moves, found.moves_in_all), history(session, found)], true),
      section(`What it asked (${count(found.questions_in_all)})`, found.questions.length ? [latest(session, found.questions, found.questions_in_all), ...found.questions.slice().reverse().map((one) => question(session, found, one))] : note("Nothing up to this tick: every choice was clear by rule.")),
      found.posts.length ? section(`What it posted and liked (${count(found.posts_in_all)})`, [latest(session, found.posts, found.posts_in_all), posts(found, person)]) : null,
      found.changes.length ? section(`What it changed (${count(found.changes_in_all)})`, [latest(session, found.changes, found.changes_in_all), changes(found, person)]) : null,
      addedBy(session),
      found.feed ? section(`Its feed of tick ${count(found.feed_tick)} (${found.feed.length})`, feed(found, person)) : null,
      shown.known || shown.ties ? section("Who it is", [shown.known, shown.ties]) : null,
    );
  }

  /** Return the agent's kept effects on outcomes; null if there are none. */
  function addedBy({ agent, causes, page }) {
    const added = (causes?.added ?? []).filter((each) => each.agent === agent);
    const command = el("p", { class: "quiet" }, "More of it: ", el("code", {}, `prism explain ${page.path} --agent ${agent} --cause`));
    return added.length ? section(`What it has added (${added.length})`, [el("ul", {}, added.map((each) => el("li", {}, `${each.of}: ${each.words}`))), command]) : null;
  }

  /** Return a part that stays as open, or closed, as the reader has left it. */
  function section(title, content, isOpen = false) {
    const key = title.replace(/ \(.*| of tick.*/, "");
    const part = el("details", {}, el("summary", {}, el("strong", {}, title)), content);
    part.open = open.has(key) || (isOpen && !open.has(`-${key}`));
    part.addEventListener("toggle", () => {
      open.delete(part.open ? `-${key}` : key);
      open.add(part.open ? key : `-${key}`);
    });
    return part;
  }

  session.on("agent", ask);
  session.on("tick", ask);
  session.on("people", ask);
  session.on("causes", ask);
  return panel("An agent", form, body);
}

/** Return a note where only the latest of something are listed. */
function latest(session, shown, inAll) {
  return shown.length < inAll ? note(`The latest ${count(shown.length)} are listed. All of them: prism explain ${session.page.path} --agent ${session.agent}`) : null;
}

/** Return the table of what the agent did, the latest first. */
function history(session, found) {
  const moves = found.moves.slice().reverse();
  if (!moves.length) return note("Nothing up to this tick.");
  const state = (name) => {
    const style = session.style(name);
    return style ? chip(style) : words(name);
  };
  const row = (move) =>
    el("tr", { class: move.tick === found.tick ? "now" : null },
      el("td", { class: "number" }, count(move.tick)),
      el("td", {}, words(move.trigger)),
      el("td", {}, move.before === move.after ? ["stays ", state(move.after)] : state(move.after)),
      el("td", {}, ARROW[move.source] ?? words(move.source), move.reason ? ` (${words(move.reason)})` : "", move.effect ? `: ${words(move.effect)}` : ""),
      el("td", {}, whyButton(session, move.tick, "why?")));
  return el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "What the agent did" }, el("table", {}, el("thead", {}, el("tr", {}, ["tick", "on", "goes to", "by"].map((name, at) => el("th", { scope: "col", class: at ? null : "number" }, name)), el("td", {}))), el("tbody", {}, moves.map(row))));
}

/** Return a question: what was seen, what could be done, and what came back. */
function question(session, found, one) {
  const style = (name) => session.style(name);
  const option = (name) => el("li", { class: name === one.taken ? "taken" : null }, el("span", {}, style(name) ? chip(style(name)) : words(name), name === one.taken ? " ✓ taken" : ""));
  const answer = one.answer;
  const context = one.context && typeof one.context === "object" && !Array.isArray(one.context) ? one.context : null;
  return el(
    "details",
    { class: "question" },
    el("summary", {}, `tick ${count(one.tick)}, on ${words(one.trigger)}: `, one.taken ? `${words(one.taken)}, by ${ARROW[one.source] ?? words(one.source)}` : "not answered up to this tick"),
    el("ul", { class: "options", "aria-label": "Options" }, one.options.map(option)),
    answer
      ? facts([
          ["latency", seconds(answer.latency_s)],
          ["found by", answer.method || words(answer.source)],
          ...(answer.reason ? [["a fallback, because of", words(answer.reason)]] : []),
          ...answer.calls.map((call) => [`calls: ${words(call.outcome)}`, `${many(call.calls, "call")}, ${many(call.read, "token")} read, ${count(call.written)} written`]),
        ])
      : null,
    answer?.content ? [el("h3", {}, "What the model said besides"), el("pre", {}, answer.content)] : null,
    one.context === null || one.context === undefined ? null : [el("h3", {}, "What it saw"), context ? facts(Object.entries(context).map(([name, value]) => [words(name), text(value)])) : el("pre", {}, JSON.stringify(one.context, null, 1))],
    el("p", {}, whyButton(session, one.tick, "Why? Work out again what led to this, and what the model read", "button")),
    el("p", { class: "quiet" }, "question ", el("code", {}, one.id), one.decided_tick === null ? "" : `, in effect from tick ${count(one.decided_tick)} on`),
  );
}

/** Return a button that has a tick of the agent explained beside it. */
function whyButton(session, tick, said, kind = "link") {
  return el("button", { type: "button", class: kind, "aria-label": `Why in tick ${count(tick)}?`, onclick: () => session.choose("why", { agent: session.agent, tick }) }, said);
}

function text(value) {
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : digits(value, 4);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value.join(", ") || "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}

const author = (post) => Math.floor(post / 2 ** 24);

function posts(found, person) {
  const did = { publish: "✎ posted", like: "♥ liked a post of", reply: "↩ answered", reshare: "⇄ reshared" };
  // the server sends each as a list: its kind, tick, agent, what was done, post, parent, topics
  return el("ul", {}, found.posts.slice().reverse().map(({ tick, kind, post, parent, topics }) => el("li", {}, `tick ${count(tick)}: ${did[kind] ?? kind} `, kind === "publish" ? topics.join(", ") : person(author(kind === "like" ? post : parent)))));
}

function changes(found, person) {
  const did = { follow: "follows", unfollow: "no longer follows", mute: "mutes" };
  // the server sends each as a list: a tie as 9, tick, agent, what was done, whom, post; an attribute as 10, tick, agent, name, value
  return el("ul", {}, found.changes.slice().reverse().map((one) => el("li", {}, `tick ${count(one.tick)}: `, "whom" in one ? [`${did[one.kind] ?? one.kind} `, person(one.whom)] : `${words(one.name)} becomes ${text(one.value)}`)));
}

const feed = (found, person) => (found.feed.length ? el("ol", {}, found.feed.map((post) => el("li", {}, "a post of ", person(author(post))))) : note("There was nothing to show."));
