"""Charts of cascades: how many grow how large, and one as a tree over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import numpy as np

from actors.plots.lines import Course, curves
from actors.plots.theme import LINE, axis, columns, data, fitted, floats, key, themed
from prism.columns import Floats
from prism.imports import load_igraph
from prism.palette import BLUE, GREEN, VERMILION
from prism.scorecard.cascades import Shapes, shapes_in

POINTS_MAX: Final = 150
UNITS: Final = ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
SIZE: Final = "posts in a cascade, with the original"
DEPTH: Final = "steps from the original to the farthest post"
VIRALITY: Final = "mean steps between two posts"
SHARE: Final = "% of cascades that have at least so much"


def cascades(posts: Any) -> Shapes:
    """Return size, depth and structural virality of each cascade in a table, such as `result.table("posts")`."""
    ids = "_id" if "post_id" in posts.columns else ""  # two people may have the same name
    own, parents = (list(posts[f"{name}{ids}"]) for name in ("post", "parent"))
    places = {post: place for place, post in enumerate(own)}
    above = np.array([places.get(parent, -1) for parent in parents], np.int64)
    return shapes_in(above, np.zeros(len(above)))


def cascade_sizes(
    values: Mapping[str, Any], title: str = "Sizes of cascades", caption: str = f"{SHARE}.", **more: Any
) -> Any:
    """Return the share of cascades that have at least so many posts: `cascade_sizes({"hot": hot.table("posts")})`."""
    return tails(_measured(values, "size"), title, caption, x=SIZE, y=SHARE, log="xy", **more)


def cascade_depths(
    values: Mapping[str, Any], title: str = "Depths of cascades", caption: str = f"{SHARE}.", **more: Any
) -> Any:
    """Return the share of cascades with a reaction that are at least so deep."""
    return tails(_measured(values, "depth"), title, caption, x=DEPTH, y=SHARE, log="y", least=1.0, **more)


def cascade_virality(
    values: Mapping[str, Any], title: str = "Structural virality", caption: str = f"{SHARE}.", **more: Any
) -> Any:
    """Return the share of cascades with a reaction that are at least so viral (Goel et al. 2016)."""
    return tails(_measured(values, "virality"), title, caption, x=VIRALITY, y=SHARE, log="y", **more)


def _measured(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a measure of cascades, of tables of posts; only those with a reaction have a depth and a virality."""
    shapes = {series: cascades(values) for series, values in given.items() if hasattr(values, "columns")}
    return {**given, **{series: of_shapes(each, name) for series, each in shapes.items()}}


def of_shapes(shapes: Shapes, name: str) -> Any:
    """Return the sizes, depths or viralities of cascades; only those with a reaction have a depth and a virality."""
    return getattr(shapes if name == "size" else shapes.where(shapes.size > 1), name)


def tails(
    values: Mapping[str, Any], title: str, caption: str, *, least: float = 0.0, points: int = POINTS_MAX, **more: Any
) -> Any:
    """Return for each series the share of its values that are as large or larger, as a falling curve in percent."""
    found = {}
    for series, each in values.items():
        if len(each):
            x, share = tail(np.sort(floats(each)), points)
            kept = x >= max(least, 1e-9)
            found[series] = Course(x[kept], share[kept], share[kept], share[kept], share[kept][None])
    return curves(found, title, caption, step=True, **more)


def tail(values: Floats, points: int = POINTS_MAX) -> tuple[Floats, Floats]:
    """Return ascending values once each, thinned out, and the percentage of all that is as large or larger."""
    unique, first = np.unique(values, return_index=True)
    share = 100.0 * (1.0 - first / len(values))
    if len(unique) > points:
        kept = np.unique(np.geomspace(1, len(unique), points).astype(int)) - 1
        kept = np.union1d(kept, len(unique) - 1 - kept)
        unique, share = unique[kept], share[kept]
    return unique.astype(np.float64), share


def cascade(posts: Sequence[Any], tick_seconds: float, title: str, caption: str) -> Any:
    """Return a cascade as a tree over time. `posts`: with `post`, `tick`, `parent` and `kind`, as they were made."""
    at = {post.post: index for index, post in enumerate(posts)}
    edges = [(at[post.parent], at[post.post]) for post in posts if post.parent in at]
    igraph: Any = load_igraph()
    heights = floats([x for x, _ in igraph.Graph(n=len(at), edges=edges).layout_reingold_tilford(root=[0])])
    seconds = floats([(post.tick - posts[0].tick) * tick_seconds for post in posts])
    size, unit = next((each for each in UNITS if seconds[-1] >= 2 * each[0]), UNITS[-1])
    times = seconds / size
    x = alt.X("x:Q", axis=axis(f"{unit} after the original", grid=True), scale=alt.Scale(nice=False, padding=10))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(nice=False, zero=False, padding=8))
    ends = floats(edges).astype(int).reshape(-1, 2)
    lines = columns(x=times[ends[:, 0]], y=heights[ends[:, 0]], x2=times[ends[:, 1]], y2=heights[ends[:, 1]])
    rule = alt.Chart(data(lines)).mark_rule(color=LINE, strokeWidth=0.6, strokeOpacity=0.7)
    layers, legend, small = (
        [rule.encode(x=x, y=y, x2="x2:Q", y2="y2:Q")],
        list[tuple[str, str, str]](),
        16 if len(posts) < 120 else 8,
    )
    for name, shape, color, area in (
        ("reshare", "triangle-up", VERMILION, small),
        ("reply", "square", GREEN, small),
        ("original", "circle", BLUE, 46),
    ):
        kept = [place for place, post in enumerate(posts) if (post.kind if place else "original") == name]
        of = [f"{posts[place].kind} {posts[place].post}" for place in kept]
        dots = alt.Chart(data(columns(x=times[kept], y=heights[kept], of=of)))
        if kept:
            drawn = dots.mark_point(filled=True, shape=shape, color=color, size=area, opacity=1)
            layers.append(drawn.encode(x=x, y=y, detail="of:N"))
            legend.insert(0, (name, color, shape))
    whole = alt.layer(*layers, key(legend)).resolve_scale(color="independent", shape="independent")
    return themed(fitted(whole, 240 + 18 * len(legend)), title, caption)
