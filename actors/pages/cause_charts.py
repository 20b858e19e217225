"""The causes of a run's outcomes on a page: effects beside chance, shares of groups, and a cascade's tree by effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote

from actors.pages.card import Chart, Table, chart_of
from actors.pages.cascade_charts import NODES_MAX
from actors.pages.html import Node, tag
from actors.pages.page_frame import grid, missing
from actors.pages.words import count, pages_number, plural, share, span
from actors.plots.cascades import Marks, cascade
from actors.plots.rows import Row, rows
from actors.plots.theme import LINE, TEXT
from actors.store.posts import MadePost, Posts
from actors.studies.causes.record import Cause, Causes, Kept
from actors.studies.causes.track import CASCADE
from actors.studies.causes.words import answered_words, chance_words, number, signed, tried_words
from prism.experiment.intervals import Interval
from prism.palette import BLUE, ORANGE, PURPLE, SKY, VERMILION

LEVELS: Final = (
    ("diamond", VERMILION, 44, 0.5, "half of it or more"),
    ("square", ORANGE, 30, 0.1, "a tenth or more"),
    ("circle", SKY, 22, 0.0, "less than a tenth"),
    ("triangle-down", PURPLE, 26, -1.0, "it would be larger without"),
)
"""The marks of posts by the share of the cascade that their cause has added: shape, colour, size in square pixels,
least share, words."""

IN_SUM = (
    "In sum: the effects of all candidates of a kind, each undone alone, added up. Of a sample that is an estimate "
    "(about), with its 95% interval in brackets. Effects overlap, so a sum may be more than the outcome."
)
"""The meaning of sums in the lines on what was tried."""


class Shown(NamedTuple):
    """A run whose causes are shown."""

    # all posts of the run, in the order in which they were made; may be empty if no outcome is a cascade
    posts: Posts
    ticks: int
    tick_seconds: float
    name: str = "cause"  # the beginning of HTML ids, different for each run of a page


def cause_parts(kept: Kept, run: Shown) -> list[Node]:
    """Return an element for each outcome whose causes a run keeps: words and pictures."""
    parts: list[Node] = [
        tag(
            "div",
            tag("h3", f"What made {found.of}", class_="sub"),
            *_parts(found, run, f"{run.name}-{place}"),
            id=anchor(found.of, run.name),
            class_="cause",
        )
        for place, found in enumerate(kept.found)
    ]
    return [*parts, *map(missing, kept.problems)]


def anchor(of: str, name: str = "cause") -> str:
    """Return the HTML id of the part that shows the causes of an outcome."""
    return f"{name}-of-{quote(of, safe='')}"


def _parts(found: Causes, run: Shown, name: str) -> Iterator[Node]:
    """Yield the summary, the charts and the notes of one outcome."""
    yield tag("p", _summary(found))
    if found.ticks != run.ticks:
        yield missing(f"It was worked out after {plural(found.ticks, 'tick')}; the run has {count(run.ticks)} now.")
    post = found.of.removeprefix(CASCADE)
    tree = run.posts.tree(int(post)) if post != found.of and post.isdecimal() else []
    charts = [_tree(found, tree, run.tick_seconds)] if len(tree) > 1 and _all(found) else []
    charts += [_effects(found)] if found.causes else []
    if charts:
        yield grid(charts, name)
    if any(each.tried for each in found.tried):
        yield tag("p", IN_SUM)
    tried = (tried_words(each, found.value) for each in found.tried)
    yield tag("ul", *(tag("li", text) for text in (*tried, *answered_words(found), *found.notes)))


def _summary(found: Causes) -> str:
    """Return the outcome and its largest cause in sentences."""
    head = f"It is {number(found.value)} after {plural(found.ticks, 'tick')}."
    if not found.causes:
        return f"{head} Nothing that was undone changes it." if found.tried else head
    first = found.causes[0]
    chance = f"; {chance_words(first)}" if first.other_draws is not None else ""
    return f"{head} The largest effect: {_called(first)}, {signed(first.effect)}{chance}."


def _called(cause: Cause) -> str:
    if cause.kind == "decisions":
        who = cause.what.removesuffix(f": {cause.was}, not {cause.would_be}")
        return f"the decision of {who} in tick {cause.tick:,}: {cause.was}, not {cause.would_be}"
    begin = {"people": "", "ties": "the tie: ", "posts": "the post of "}.get(cause.kind, f"{cause.kind}: ")
    return f"{begin}{cause.what}"


def _effects(found: Causes) -> Chart:
    """Return the largest effects, each beside its mean under other draws."""
    bars = [
        Row(f"{place}. {_called(each)}", *_ends(each.other_draws), TEXT, bar=each.effect)
        for place, each in enumerate(found.causes, start=1)
    ]
    is_drawn = any(each.other_draws is not None for each in found.causes)
    dots = " A dot is its mean effect under other draws, with a 95% interval; if that holds 0, it may be luck alone."
    table = Table(
        ("", "kind", "what", "tick", "effect", "without it", "under other draws", "95% interval"),
        [
            (str(place), each.kind, each.what, each.tick, _signed(each.effect), number(each.value), *_drawn(each))
            for place, each in enumerate((*found.causes, *found.smaller), start=1)
        ],
    )
    names = [("in the run", BLUE, "square"), *([("under other draws", TEXT, "circle")] if is_drawn else [])]
    reading = f"A bar is what a thing has added in this run.{dots if is_drawn else ''}"
    return chart_of(rows(bars, f"added to {found.of}", "The largest effects", reading, names=names), table)


def _ends(drawn: Interval | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if drawn is None else (drawn.mean, drawn.low, drawn.high)


def _drawn(cause: Cause) -> tuple[str, str]:
    drawn = cause.other_draws
    return ("", "") if drawn is None else (_signed(drawn.mean), span(drawn.low, drawn.high))


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{pages_number(value)}"


def _all(found: Causes) -> tuple[Cause, ...]:
    return *found.causes, *found.smaller


def _tree(found: Causes, posts: Sequence[MadePost], tick_seconds: float) -> Chart:
    """Return a cascade. The mark of a post shows the largest effect of the post, its author, decision or tie."""
    causes = _causes_of(posts, _all(found))
    levels: list[set[int]] = [set() for _ in LEVELS]
    for post, cause in causes.items():
        part = cause.effect / found.value if found.value else 0.0
        levels[next(at for at, (*_, least, _) in enumerate(LEVELS) if part >= least or at == len(LEVELS) - 1)].add(post)
    marks = [Marks("none known", "circle", LINE, 8, {post.post for post in posts} - causes.keys())]
    marks += [Marks(level[4], *level[:3], inside) for level, inside in zip(LEVELS, levels, strict=True)][::-1]
    rest = len(posts) - len(causes)
    cut = f" The first {NODES_MAX} posts are drawn." if len(posts) > NODES_MAX else ""
    reading = (
        f"Of {plural(len(posts), 'post')}, {count(len(causes))} ({share(len(causes), len(posts))}) have a known cause: "
        "the cascade changes without the post, its author, the decision for it, or the tie along which it came.  "
        f"The causes of the other {count(rest)} were not tried, or have no effect.{cut}"
    )
    cells = [
        (
            str(post.post),
            "original" if post.parent is None else post.kind,
            post.tick,
            _called(causes[post.post]),
            _signed(causes[post.post].effect),
        )
        for post in posts
        if post.post in causes
    ]
    table = Table(("post", "kind", "tick", "largest cause", "effect"), cells)
    return chart_of(cascade(posts[:NODES_MAX], tick_seconds, marks, "The cascade by effect", reading), table)


def _causes_of(posts: Sequence[MadePost], causes: Sequence[Cause]) -> dict[int, Cause]:
    """Return `{post: the one of its causes that has the largest effect}`; posts without a known cause are absent.

    A person is a cause of all posts that it made, a tie of the follower's posts about posts of the followed person, and
    a decision of the next post of the agent that decided. If a person and its post have the same effect, the post is
    the cause.
    """
    authors = {post.post: post.author for post in posts}
    found: dict[int, Cause] = {}
    for cause in sorted(causes, key=lambda each: (abs(each.effect), each.kind == "posts")):
        own = [post for post in posts if post.author == cause.agent and post.tick >= cause.tick]
        if cause.kind == "decisions":
            own = own[:1]
        elif cause.kind == "ties":
            own = [post for post in own if post.parent is not None and authors.get(post.parent) == cause.whom]
        elif cause.kind == "posts":
            own = [post for post in own if post.post == cause.post]
        elif cause.kind != "people":
            continue
        found |= {post.post: cause for post in own}
    return found
