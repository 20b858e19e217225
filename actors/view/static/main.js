// The page: its address after the # says what is shown.

import { el, put, trouble } from "./dom.js";
import { showHome } from "./experiment.js";
import { showList } from "./list.js";
import { showRun } from "./run.js";
import { showComparison } from "./compare.js";

const main = document.getElementById("main");
const trail = document.getElementById("trail");
let leave = () => {};

/** Return a word of the address; as it stands if somebody has typed a percent sign that encodes nothing. */
function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

/** Return the parts of the address: its words, and what stands behind its question mark. */
function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

let shown = null;

function route() {
  const { parts, query } = place();
  const key = parts.join("/");
  if (key === shown) return; // only what stands behind the question mark is another: the page has written it
  shown = key;
  leave();
  put(main);
  leave = show(parts, query) ?? (() => {});
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function show(parts, query) {
  const home = el("a", { href: "#/" }, "Runs");
  if (parts[0] === "run" && parts.length === 2) {
    put(trail, home, el("span", { "aria-hidden": "true" }, "/"), el("span", { "aria-current": "page" }, parts[1]));
    document.title = `${parts[1]} – PRISM view`;
    return showRun(main, parts[1], query);
  }
  if (parts[0] === "compare") {
    put(trail, home, el("span", { "aria-hidden": "true" }, "/"), el("span", { "aria-current": "page" }, "Compare"));
    document.title = "Compare – PRISM view";
    return showComparison(main, parts[1] ?? "", parts[2] ?? "");
  }
  if (parts[0] === "runs" && parts.length === 1) {
    put(trail, el("a", { href: "#/" }, "Start"), el("span", { "aria-hidden": "true" }, "/"), el("span", { "aria-current": "page" }, "Runs"));
    document.title = "Runs – PRISM view";
    return showList(main);
  }
  if (!parts.length) {
    put(trail, el("span", { "aria-current": "page" }, "Runs"));
    document.title = "Runs – PRISM view";
    return showHome(main);
  }
  put(trail, home, el("span", { "aria-hidden": "true" }, "/"), el("span", { "aria-current": "page" }, "not found"));
  document.title = "Not found – PRISM view";
  put(main, trouble(`There is no page ${parts.join("/")}.`));
  return showList(main);
}

function beginTheme() {
  const choice = document.getElementById("theme");
  const set = (value) => {
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
    dispatchEvent(new Event("themechange"));
  };
  choice.value = localStorage.getItem("prism-theme") ?? "";
  set(choice.value);
  choice.addEventListener("change", () => {
    localStorage.setItem("prism-theme", choice.value);
    set(choice.value);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
}

beginTheme();
addEventListener("hashchange", route);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address says which page this is
  main.focus();
});
route();
