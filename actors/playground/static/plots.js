// Charts of this page, drawn straight from columns: a line for this run, a grey one for the run before, a band of seeds.

const NS = "http://www.w3.org/2000/svg";
const LEFT = 46, RIGHT = 8, TOP = 8, BOTTOM = 22, HEIGHT = 168;

function draw(tag, attributes, text) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "stroke" || name === "fill") node.style[name] = value; // a presentation attribute knows no variables
    else node.setAttribute(name, value);
  }
  if (text !== undefined) node.textContent = text;
  return node;
}

export function figure(value) {
  const size = Math.abs(value);
  if (size >= 10000) return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
  return new Intl.NumberFormat("en", { maximumSignificantDigits: size >= 100 ? 4 : 3 }).format(value);
}

/** Return places for the numbers of an axis: multiples of 1, 2 or 5 times a power of ten. */
function steps(low, high, most) {
  const rough = (high - low) / most || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

const powers = (low, high) => Array.from({ length: Math.ceil(high) - Math.floor(low) + 1 }, (_, at) => Math.floor(low) + at);

/**
 * Draw a chart into an element.
 *
 * `lines`: [{ name, values, color, dash, width, opacity }], the most important one last; `band`: { low, high } or null.
 * `xs`: the place of each value; `log`: both axes are logarithmic. `at`: the place that is marked, or null.
 */
export function plot(frame, { lines, band, xs, log = false, at = null, said }) {
  const width = Math.max(frame.clientWidth, 180);
  const ok = (value) => value !== null && value !== undefined && (!log || value > 0);
  const scaled = log ? Math.log10 : (value) => value;
  const all = [...lines.flatMap(({ values }) => values), ...(band ? [...band.low, ...band.high] : [])].filter(ok).map(scaled);
  let low = Math.min(...all), high = Math.max(...all);
  if (!all.length) [low, high] = [0, 1];
  if (!log && low > 0 && low < 0.6 * high) low = 0;
  if (high - low < 1e-9) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) * 0.1, high + Math.abs(high) * 0.1];
  const far = Math.max(2, ...lines.map(({ values }) => values.length), band?.high.length ?? 0);
  const first = scaled(xs[0]), last = scaled(xs[Math.min(far, xs.length) - 1]);
  const x = (place) => LEFT + ((scaled(place) - first) / (last - first || 1)) * (width - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - ((scaled(value) - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, width, role: "img", "aria-label": said });
  for (const each of log ? powers(low, high).filter((power) => power >= low - 1e-9 && power <= high + 1e-9) : steps(low, high, 4)) {
    const place = HEIGHT - BOTTOM - ((each - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    svg.append(draw("line", { x1: LEFT, x2: width - RIGHT, y1: place, y2: place, class: "grid-line" }));
    svg.append(draw("text", { x: LEFT - 6, y: place + 4, "text-anchor": "end" }, figure(log ? 10 ** each : each)));
  }
  for (const each of log ? powers(first, last).map((power) => 10 ** power).filter((each) => scaled(each) <= last) : steps(xs[0], xs[Math.min(far, xs.length) - 1], width > 300 ? 6 : 4).filter((each) => each % 1 === 0))
    svg.append(draw("text", { x: x(each), y: HEIGHT - 5, "text-anchor": "middle" }, figure(each)));
  const path = (values) => values.map((value, place) => (ok(value) ? `${x(xs[place]).toFixed(1)},${y(value).toFixed(1)}` : null)).filter(Boolean);
  if (band) svg.append(draw("polygon", { points: [...path(band.high), ...path(band.low).reverse()].join(" "), class: "band" }));
  for (const { values, color, dash, width: thick = 1.8, opacity = 1 } of lines) {
    const points = path(values);
    svg.append(points.length > 1 ? draw("polyline", { points: points.join(" "), stroke: color, "stroke-width": thick, "stroke-dasharray": dash ?? "none", opacity }) : draw("circle", { cx: points[0]?.split(",")[0] ?? -9, cy: points[0]?.split(",")[1] ?? -9, r: 3, fill: color }));
  }
  const rule = draw("line", { y1: TOP, y2: HEIGHT - BOTTOM, class: "rule", visibility: "hidden" });
  svg.append(rule);
  const mark = (place, is) => {
    rule.setAttribute("visibility", is ? "visible" : "hidden");
    if (!is) return;
    rule.setAttribute("x1", x(place));
    rule.setAttribute("x2", x(place));
  };
  if (at !== null) mark(at, at >= xs[0] && at <= xs[xs.length - 1]);
  svg.nearest = (clientX) => {
    const inside = ((clientX - svg.getBoundingClientRect().left) * width) / svg.getBoundingClientRect().width;
    let best = 0;
    for (let place = 1; place < Math.min(far, xs.length); place += 1) if (Math.abs(x(xs[place]) - inside) < Math.abs(x(xs[best]) - inside)) best = place;
    return best;
  };
  svg.mark = mark;
  frame.replaceChildren(svg);
  return svg;
}

/** Return the columns of the middle 80% of several runs; null for fewer than three. */
export function middle(columns) {
  if (columns.length < 3) return null;
  const length = Math.max(...columns.map((each) => each.length)), low = [], high = [];
  for (let place = 0; place < length; place += 1) {
    const sorted = columns.map((each) => each[place] ?? 0).sort((one, other) => one - other);
    const quantile = (share) => {
      const at = share * (sorted.length - 1), floor = Math.floor(at);
      return sorted[floor] + (at - floor) * ((sorted[floor + 1] ?? sorted[floor]) - sorted[floor]);
    };
    low.push(quantile(0.1));
    high.push(quantile(0.9));
  }
  return { low, high };
}
