"""Charts of cascades: their sizes and shapes beside real ones, and the largest cascades."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from actors.pages.card import Chart, Table, chart_of
from actors.pages.groups import group_name
from actors.pages.html import tag
from actors.pages.words import count, listed, plural, share
from actors.pages.words import pages_number as digits
from actors.plots.cascades import (
    cascade,
    cascade_depths,
    cascade_sizes,
    cascade_virality,
    of_shapes,
)
from actors.plots.theme import TEXT, color_of
from actors.results.run_record import RunGroup, RunRecord
from actors.store.posts import MadePost
from prism.config import Config
from prism.quoting import visible
from prism.scorecard import Feed, Shapes, shapes_in, together
from prism.social.people.population import Population

REAL: Final = "real cascades"
FEW: Final = 5
"""The fewest cascades of a curve."""
ORDINALS: Final = ("The largest cascade", "The second largest", "The third largest")
DRAWN: Final = len(ORDINALS)
NODES_MAX: Final = 400
"""The most posts of a tree that is drawn."""
NAME_CHARS: Final = 24
NO_CAUSES: Final[Mapping[int, str]] = MappingProxyType({})
_SHAPES: Final[Mapping[str, tuple[str, Any]]] = {
    "size": ("Sizes of cascades", cascade_sizes),
    "depth": ("Depths of cascades", cascade_depths),
    "virality": ("Structural virality", cascade_virality),
}


def shape_charts(groups: Sequence[RunGroup], feeds: Sequence[Sequence[Feed]], real: Shapes | None) -> list[Chart]:
    """Return the distributions of sizes, depths and virality, beside real ones if there are any."""
    kept, note = [together(feed.shapes for feed in group) for group in feeds], _young_note(groups, feeds)
    if real is not None:
        least = int(real.size.min())
        comparable = [shapes.where(shapes.size >= least) for shapes in kept]
        is_cut = least > 1 and all(len(shapes.size) >= FEW for shapes in comparable)
        kept = comparable if is_cut else kept
        note += _real_note(least, len(real.size), kept if is_cut else None)
    return [
        _shape(groups, kept, real, name, note)
        for name in _SHAPES
        if any(len(of_shapes(shapes, name)) for shapes in kept)
    ]


def _young_note(groups: Sequence[RunGroup], feeds: Sequence[Sequence[Feed]]) -> str:
    """Return a sentence on the originals that are left out: the shares are not those of all originals."""
    young = [sum(feed.left_out for feed in group) for group in feeds]
    if not any(young):
        return ""
    told = [plural(number, "original") for number in young]
    if len(groups) > 1:
        told = [f"{each} ({group_name(group)})" for each, group in zip(told, groups, strict=True)]
    return f" Left out: {listed(told)} of the last rounds, which may still grow."


def _real_note(least: int, count_real: int, kept: Sequence[Shapes] | None) -> str:
    if kept is None:
        return f" The {plural(count_real, 'real cascade')} have {least} posts and more; the run's have any size."
    ours = plural(sum(len(shapes.size) for shapes in kept), "simulated cascade")
    return f" Only cascades of {least} posts and more: {ours} and {plural(count_real, 'real one')}."


def _shape(groups: Sequence[RunGroup], found: Sequence[Shapes], real: Shapes | None, name: str, note: str) -> Chart:
    """Return for each size, depth or virality the share of cascades that reach it."""
    title, draw = _SHAPES[name]
    series = {group_name(group): of_shapes(shapes, name) for group, shapes in zip(groups, found, strict=True)}
    colors = [color_of(place) for place in range(len(series))]
    labels = [group.label or group_name(group) for group in groups]
    if real is not None:
        series[REAL] = of_shapes(real, name)
        colors, labels = [*colors, TEXT], [*labels, REAL]
    rows = []
    for who, values in zip(labels, series.values(), strict=True):
        if len(values):
            marks = [float(np.quantile(values, part)) for part in (0.5, 0.9, 0.99)]
            shown_as = digits if name == "virality" else count
            rows.append((who, count(len(values)), *map(shown_as, marks), shown_as(float(max(values)))))
    table = Table(("cascades of", "cascades", "median", "p90", "p99", "largest"), rows)
    reading = f"{_reading(name, rows[0], found[0])}{f' ({rows[0][0]})' if len(groups) > 1 else ''}.{note}"
    return chart_of(draw(series, title, reading, colors=colors), table)


def _several(number: str, noun: str) -> str:
    return f"{number} {noun}{'' if number == '1' else 's'}"


def _reading(name: str, row: Sequence[str], shapes: Shapes) -> str:
    """Return a sentence about a distribution, without its full stop."""
    if name == "size":
        alone = int((shapes.size == 1).sum())
        single = f"{share(alone, len(shapes.size))} of the originals stayed alone; " if alone else ""
        return f"{single}{'one' if alone else 'One'} cascade in a hundred has {_several(row[4], 'post')} or more"
    if name == "depth":
        steps = _several(row[3], "step")
        return f"Of the cascades that have a reaction, one in ten is {steps} deep or more, the deepest {row[5]}"
    return (
        f"Half of the cascades that have a reaction have a virality of {row[2]} or more; 2 is a large star, and "
        "more is a chain"
    )


def tree_charts(run: RunRecord, causes: Mapping[int, str] = NO_CAUSES) -> list[Chart]:
    """Return the largest cascades of a run, each drawn as a tree over time.

    `causes`: `{original: the HTML id of the part with the causes of its cascade}`.
    """
    largest = [run.course.posts.tree(post.post) for post, _ in run.course.posts.largest(DRAWN)]
    called, likes = partial(name_of, run.people), run.course.likes
    return [
        tree_chart(posts, run.config, title, called, likes, causes.get(posts[0].post))
        for title, posts in zip(ORDINALS, largest, strict=False)
    ]


def tree_chart(
    posts: Sequence[MadePost],
    config: Config,
    title: str,
    called: Callable[[int], str],
    likes: Mapping[int, int] | None = None,
    causes: str | None = None,
) -> Chart:
    """Return one cascade: time to the right, each post joined to the one that it answers or reshares.

    Args:
        called: returns what a person is called.
        likes: of each post; None if they are not shown.
        causes: the HTML id of the part with its causes; None without one.
    """
    at = {post.post: index for index, post in enumerate(posts)}
    above = np.array([-1 if post.parent is None else at[post.parent] for post in posts])
    shape, first = shapes_in(above, np.zeros(len(posts))), posts[0]
    liked = "" if likes is None else f", {plural(sum(likes[post.post] for post in posts), 'like')}"
    reading = (
        f"By {called(first.author)}, tick {first.tick:,} (round {first.tick // config.simulation.ticks_per_round + 1:,}"
        f"): {plural(len(posts), 'post')} with the original, depth {shape.depth[0]}, structural virality "
        f"{shape.virality[0]:.2f}{liked}."
        + (f" The first {NODES_MAX} posts are drawn." if len(posts) > NODES_MAX else "")
    )
    rows = [
        (
            str(post.post),
            "original" if post.parent is None else post.kind,
            called(post.author),
            post.tick,
            "" if post.parent is None else str(post.parent),
            *(() if likes is None else (likes[post.post],)),
        )
        for post in posts
    ]
    columns = ("post", "kind", "author", "tick", "answers or reshares", *(() if likes is None else ("likes",)))
    drawn = cascade(posts[:NODES_MAX], config.simulation.tick_seconds, title, reading)
    link = None if causes is None else tag("a", "What made it", href=f"#{causes}")
    return chart_of(drawn, Table(columns, rows), link)


def name_of(people: Population | str | None, person: int) -> str:
    """Return a person's name with the number, or the number where names are not known."""
    if people is None or isinstance(people, str) or person >= people.graph.size:
        return f"person {person:,}"
    name = visible(" ".join(people.name(person).split()))
    return f"{name if len(name) <= NAME_CHARS else f'{name[:NAME_CHARS]}…'} (person {person:,})"
