"""The table of archetypes: what a resume makes it from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest

from prism.agents import Question
from prism.expressions import Field
from prism.rng import uniform
from prism.sharing import Archetypes, Judged, Place, Role, SharingTable, grouping
from prism.sharing.table import Rules

KNOWN: dict[str, tuple[Field, Any]] = {
    "post.likes": (Field(name="post.likes", kind="int", low=0.0, high=1e12), lambda _, post: post.likes)
}
DELIBERATION, TICKS, PEOPLE = 3, 60, 12
OPTIONS = ("scrolling", "composing")


Asked = tuple[int, int]
"""The tick and the agent of a question."""


def table_of(audit: float = 0.3) -> SharingTable:
    """Return a table whose archetypes are the likes, each by itself."""
    archetypes = Archetypes([grouping("post.likes", "exact", KNOWN)], KNOWN)
    return SharingTable(archetypes, Rules(seed=1, audit=audit, deliberation=DELIBERATION))


def placed(table: SharingTable, tick: int, agent: int, likes: int) -> Place:
    """Return the place of a question about a post with so many likes."""
    context: Any = SimpleNamespace(likes=likes)
    return table.place(object(), Question(tick, agent, "decides", "evaluating", OPTIONS, context))


def judgement(place: Place, tick: int, agent: int) -> Judged:
    """Return the judgement of a question, which depends on nothing but its name."""
    share = uniform(2, agent, tick, 0)
    is_audit = place.role is Role.AUDITED
    return Judged(
        tick,
        agent,
        "decides",
        (share, 1.0 - share),
        place.basis.key,
        place.values,
        place.basis.probabilities if is_audit else (),
    )


def answered(table: SharingTable, place: Place, tick: int, agent: int) -> Judged:
    """Let a question have its judgement; return it. One of an earlier process is known to the table."""
    judged = judgement(place, tick, agent)
    if table.recorded(judged.name) is None:
        table.judged(judged)
    if place.role is Role.OWNER:
        place.basis.probabilities = judged.probabilities
    return judged


class Desk:
    """The oracle's part of a run: it places questions, and lets answers come up to the deliberation later, or fail.

    Args:
        table: the table.
        fails: the share of questions that get no judgement.
    """

    def __init__(self, table: SharingTable, fails: float) -> None:
        self.table = table
        self.log: dict[Asked, Judged] = {}
        """`{question: its judgement}`, as the oracle's log has them."""
        self.places: dict[Asked, Place] = {}
        """`{(tick, agent): its place}`, in the order of questions."""
        self._fails = fails
        self._followers: dict[Any, list[Asked]] = {}

    def run(self, begin: int, end: int, again: Sequence[Asked] = ()) -> None:
        """Place the questions of these ticks, after those that an earlier process had open."""
        arriving: dict[int, list[Asked]] = {}
        for asked in again:
            self._ask(asked, begin, arriving)
        for tick in range(begin, end):
            for asked in arriving.pop(tick, []):
                self._settle(asked)
            for agent in range(PEOPLE):
                if uniform(5, agent, tick, 0) < 0.7:
                    self._ask((tick, agent), tick, arriving)
        for asked in chain.from_iterable(arriving.values()):
            self._settle(asked)

    def resumed(self, table: SharingTable, begin: int, end: int) -> Desk:
        """Return a desk that goes on from this one at a tick, with a new table, until another tick."""
        again = Desk(table, self._fails)
        again.table.load(self.log.values(), begin)
        again.log = dict(self.log)
        again.run(begin, end, sorted(asked for asked in self.places if asked[0] >= begin - DELIBERATION))
        return again

    def _ask(self, asked: Asked, now: int, arriving: dict[int, list[Asked]]) -> None:
        tick, agent = asked
        place = self.places[asked] = placed(self.table, tick, agent, int(9 * uniform(4, agent, tick, 0) ** 2))
        comes = tick + int((DELIBERATION + 1) * uniform(6, agent, tick, 0))
        if place.role is not Role.OWNER and not place.basis.probabilities:
            self._followers.setdefault(place.basis, []).append(asked)
        elif comes < now:
            self._settle(asked)
        else:
            arriving.setdefault(max(now + 1, comes), []).append(asked)

    def fails(self, asked: Asked) -> bool:
        """Return whether a question gets no judgement."""
        return uniform(3, asked[1], asked[0], 0) < self._fails

    def _settle(self, asked: Asked) -> None:
        (tick, agent), place = asked, self.places[asked]
        if place.role not in {Role.OWNER, Role.AUDITED}:
            return
        if not self.fails(asked):
            self.log[asked] = answered(self.table, place, tick, agent)
            for follower in self._followers.pop(place.basis, []):
                self._settle(follower)
        elif place.role is Role.OWNER:
            followers = self._followers.pop(place.basis, [])
            if not followers:
                self.table.promote(place.basis, None)
                return
            (next_tick, next_agent), *others = followers
            self.table.promote(place.basis, (next_agent, next_tick, "decides"))
            self.places[followers[0]] = self.places[followers[0]]._replace(role=Role.OWNER)
            self._followers[place.basis] = others
            self._settle(followers[0])


def shown(place: Place) -> tuple[object, ...]:
    """Return what becomes of a question. Whoever is asked for all decides by its own answer, and has no draw."""
    return (place.role,) if place.role is Role.OWNER else (place.role, place.basis.probabilities)


def expect_same(again: Desk, whole: Desk, begin: int) -> None:
    """Expect that a resume at a tick leads to the places and archetypes of the run that went on."""
    for asked, place in again.places.items():
        if asked[0] < begin and whole.places[asked].role is Role.OWNER and whole.fails(asked):
            continue  # its fallback is recorded, so it does not matter what it would share
        assert shown(place) == shown(whole.places[asked]), (begin, asked)
    assert again.table.known == whole.table.known


@pytest.mark.parametrize("fails", [0.0, 0.9])
def test_the_table_of_a_resume_is_that_of_the_run_that_went_on(fails: float) -> None:
    whole = Desk(table_of(), fails)
    whole.run(0, TICKS)
    roles = Counter(place.role for place in whole.places.values())
    assert min(roles[Role.OWNER], roles[Role.SHARED], roles[Role.AUDITED]) > 3 * (fails < 0.9)
    for begin in range(DELIBERATION + 1, TICKS, 5):
        first = Desk(table_of(), fails)
        first.run(0, begin)
        expect_same(first.resumed(table_of(), begin, TICKS), whole, begin)
        for further in range(begin + 1, TICKS, 23):
            second = first.resumed(table_of(), begin, further)
            expect_same(second.resumed(table_of(), further, TICKS), whole, further)
