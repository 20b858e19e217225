// One agent: its panel, which the server writes, and the way from one agent to another.

import { el, note, ofRun, panel, part, put, read, show } from "./page.js";

/** Return the panel of an agent. */
export function agentPanel(session) {
  const { noun, pictures } = session.page, one = `${noun[0].toUpperCase()}${noun.slice(1)}`;
  const number = el("input", { id: "agent-number", size: 14, autocomplete: "off", spellcheck: "false" });
  const form = el("form", { class: "row", onsubmit: pick }, el("label", { for: "agent-number" }, one), number, el("button", { type: "submit" }, "Show"), el("button", { type: "button", onclick: () => session.choose("agent", null) }, "None"));
  const body = el("div", { onclick: press });
  let asked = 0, isBusy = false;

  async function pick(event) {
    event.preventDefault();
    try {
      session.choose("agent", await read(ofRun(session.name, "person"), { called: number.value }));
    } catch (error) {
      put(body, note(error.message, "problem"));
    }
  }

  function press({ target }) {
    const { agent, why } = target.closest("button")?.dataset ?? {};
    if (agent !== undefined) session.choose("agent", Number(agent));
    if (why !== undefined) session.choose("why", { agent: session.agent, tick: Number(why) });
  }

  function ask() {
    number.value = session.agent ?? "";
    clearTimeout(asked);
    if (session.agent === null) {
      put(body, note(`Give a number or a name${pictures.includes("network") ? ", or press a point of the network," : ""} to see what this ${noun} did, asked and was shown.`));
    } else asked = setTimeout(look, body.childElementCount ? 120 : 0);
  }

  async function look() {
    if (isBusy) {
      asked = setTimeout(look, 100);
      return;
    }
    isBusy = true;
    const { agent, tick } = session;
    try {
      const found = await part(ofRun(session.name, "agent"), { agent, tick });
      if (agent === session.agent) show(body, found);
    } catch (error) {
      put(body, note(error.message, "problem"));
    }
    isBusy = false;
  }

  for (const event of ["agent", "tick", "people"]) session.on(event, ask);
  return panel(`One ${noun}`, form, body);
}
