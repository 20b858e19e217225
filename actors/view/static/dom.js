// Elements and numbers. Text is only ever set as text, so nothing in a run can become markup.

const SVG = "http://www.w3.org/2000/svg";

/** Return an element. Properties that begin with "on" are listeners; null and false are left out. */
export function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** Return an element of a picture. */
export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" && "value" in node) node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Replace the content of an element. */
export function put(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** Return a whole number with commas. */
export const count = (value) => whole.format(value);

/** Return a number with so many digits that count. */
export const digits = (value, most = 3) => new Intl.NumberFormat("en", { maximumSignificantDigits: most }).format(value);

/** Return a number and its noun: "1 tick", "2 ticks". */
export const many = (value, noun, plural = `${noun}s`) => `${count(value)} ${value === 1 ? noun : plural}`;

/** Return a number in its unit: a count, a percentage, or a number as it is. */
export function measured(value, unit) {
  if (unit.startsWith("%")) return `${value.toFixed(2)}%`;
  return Number.isInteger(value) ? count(value) : digits(value, 5);
}

/** Return a share as a percentage. */
export const percent = (share) => `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)}%`;

/** Return seconds in words. */
export function seconds(value) {
  if (value < 0.001) return `${digits(value * 1e6, 2)} µs`;
  if (value < 1) return `${digits(value * 1000)} ms`;
  if (value < 120) return `${digits(value)} s`;
  return value < 7200 ? `${digits(value / 60)} min` : `${digits(value / 3600)} h`;
}

/** Return a name of the code as words: waiting_for_oracle, waiting for oracle. */
export const words = (name) => String(name).replaceAll("_", " ");

/** Return black or white, whichever can be read on a colour. */
export function inkOn(color) {
  const [r, g, b] = [1, 3, 5].map((at) => (parseInt(color.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000000" : "#ffffff";
}

/** Return the mark of a state, in its colour. */
export function mark(style) {
  const shape = svg("svg", { class: "mark", viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" });
  shape.append(markShape(style.mark, style.color));
  return shape;
}

export const SHAPES = {
  circle: "M6 1a5 5 0 1 0 .01 0Z",
  square: "M1.5 1.5h9v9h-9Z",
  triangle: "M6 .8 11.4 11H.6Z",
  diamond: "M6 .3 11.7 6 6 11.7.3 6Z",
  cross: "M3 1 6 4l3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3-3-3Z",
  plus: "M4.5.8h3v3.7h3.7v3H7.5v3.7h-3V7.500H.8v-3h3.7Z",
  star: "M6 .3 7.7 4.300l4.100.300-3.200 2.800 1 4.100L6 9.300 2.400 11.500l1-4.100L.2 4.600l4.100-.3Z",
  open_square: "M1 1h10v10H1Zm2.600 2.600v4.800h4.800V3.600Z",
  open_triangle: "M6 .5 11.700 11.300H.3ZM6 5 3.900 9h4.200Z",
  open_diamond: "M6 0 12 6 6 12 0 6Zm0 3.700L3.700 6 6 8.300 8.300 6Z",
  bar: "M.5 3.800h11v4.400H.5Z",
  ring: "M6 .8a5.200 5.200 0 1 0 .01 0Zm0 2.700a2.500 2.500 0 1 1-.01 0Z",
};

function markShape(name, color) {
  return svg("path", { d: SHAPES[name] ?? SHAPES.circle, fill: color, "fill-rule": "evenodd", class: "mark-shape" });
}

/** Return a state as a chip: mark and name. */
export function chip(style, text = words(style.name)) {
  return el("span", { class: "chip" }, mark(style), el("span", {}, text));
}

/** Return a panel with a heading. */
export function panel(title, ...content) {
  const id = `h-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return el("section", { class: "panel", "aria-labelledby": id }, el("h2", { id }, title), ...content);
}

/** Return a message in words instead of a picture. */
export const note = (text, kind = "quiet") => el("p", { class: kind, role: kind === "problem" ? "alert" : null }, text);

/** Return a message of what went wrong, with a way back. */
export const trouble = (message) => el("div", {}, note(message, "problem"), el("p", {}, el("a", { href: "#/" }, "← All runs")));

/** Return a list of names and values. */
export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

/** Return an element of a report: [name, attributes, children]. Texts are never read as markup. */
export function build(node, inPicture = false) {
  if (typeof node === "string") return node;
  const [name, attributes, children] = node;
  const isPicture = inPicture || name === "svg";
  const { style, ...others } = attributes;
  const made = (isPicture ? svg : el)(name, others, children.map((child) => build(child, isPicture)));
  if (style) made.style.cssText = style; // the page's content security policy forbids the attribute
  return made;
}
