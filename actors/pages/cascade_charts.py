"""Charts of cascades: their sizes and shapes beside real ones, and the largest cascades."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from actors.pages.page import Chart, Table, tag
from actors.pages.words import count, listed, share
from actors.pages.words import pages_number as digits
from actors.plots.cascades import cascade, cascade_depths, cascade_sizes, cascade_virality, of_shapes
from actors.plots.theme import TEXT, color_of
from actors.results.run_record import RunGroup, RunRecord
from actors.store.course import MadePost
from prism.config import Config
from prism.quoting import visible
from prism.scorecard.cascades import Shapes, shapes_in, together
from prism.scorecard.facts import Feed
from prism.social.people.population import Population
from prism.wording import counted

REAL: Final = "real cascades"
FEW: Final = 5
ORDINALS: Final = ("The largest cascade", "The second largest", "The third largest")
DRAWN: Final = len(ORDINALS)
NODES_MAX: Final = 400
NAME_CHARS: Final = 24
_SHAPES: Final[Mapping[str, tuple[str, Any]]] = {
    "size": ("Sizes of cascades", cascade_sizes),
    "depth": ("Depths of cascades", cascade_depths),
    "virality": ("Structural virality", cascade_virality),
}


def shape_charts(groups: Sequence[RunGroup], feeds: Sequence[Sequence[Feed]], real: Shapes | None) -> list[Chart]:
    """Return the distributions of sizes, depths and virality, beside real ones if there are any."""
    kept, note = [together(feed.shapes for feed in group) for group in feeds], ""
    # The originals that are left out: the shares are not those of all originals.
    young = [sum(feed.left_out for feed in group) for group in feeds]
    if any(young):
        told = [
            f"{counted(number, 'original')}{f' ({group.name})' if len(groups) > 1 else ''}"
            for number, group in zip(young, groups, strict=True)
        ]
        note = f" Left out: {listed(told)} of the last rounds, which may still grow."
    if real is not None:
        least, real_ones = int(real.size.min()), counted(len(real.size), "real cascade")
        comparable = [shapes.where(shapes.size >= least) for shapes in kept]
        if least > 1 and all(len(shapes.size) >= FEW for shapes in comparable):
            kept, ours = comparable, counted(sum(len(shapes.size) for shapes in comparable), "simulated cascade")
            note += f" Only cascades of {least} posts and more: {ours} and {real_ones}."
        else:
            note += f" The {real_ones} have {least} posts and more; the run's have any size."
    return [
        _shape(groups, kept, real, name, note)
        for name in _SHAPES
        if any(len(of_shapes(shapes, name)) for shapes in kept)
    ]


def _shape(groups: Sequence[RunGroup], found: Sequence[Shapes], real: Shapes | None, name: str, note: str) -> Chart:
    """Return for each size, depth or virality the share of cascades that reach it."""
    title, draw = _SHAPES[name]
    series = {group.name: of_shapes(shapes, name) for group, shapes in zip(groups, found, strict=True)}
    colors = [color_of(place) for place in range(len(series))]
    labels = [group.label or group.name for group in groups]
    if real is not None:
        series[REAL] = of_shapes(real, name)
        colors, labels = [*colors, TEXT], [*labels, REAL]
    rows, shown_as = [], digits if name == "virality" else count
    for who, values in zip(labels, series.values(), strict=True):
        if len(values):
            marks = [*map(float, np.quantile(values, (0.5, 0.9, 0.99))), float(max(values))]
            rows.append((who, count(len(values)), *map(shown_as, marks)))
    table = Table(("cascades of", "cascades", "median", "p90", "p99", "largest"), rows)
    _, _, median, p90, p99, largest = rows[0]
    if name == "size":
        alone = int((found[0].size == 1).sum())
        single = f"{share(alone, len(found[0].size))} of the originals stayed alone; " if alone else ""
        posts = f"{p99} post{'' if p99 == '1' else 's'}"
        reading = f"{single}{'one' if alone else 'One'} cascade in a hundred has {posts} or more"
    elif name == "depth":
        steps = f"{p90} step{'' if p90 == '1' else 's'}"
        reading = f"Of the cascades that have a reaction, one in ten is {steps} deep or more, the deepest {largest}"
    else:
        reading = (
            f"Half of the cascades that have a reaction have a virality of {median} or more; 2 is a large star, and "
            "more is a chain"
        )
    reading += f"{f' ({rows[0][0]})' if len(groups) > 1 else ''}.{note}"
    return Chart(draw(series, title, reading, colors=colors), table)


def tree_charts(run: RunRecord, causes: Mapping[int, str]) -> list[Chart]:
    """Return the largest cascades as trees. `causes`: `{original: the HTML id of the part with its causes}`."""
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

    `called`: returns what a person is called. `likes`: of each post, if shown. `causes`: the HTML id of their part.
    """
    at = {post.post: index for index, post in enumerate(posts)}
    above = np.array([-1 if post.parent is None else at[post.parent] for post in posts])
    shape, first = shapes_in(above, np.zeros(len(posts))), posts[0]
    liked = "" if likes is None else f", {counted(sum(likes[post.post] for post in posts), 'like')}"
    reading = (
        f"By {called(first.author)}, tick {first.tick:,} (round {first.tick // config.simulation.ticks_per_round + 1:,}"
        f"): {counted(len(posts), 'post')} with the original, depth {shape.depth[0]}, structural virality "
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
    return Chart(drawn, Table(columns, rows), link)


def name_of(people: Population | str | None, person: int) -> str:
    """Return a person's name with the number, or the number where names are not known."""
    if people is None or isinstance(people, str) or person >= people.graph.size:
        return f"person {person:,}"
    name = visible(" ".join(people.name(person).split()))
    return f"{name if len(name) <= NAME_CHARS else f'{name[:NAME_CHARS]}…'} (person {person:,})"
