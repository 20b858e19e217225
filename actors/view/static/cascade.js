// A cascade: how it grew, and who answered or reshared whom.

import { ofRun, read } from "./api.js";
import { line, TickChart } from "./chart.js";
import { showPart } from "./causes.js";
import { count, el, many, note, panel, put } from "./dom.js";

const ROWS_MAX = 60;

/** Return the panel of cascades. */
export function cascadePanel(session, ends) {
  const choice = el("select", { "aria-label": "Cascade", onchange: () => session.choose("cascade", choice.value === "" ? null : Number(choice.value)) });
  const chart = new TickChart({ height: 130, compact: true, label: "Posts of the cascade over time", onpick: (tick) => session.show(tick), marks: () => session.course?.interventions });
  const said = el("p", { "aria-live": "polite" });
  const rows = el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Who answered or reshared whom" });
  const made = el("p", {});
  const detail = el("div", {}, said, made, el("p", { class: "unit" }, "posts of the cascade, the original included"), chart.box, el("h3", {}, "Who reshared or answered whom, the latest first"), rows);
  const foot = el("p", { class: "quiet" });
  detail.hidden = true;
  let tree = null, listed = "", isFirst = session.cascade === null;
  ends.push(() => chart.close());

  async function list() {
    const { largest, posts } = await read(ofRun(session.name, "cascades"));
    put(foot, largest.length ? "" : posts ? "No post has been answered or reshared yet." : "Nobody has posted yet.");
    const key = JSON.stringify(largest);
    if (key === listed || document.activeElement === choice) return;
    listed = key;
    put(choice, el("option", { value: "" }, "none"), largest.map((one, place) => el("option", { value: one.post }, `${place + 1}: ${many(one.size, "post")}, begun by agent ${count(one.author)} in tick ${count(one.tick)}`)));
    if (session.cascade !== null && !largest.some((one) => one.post === session.cascade)) choice.append(el("option", { value: session.cascade }, `post ${session.cascade}`));
    choice.value = session.cascade ?? "";
    if (isFirst && largest.length) session.choose("cascade", largest[0].post); // a page that opens shows the largest
    isFirst = false;
    if (tree) fetchTree();
  }

  async function fetchTree() {
    try {
      tree = session.cascade === null ? null : await read(ofRun(session.name, "cascade"), { post: session.cascade });
    } catch (error) {
      tree = null;
      put(foot, error.message);
    }
    detail.hidden = tree === null;
    choice.value = session.cascade ?? "";
    if (tree) drawGrowth();
    draw();
  }

  function drawGrowth() {
    const ticks = [], sizes = [];
    for (const [at, one] of tree.entries()) {
      ticks.push(one.tick, one.tick);
      sizes.push(at, at + 1);
    }
    chart.set(session.last + 1, [0, tree.length], () => [line(chart, [...ticks, session.last], [...sizes, tree.length], { class: "stroke-link" })]);
  }

  function draw() {
    chart.move(session.tick);
    const grown = (tree ?? []).filter((one) => one.tick <= session.tick);
    session.cascadeEdges = grown.filter((one) => one.parent >= 0).map((one) => [tree[one.parent].author, one.author]);
    session.tell("edges");
    if (!tree) return;
    whatMade();
    const replies = grown.filter((one) => one.kind === "reply").length, reshares = grown.filter((one) => one.kind === "reshare").length;
    put(said, grown.length ? `At tick ${count(session.tick)}: ${count(grown.length)} of ${many(tree.length, "post")}: the original, ${many(reshares, "reshare")} and ${many(replies, "reply", "replies")}. Its edges are the strong lines in the network.` : `At tick ${count(session.tick)} it has not begun: the original is of tick ${count(tree[0].tick)}.`);
    const edges = grown.filter((one) => one.parent >= 0).reverse();
    const person = (agent) => el("button", { type: "button", class: "link", onclick: () => session.choose("agent", agent) }, `agent ${agent}`);
    put(
      rows,
      edges.length
        ? el("table", {}, el("thead", {}, el("tr", {}, ["tick", "who", "did", "whose post"].map((name, at) => el("th", { class: at ? null : "number", scope: "col" }, name)))), el("tbody", {}, edges.slice(0, ROWS_MAX).map((one) => el("tr", {}, el("td", { class: "number" }, count(one.tick)), el("td", {}, person(one.author)), el("td", {}, one.kind === "reply" ? "↩ answered" : "⇄ reshared"), el("td", {}, person(tree[one.parent].author))))))
        : note("Nobody has yet."),
      edges.length > ROWS_MAX ? note(`and ${many(edges.length - ROWS_MAX, "earlier one")}`) : null,
    );
  }

  /** Show a button to the causes of the cascade, or the command that finds them. */
  function whatMade() {
    const of = `cascade:${session.cascade}`, place = session.causes?.places[of];
    if (!place) return put(made, "What made it? ", el("code", {}, `prism cause ${session.page.path} --of ${of}`));
    return put(made, el("button", { type: "button", class: "link", onclick: () => showPart(place) }, "What made it"));
  }

  let looked = 0;
  session.on("grown", () => {
    if (session.last === looked) return;
    looked = session.last;
    if (tree) drawGrowth();
    list().catch((error) => put(foot, error.message));
  });
  session.on("cascade", fetchTree);
  session.on("tick", draw);
  session.on("causes", draw);
  if (session.cascade !== null) fetchTree();
  return panel("Cascades", el("div", { class: "row" }, el("label", {}, "Show", choice)), detail, foot);
}
