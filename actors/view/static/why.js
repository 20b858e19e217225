// Why an agent did what it did in a tick: the run is done again in memory, and what led to it is shown beside the agent.

import { count, el, note, ofRun, panel, part, put, show } from "./page.js";

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
    put(title, `What led to tick ${count(wanted.tick)}`);
    box.scrollIntoView({ block: wide.matches ? "nearest" : "start" });
    box.focus({ preventScroll: true });
    put(body, note("Working it out: the run is done again in memory up to here …"));
    try {
      const found = await part(ofRun(session.name, "explanation"), wanted);
      if (asked === wanted) show(body, found);
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
