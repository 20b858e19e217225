// The causes that `prism cause` has kept of the run's outcomes, with the pictures of the report.

import { ofRun, read } from "./api.js";
import { build, el, note, panel, put } from "./dom.js";

/** Scroll to a part of the panel, and move the focus there. */
export function showPart(id) {
  const part = document.getElementById(id);
  if (!part) return;
  part.tabIndex = -1;
  part.style.scrollMarginTop = `${(document.querySelector(".clock")?.offsetHeight ?? 0) + 10}px`; // the clock covers the top
  part.scrollIntoView({ block: "start" });
  part.focus({ preventScroll: true });
}

/** Show the panel of causes as soon as the run keeps some and its journal has been read. */
export function causesPanel(session) {
  const body = el("div", { class: "report" }), box = panel("Causes", body);
  box.hidden = true;
  let shown = 0;

  async function look() {
    const { causes, is_reading: isReading } = session.page;
    if (isReading || causes === shown) return;
    shown = causes;
    try {
      session.causes = causes ? await read(ofRun(session.name, "causes")) : null;
      put(body, (session.causes?.parts ?? []).map((part) => build(part)));
    } catch (error) {
      session.causes = null;
      put(body, note(error.message, "problem"));
    }
    box.hidden = !causes;
    session.tell("causes");
  }

  session.on("page", look);
  return box;
}
