"""Causes on a page: whose posts are marked by whose effect, and what stands in the pictures and tables."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from actors.pages.card import as_svg
from actors.pages.cause_charts import (
    LEVELS,
    Shown,
    _causes_of,
    _tree,
    anchor,
    cause_parts,
)
from actors.pages.html import rendered
from actors.plots import render
from actors.store.posts import MadePost, Posts
from actors.studies.causes.record import Cause, Causes, Kept, Tried
from prism.events import MADE
from prism.experiment.intervals import Interval
from tests.hostile_texts import MARKUP

POSTS = [
    MadePost(1, 0, 7, "publish", None),
    MadePost(2, 1, 8, "publish", None),
    MadePost(3, 2, 9, "reshare", 1),
    MadePost(4, 3, 5, "reply", 3),
    MadePost(5, 4, 9, "reply", 1),
    MadePost(6, 5, 5, "reply", 2),
]
TREE = [POSTS[0], *POSTS[2:5]]
PLACES = {post.post: place for place, post in enumerate(POSTS)}
COLUMNS = Posts(
    ids=np.array([post.post for post in POSTS]),
    ticks=np.array([post.tick for post in POSTS]),
    authors=np.array([post.author for post in POSTS]),
    kinds=np.array([MADE.index(post.kind) for post in POSTS]),
    parents=np.array([-1 if post.parent is None else post.parent for post in POSTS]),
    above=np.array([-1 if post.parent is None else PLACES[post.parent] for post in POSTS]),
    roots=np.array([0, 1, 0, 0, 0, 1]),
    order=np.arange(len(POSTS)),
)


def cause(kind: str, agent: int, effect: float, tick: int = 0, whom: int | None = None) -> Cause:
    """Return a cause of a cascade of four posts."""
    is_decision = kind == "decisions"
    return Cause(
        kind=kind,
        what=f"P{agent} ({agent}){': reshares, not scrolls' if is_decision else ''}",
        tick=tick,
        agent=agent,
        whom=whom,
        was="reshares" if is_decision else "",
        would_be="scrolls" if is_decision else "",
        chance=1.0,
        value=4.0 - effect,
        effect=effect,
    )


FOUND = Causes(
    run="run",
    of="cascade:1",
    value=4.0,
    ticks=10,
    since=0,
    tried=(Tried(kind="people", candidates=10, tried=5, with_effect=2, total=3.0),),
    causes=(
        replace(cause("people", 7, 4.0), other_draws=Interval(mean=2.5, low=1.5, high=3.5, sd=1.0, count=6)),
        replace(
            cause("decisions", 9, 2.0, tick=1), other_draws=Interval(mean=0.5, low=-0.5, high=1.5, sd=1.0, count=6)
        ),
    ),
    smaller=(cause("people", 9, 0.25), cause("ties", 5, -1.0, whom=9)),
    futures=20,
    kept=3,
    computed=1,
)


def html(found: Causes, ticks: int = 10) -> str:
    parts = cause_parts(Kept(found=(found,), problems=("causes/x.json: cannot be read",)), Shown(COLUMNS, ticks, 60.0))
    return "".join(rendered(part, as_svg) for part in parts)


def test_each_post_has_the_largest_of_the_causes_that_made_it() -> None:
    found = _causes_of(TREE, [*FOUND.causes, *FOUND.smaller])
    made = {post: (one.kind, one.effect) for post, one in found.items()}
    # The decision led to the person's next post alone; the tie to what came along it.
    assert made == {1: ("people", 4.0), 3: ("decisions", 2.0), 4: ("ties", -1.0), 5: ("people", 0.25)}


def test_the_tree_marks_posts_by_the_share_of_their_cause_and_tells_it_in_a_table() -> None:
    chart = _tree(FOUND, TREE, 60.0)
    drawn = render(chart.drawn)
    named = [level for *_, level in LEVELS if level in drawn]
    assert named == ["half of it or more", "less than a tenth", "it would be larger without"]
    assert [(row[0], row[4]) for row in chart.table.rows] == [
        ("1", "+4.00"),
        ("3", "+2.00"),
        ("4", "\N{MINUS SIGN}1.00"),
        ("5", "+0.250"),
    ]
    assert "Of 4 posts, 4 (100%) have a known cause" in rendered(chart.reading)


def test_what_was_found_is_said_in_words_with_its_id_and_what_cannot_be_read() -> None:
    page = html(FOUND)
    assert f'id="{anchor("cascade:1")}"' in page
    assert "It is 4 after 10 ticks. The largest effect: P7 (7), +4; under 6 other draws +2.5 [+1.5, +3.5]." in page
    assert "people: 5 of 10 tried, 2 with an effect; in sum about +3" in page
    assert "In sum: the effects of all candidates of a kind, each undone alone, added up." in page
    assert "3 kept their recorded answers, 1 were never asked" in page
    assert "causes/x.json: cannot be read" in page
    assert "the run has" not in page
    assert "It was worked out after 10 ticks; the run has 20 now." in html(FOUND, ticks=20)


def test_nothing_with_an_effect_has_no_picture_and_names_are_text() -> None:
    page = html(replace(FOUND, causes=(), smaller=()))
    assert "Nothing that was undone changes it." in page
    assert "<svg" not in page
    text = "".join(MARKUP.values())
    page = html(replace(FOUND, of="likes", causes=(replace(FOUND.causes[0], what=text),), smaller=()))
    assert "<script" not in page
    assert "<img" not in page
