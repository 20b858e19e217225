// Parts of the page: what is asked of the server, put in its place, and drawn. All HTML is the server's own.

/** An answer that is a problem, in words. */
export class Problem extends Error {}

async function ask(path, query) {
  const parameters = new URLSearchParams(query).toString();
  let answer;
  try {
    answer = await fetch(`/${path}${parameters && `?${parameters}`}`);
  } catch {
    throw new Problem("PRISM does not answer: it has been stopped, or this computer has slept");
  }
  if (answer.ok) return answer;
  if (answer.status === 401) throw new Problem("open the address that was printed, with its token");
  let problem = `PRISM answered ${answer.status}`;
  try {
    problem = (await answer.json()).problem ?? problem;
  } catch {
    // it is no JSON: the status says it
  }
  throw new Problem(problem);
}

/** Return numbers, bytes, or a part of the page as HTML. */
export const read = async (path, query = {}) => (await ask(`api/${path}`, query)).json();
export const bytes = async (path, query = {}) => (await ask(`api/${path}`, query)).arrayBuffer();
export const part = async (path, query = {}) => (await ask(`part/${path}`, query)).text();

/** Return the path of a run. */
export const ofRun = (name, rest = "") => `runs/${encodeURIComponent(name)}${rest && `/${rest}`}`;

/** Return an element. Properties that begin with "on" are listeners; null and false are left out. */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" && "value" in node) node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  return put(node, ...children);
}

/** Replace the content of an element. */
export function put(node, ...children) {
  node.part = undefined;
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Replace the content of an element by a part of the page, if it has changed: what is open and in focus stays so. */
export function show(node, html) {
  if (node.part === html) return;
  const key = (each) => each.dataset.part ?? each.closest("figure")?.id ?? each.querySelector("summary").textContent;
  const open = new Map([...node.querySelectorAll("details")].map((each) => [key(each), each.open]));
  const focus = node.contains(document.activeElement) && document.activeElement.id;
  node.part = html;
  node.innerHTML = html;
  for (const each of node.querySelectorAll("details")) each.open = open.get(key(each)) ?? each.open;
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  draw(node);
}

/** Return a message in words, and one of what went wrong, with a way back. */
export const note = (text, kind = "quiet") => el("p", { class: kind, role: kind === "problem" ? "alert" : null }, text);
export const trouble = (message) => el("div", {}, note(message, "problem"), el("p", {}, el("a", { href: "#/" }, "← All runs")));

/** Return a panel with a heading. */
export function panel(title, ...content) {
  const id = `h-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return el("section", { class: "panel", "aria-labelledby": id }, el("h2", { id }, title), ...content);
}

/** Give the page its title, and the heading the same. */
export function entitle(heading, title) {
  put(heading, title);
  document.title = `${title} – PRISM view`;
}

export const count = new Intl.NumberFormat("en", { maximumFractionDigits: 0 }).format;

let vega = null;

/** Load Vega once; it comes from this machine. */
const loaded = () => (vega ??= new Promise((done, failed) => document.head.append(el("script", { src: "/static/vega.js", onload: done, onerror: failed }))));

/** Draw the charts of a part, one after the other. The interpreter of Vega needs no code from texts. */
async function draw(node) {
  const frames = [...node.querySelectorAll("[data-chart]")];
  if (!frames.length) return;
  await loaded();
  for (const frame of frames) {
    if (!frame.isConnected) return;
    const options = { ast: true, actions: false, logLevel: 1, renderer: "svg", defaultStyle: false, tooltip: { disableDefaultStyle: true } };
    const spec = JSON.parse(frame.dataset.chart);
    const inside = el("div"); // Vega gives it a role of its own
    frame.append(inside);
    frame.view = (await window.vegaEmbed(inside, spec, options)).view;
    frame.clock = spec.usermeta?.clock;
    frame.dispatchEvent(new Event("drawn", { bubbles: true }));
  }
}

/** Look at something now, and again until the page is left: `look` returns after how many milliseconds. Return how to stop. */
export function following(node, look) {
  let timer = 0, closed = false;
  async function again() {
    let wait = 5000;
    try {
      wait = (await look(() => closed)) ?? wait;
    } catch (error) {
      if (!closed) put(node, trouble(error.message));
    }
    if (!closed) timer = setTimeout(again, wait);
  }
  again();
  return () => {
    closed = true;
    clearTimeout(timer);
  };
}

/** Let the reader choose the colours, and remember the choice. */
export function beginTheme() {
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
