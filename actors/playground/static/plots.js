// Charts of this page, drawn straight from columns: lines, a band, and a place that is marked.

const NS = "http://www.w3.org/2000/svg";
const LEFT = 46, RIGHT = 8, TOP = 8, BOTTOM = 22, HEIGHT = 168;

function draw(tag, { stroke, fill, ...attributes }, text = "") {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  Object.assign(node.style, { stroke, fill }); // a presentation attribute knows no variables
  node.textContent = text;
  return node;
}

export function figure(value) {
  const size = Math.abs(value);
  const options = size >= 10000 ? { notation: "compact", maximumFractionDigits: 1 } : { maximumSignificantDigits: size >= 100 ? 4 : 3 };
  return new Intl.NumberFormat("en", options).format(value);
}

/** Return places for the numbers of an axis: multiples of 1, 2 or 5 times a power of ten. */
function steps(low, high, most) {
  const rough = (high - low) / most || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

/**
 * Draw a chart into an element. `lines`: [{ values, color, dash, width }], the most important one last; `band`: { low, high }
 * or null; `xs`: the place of each value; `log`: both axes are logarithmic. Return the picture with `nearest` and `mark`.
 */
export function plot(frame, { lines, band, xs, log, said }) {
  const width = Math.max(frame.clientWidth, 180), scaled = log ? Math.log10 : (value) => value;
  const columns = [...lines.map(({ values }) => values), ...(band ? [band.low, band.high] : [])];
  const ok = (value) => Number.isFinite(value) && (!log || value > 0), all = columns.flat().filter(ok).map(scaled);
  let [low, high] = all.length ? [Math.min(...all), Math.max(...all)] : [0, 1];
  if (!log && low > 0 && low < 0.6 * high) low = 0;
  if (high - low < 1e-9) [low, high] = [low - Math.max(Math.abs(low) * 0.1, low ? 0 : 0.001), high + Math.max(Math.abs(high) * 0.1, 1e-9 + (high ? 0 : 1))];
  const places = xs.slice(0, Math.max(2, ...columns.map((each) => each.length))), first = scaled(places[0]), last = scaled(places.at(-1));
  const x = (place) => LEFT + ((scaled(place) - first) / (last - first || 1)) * (width - LEFT - RIGHT);
  const up = (value) => HEIGHT - BOTTOM - ((value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, width, role: "img", "aria-label": said });
  for (const each of steps(low, high, 4).filter((each) => !log || each % 1 === 0)) {
    svg.append(draw("line", { x1: LEFT, x2: width - RIGHT, y1: up(each), y2: up(each), class: "grid-line" }));
    svg.append(draw("text", { x: LEFT - 6, y: up(each) + 4, "text-anchor": "end" }, figure(log ? 10 ** each : each)));
  }
  for (const each of steps(first, last, width > 300 ? 6 : 4).filter((each) => each % 1 === 0))
    svg.append(draw("text", { x: x(log ? 10 ** each : each), y: HEIGHT - 5, "text-anchor": "middle" }, figure(log ? 10 ** each : each)));
  const path = (values) => values.flatMap((value, at) => (ok(value) ? `${x(xs[at]).toFixed(1)},${up(scaled(value)).toFixed(1)}` : []));
  if (band) svg.append(draw("polygon", { points: [...path(band.high), ...path(band.low).reverse()].join(" "), class: "band" }));
  for (const { values, color, dash = "none", width: thick = 1.6 } of lines) svg.append(draw("polyline", { points: path(values).join(" "), stroke: color, "stroke-width": thick, "stroke-dasharray": dash }));
  const rule = svg.appendChild(draw("line", { y1: TOP, y2: HEIGHT - BOTTOM, class: "rule", visibility: "hidden" }));
  frame.replaceChildren(svg);
  return {
    nearest(clientX) {
      const { left, width: seen } = svg.getBoundingClientRect(), inside = ((clientX - left) * width) / seen;
      return places.reduce((best, place, at) => (Math.abs(x(place) - inside) < Math.abs(x(places[best]) - inside) ? at : best), 0);
    },
    mark(place) {
      rule.setAttribute("visibility", place === null ? "hidden" : "visible");
      if (place !== null) for (const end of ["x1", "x2"]) rule.setAttribute(end, x(place));
    },
  };
}

/** Return the columns between which the middle 80% of several runs are; null for fewer than three. */
export function middle(columns) {
  if (columns.length < 3) return null;
  const at = (share) => Array.from({ length: Math.max(...columns.map((each) => each.length)) }, (_, place) => {
    const sorted = columns.map((each) => each[place] ?? 0).sort((one, other) => one - other), where = share * (sorted.length - 1), floor = Math.floor(where);
    return sorted[floor] + (where - floor) * ((sorted[floor + 1] ?? sorted[floor]) - sorted[floor]);
  });
  return { low: at(0.1), high: at(0.9) };
}
