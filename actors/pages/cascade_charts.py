"""Charts of cascades: their sizes and shapes beside real ones, the reach of their authors, and the largest cascades."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from actors.pages.card import Chart, Table
from actors.pages.html import shown, tag
from actors.pages.picture import LINE, TEXT, WIDTH, figure, label, log_numbers, plain_numbers
from actors.pages.series import GROUP_DASHES, color_of, group_key
from actors.pages.words import count, listed, plural, share
from actors.pages.words import figure as digits
from actors.results.run_record import Audience, RunGroup, RunRecord
from actors.store.posts import MadePost
from prism.columns import Floats
from prism.palette import BLUE, GREEN, VERMILION
from prism.scorecard import Feed, Tree, TreeShape, shape_of
from prism.scorecard.social import SECONDS_AN_HOUR, rank_correlation
from prism.social.ties.graph_library import load_igraph

REAL: Final = "real cascades"
FEW: Final = 5
"""The fewest cascades of a curve."""
POINTS_MAX: Final = 150
DOTS_MAX: Final = 700
DRAWN: Final = 3
ROUND: Final = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000, 1_000_000)
"""The numbers at the axes of followers and reach."""
NODES_MAX: Final = 400
"""The most posts of a tree that is drawn."""
NAME_CHARS: Final = 24
NO_CAUSES: Final[Mapping[int, str]] = MappingProxyType({})
_SHAPES = (
    ("size", "Sizes of cascades", "posts in a cascade, with the original", 1.0),
    ("depth", "Depths of cascades", "steps from the original to the farthest post", 1.0),
    ("virality", "Structural virality", "mean steps between two posts", 0.0),
)


def shape_charts(groups: Sequence[RunGroup], feeds: Sequence[Sequence[Feed]], real: Sequence[Tree]) -> list[Chart]:
    """Return the distributions of sizes, depths and virality, beside real ones if there are any."""
    found = [[shape_of(tree) for feed in group for tree in feed.trees] for group in feeds]
    theirs = [shape_of(tree) for tree in real]
    least = min((shape.size for shape in theirs), default=1)
    comparable = [[shape for shape in shapes if shape.size >= least] for shapes in found]
    is_cut = bool(theirs) and least > 1 and all(len(shapes) >= FEW for shapes in comparable)
    kept = comparable if is_cut else found
    note = _young_note(groups, feeds) + _real_note(least, len(theirs), kept if is_cut else None)
    return [
        _shape(groups, kept, theirs, shape, note)
        for shape in _SHAPES
        if any(_values(shape[0], shapes) for shapes in kept)
    ]


def _young_note(groups: Sequence[RunGroup], feeds: Sequence[Sequence[Feed]]) -> str:
    """Return a sentence on the originals that are left out: the shares are not those of all originals."""
    young = [sum(feed.left_out for feed in group) for group in feeds]
    if not any(young):
        return ""
    told = [plural(number, "original") for number in young]
    if len(groups) > 1:
        told = [f"{each} ({group.label})" for each, group in zip(told, groups, strict=True)]
    return f" Left out: {listed(told)} of the last rounds, which may still grow."


def _real_note(least: int, count_real: int, kept: Sequence[Sequence[TreeShape]] | None) -> str:
    if not count_real:
        return ""
    if kept is None:
        return f" The {plural(count_real, 'real cascade')} have {least} posts and more; the run's have any size."
    ours = plural(sum(map(len, kept)), "simulated cascade")
    return f" Only cascades of {least} posts and more: {ours} and {plural(count_real, 'real one')}."


def _shape(
    groups: Sequence[RunGroup],
    found: Sequence[Sequence[TreeShape]],
    real: Sequence[TreeShape],
    kind: tuple[str, str, str, float],
    note: str,
) -> Chart:
    """Return for each size, depth or virality the share of cascades that reach it."""
    name, title, unit, least = kind
    drawn = figure()
    axes = drawn.subplots()
    rows = []
    curves: list[tuple[str, Sequence[TreeShape], str, Any]] = [
        (
            group.label or ("the run" if len(group.runs) == 1 else f"{len(group.runs)} seeds"),
            shapes,
            color_of(place),
            GROUP_DASHES[place % len(GROUP_DASHES)],
        )
        for place, (group, shapes) in enumerate(zip(groups, found, strict=True))
    ]
    curves += [(REAL, real, TEXT, (0, (1.5, 1.2)))] if real else []
    for who, shapes, shade, dashes in curves:
        values = np.sort(np.array(_values(name, shapes)))
        if not len(values):
            continue
        x, above = _tail(values)
        kept = x >= max(least, 1e-9) if name != "virality" else x > 0
        axes.step(x[kept], 100.0 * above[kept], where="post", color=shade, linestyle=dashes)
        marks = [float(np.quantile(values, part)) for part in (0.5, 0.9, 0.99)]
        shown_as = digits if name == "virality" else count
        rows.append((who, count(len(values)), *map(shown_as, marks), shown_as(float(values[-1]))))
    if name == "size":
        axes.set_xscale("log")
        log_numbers(axes.xaxis)
    else:
        plain_numbers(axes.xaxis, whole=name == "depth")
    axes.set_yscale("log")
    log_numbers(axes.yaxis)
    label(axes, unit, "% of cascades that have at least so much", grid="both")
    table = Table(("cascades of", "cascades", "median", "p90", "p99", "largest"), rows)
    reading = f"{_reading(name, rows[0], found[0])}{f' ({rows[0][0]})' if len(groups) > 1 else ''}.{note}"
    key = group_key(groups)
    if real:
        key = (*(key or (("", color_of(0), "the run"),)), ("", "var(--text)", f"{REAL}, dotted"))
    return Chart(title, drawn, reading, table, key=key)


def _values(name: str, shapes: Sequence[TreeShape]) -> list[float]:
    """Return the sizes, depths or viralities of cascades; only those with a reaction have a depth and a virality."""
    return [getattr(shape, name) for shape in shapes if shape.size > 1 or name == "size"]


def _reading(name: str, row: Sequence[str], shapes: Sequence[TreeShape]) -> str:
    """Return a sentence about a distribution, without its full stop."""
    if name == "size":
        alone = sum(shape.size == 1 for shape in shapes)
        single = f"{share(alone, len(shapes))} of the originals stayed alone; " if alone else ""
        return f"{single}{'one' if alone else 'One'} cascade in a hundred has {row[4]} posts or more"
    if name == "depth":
        return f"Of the cascades that have a reaction, one in ten is {row[3]} steps deep or more, the deepest {row[5]}"
    return (
        f"Half of the cascades that have a reaction have a virality of {row[2]} or more; 2 is a large star, and "
        "more is a chain"
    )


def _tail(values: Floats) -> tuple[Floats, Floats]:
    """Return the values once each, thinned out, and the share of all that is as large or larger."""
    unique, first = np.unique(values, return_index=True)
    above = 1.0 - first / len(values)
    if len(unique) > POINTS_MAX:
        kept = np.unique(np.geomspace(1, len(unique), POINTS_MAX).astype(int)) - 1
        kept = np.union1d(kept, len(unique) - 1 - kept)
        unique, above = unique[kept], above[kept]
    return unique.astype(np.float64), above


def reach_chart(run: RunRecord, people: Audience, of: str = "") -> Chart | None:
    """Return the reach of each original beside its author's followers; None if few posted.

    `of`: the configuration, if there are several.
    """
    posts, is_shown = run.course.posts, run.course.has_feeds
    roots = np.flatnonzero(posts.parents < 0)
    if len(roots) < FEW:
        return None
    followers = people.followers[posts.authors[roots]].astype(np.float64)
    reach = run.course.reached[roots].astype(np.float64)
    drawn = figure(height=250)
    axes = drawn.subplots()
    step = -(-len(roots) // DOTS_MAX)
    axes.scatter(followers[::step], reach[::step], s=9, color=BLUE, alpha=0.45, linewidths=0)
    rows = _by_followers(followers, reach)
    places = [row[0] for row in rows]
    axes.fill_between(places, [row[3] for row in rows], [row[5] for row in rows], color=VERMILION, alpha=0.2, lw=0)
    axes.plot(places, [row[4] for row in rows], color=VERMILION, marker="o", markersize=3.5)
    axes.set_xscale("symlog", linthresh=1.0)
    axes.set_yscale("symlog", linthresh=1.0)
    for axis, most in ((axes.xaxis, followers.max()), (axes.yaxis, reach.max())):
        axis.set_major_locator(FixedLocator([value for value in ROUND if value <= max(most, 1)]))
        axis.set_minor_locator(FixedLocator([]))
        log_numbers(axis)
    people_who = "people who were shown a post of it" if is_shown else "people who liked, answered or reshared"
    label(axes, "followers of the author at the start", people_who, grid="both")
    related = rank_correlation(followers, reach)
    thinned = f" One original in {step} is drawn." if step > 1 else ""
    reading = (
        f"A dot is an original, the line is the median of authors with about as many followers, the band the middle "
        f"half. Rank correlation {related:.2f} over {plural(len(roots), 'original')}.{thinned}"
    )
    table = Table(
        ("followers from", "to", "originals", "lower quarter", "median reach", "upper quarter"),
        [(count(row[1]), count(row[2]), count(row[6]), *(digits(row[at]) for at in (3, 4, 5))) for row in rows],
    )
    return Chart(f"Followers and reach{f', {of}' if of else ''}", drawn, reading, table)


def _by_followers(followers: Floats, reach: Floats) -> list[tuple[float, float, float, float, float, float, int]]:
    """Return for each doubling of followers: middle, least, most, the quartiles of reach, and how many there are."""
    rows = []
    edge = 0.0
    while edge <= followers.max():
        upper = max(1.0, 2.0 * edge)
        inside = (followers >= edge) & (followers < upper)
        if inside.sum() >= FEW:
            low, middle, high = (float(value) for value in np.quantile(reach[inside], (0.25, 0.5, 0.75)))
            place = float(np.median(followers[inside]))
            rows.append((place, edge, upper - 1, low, middle, high, int(inside.sum())))
        edge = upper
    return rows


def tree_charts(run: RunRecord, people: Audience | None, causes: Mapping[int, str] = NO_CAUSES) -> list[Chart]:
    """Return the largest cascades of a run, each drawn as a tree over time.

    `causes`: `{original: the HTML id of the part with the causes of its cascade}`.
    """
    largest = [run.course.posts.tree(post.post) for post, _ in run.course.posts.largest(DRAWN)]
    return [_tree(run, posts, people, place, causes.get(posts[0].post)) for place, posts in enumerate(largest)]


def _tree(run: RunRecord, posts: Sequence[MadePost], people: Audience | None, place: int, causes: str | None) -> Chart:
    """Return one cascade: time to the right, each post joined to the one that it answers or reshares."""
    at = {post.post: index for index, post in enumerate(posts)}
    parents = tuple(-1 if post.parent is None else at[post.parent] for post in posts)
    as_tree = Tree(parents, tuple(float(post.tick - posts[0].tick) for post in posts))
    shape = shape_of(as_tree)
    likes = sum(run.course.likes[post.post] for post in posts)
    reading = (
        f"By {name_of(people, posts[0].author)}, {when(run, posts[0].tick)}: {plural(len(posts), 'post')} with the "
        f"original, depth {shape.depth}, structural virality {shape.virality:.2f}, {plural(likes, 'like')}."
        + (f" The first {NODES_MAX} posts are drawn." if len(posts) > NODES_MAX else "")
    )
    rows = [
        (
            str(post.post),
            "original" if post.parent is None else post.kind,
            name_of(people, post.author),
            count(post.tick),
            "" if post.parent is None else str(post.parent),
            count(run.course.likes[post.post]),
        )
        for post in posts
    ]
    table = Table(("post", "kind", "author", "tick", "answers or reshares", "likes"), rows, frozenset({0, 1, 2}))
    key = (("●", BLUE, "original"), ("▲", VERMILION, "reshare"), ("■", GREEN, "reply"))
    ordinal = ("The largest cascade", "The second largest", "The third largest")[place]
    link = None if causes is None else tag("a", "What made it", href=f"#{causes}")
    drawn = _tree_picture(posts[:NODES_MAX], run.config.simulation.tick_seconds)
    return Chart(ordinal, drawn, reading if link is None else tag("span", f"{reading} ", link, "."), table, key=key)


def _tree_picture(posts: Sequence[MadePost], tick_seconds: float) -> Figure:
    size = 16 if len(posts) < 120 else 8
    marks = [Marks("▲", "^", VERMILION, size, {post.post for post in posts if post.kind == "reshare"})]
    marks += [Marks("■", "s", GREEN, size, {post.post for post in posts if post.kind == "reply"})]
    marks += [Marks("●", "o", BLUE, 46, {posts[0].post})]
    return tree_picture(posts, tick_seconds, marks)


class Marks(NamedTuple):
    """The marks of some posts of a tree."""

    sign: str
    marker: str
    color: str
    size: float  # its area in square points
    posts: Collection[int]


def tree_picture(posts: Sequence[MadePost], tick_seconds: float, marks: Sequence[Marks]) -> Figure:
    """Return a tree over time: each post is joined to the one that it answers or reshares.

    Args:
        posts: the posts of the tree, in the order in which they were made.
        marks: if a post has several, later ones are drawn over earlier ones.
    """
    at = {post.post: index for index, post in enumerate(posts)}
    edges = [(at[post.parent], at[post.post]) for post in posts if post.parent in at]
    igraph: Any = load_igraph()
    heights = np.array([x for x, _ in igraph.Graph(n=len(at), edges=edges).layout_reingold_tilford(root=[0])])
    size, unit = _time_unit((posts[-1].tick - posts[0].tick) * tick_seconds)
    times = np.array([(post.tick - posts[0].tick) * tick_seconds / size for post in posts])
    drawn = figure(WIDTH, 240)
    axes = drawn.subplots()
    for edge in edges:
        axes.plot(times[list(edge)], heights[list(edge)], color=LINE, linewidth=0.6, alpha=0.7)
    for place, each in enumerate(marks):
        kept = [at[post.post] for post in posts if post.post in each.posts]
        style: Any = {"s": each.size, "color": each.color, "marker": each.marker, "linewidths": 0, "zorder": 3 + place}
        axes.scatter(times[kept], heights[kept], **style)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.margins(x=0.03, y=0.06)
    plain_numbers(axes.xaxis)
    label(axes, f"{unit} after the original", grid="x")
    return drawn


def name_of(people: Audience | None, person: int) -> str:
    """Return a person's name with the number, or the number where names are not known."""
    if people is None or person >= len(people.followers):
        return f"person {person:,}"
    name = shown(" ".join(people.name(person).split()))
    return f"{name if len(name) <= NAME_CHARS else f'{name[:NAME_CHARS]}…'} (person {person:,})"


def when(run: RunRecord, tick: int) -> str:
    """Return the place of a tick in a run, in words: its tick, and its round."""
    return f"tick {tick:,} (round {tick // run.config.simulation.ticks_per_round + 1:,})"


def _time_unit(seconds: float) -> tuple[float, str]:
    for size, unit in ((86_400.0, "days"), (SECONDS_AN_HOUR, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return size, unit
    return 1.0, "seconds"
