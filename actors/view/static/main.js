// The page: its address after the # says what is shown.

import { showComparison, showHome, showList } from "./lists.js";
import { beginTheme, el, put, trouble } from "./page.js";
import { showRun } from "./run.js";

const main = document.getElementById("main");
const trail = document.getElementById("trail");
let leave = () => {}, shown = null;

/** Return a word of the address; as it stands if somebody has typed a percent sign that encodes nothing. */
function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  if (path === shown) return; // only what stands behind the question mark is another: the page has written it
  shown = path;
  leave();
  put(main);
  leave = open(parts, new URLSearchParams(query)) ?? (() => {});
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function open(parts, query) {
  const [kind = "", ...names] = parts;
  const here = { "": "Runs", run: names[0], runs: "Runs", compare: "Compare" }[kind] ?? "not found";
  put(trail, kind ? [el("a", { href: "#/" }, "Start"), el("span", { "aria-hidden": "true" }, "/")] : null, el("span", { "aria-current": "page" }, here));
  document.title = `${here} – PRISM view`;
  if (kind === "run" && names.length === 1) return showRun(main, names[0], query);
  if (kind === "compare" && names.length === 2) return showComparison(main, ...names);
  if (kind === "runs" && !names.length) return showList(main);
  if (!kind) return showHome(main);
  put(main, trouble(`There is no page ${parts.join("/")}.`));
  return showList(main);
}

beginTheme();
addEventListener("hashchange", route);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address says which page this is
  main.focus();
});
document.addEventListener("click", (event) => { // a link within the page: the address says which page this is
  const to = event.target.closest?.("a[href^='#']")?.getAttribute("href").slice(1);
  if (!to || to.startsWith("/")) return;
  event.preventDefault();
  const place = document.getElementById(to);
  place?.setAttribute("tabindex", "-1");
  place?.focus({ preventScroll: true });
  place?.scrollIntoView();
});
route();
