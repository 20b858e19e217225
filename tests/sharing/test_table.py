"""The table of archetypes: how a budget limits new ones, when they are too old, and what a resume makes it from."""

from __future__ import annotations

import math
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
from prism.sharing.budget import OWNED, Budget, Price
from prism.sharing.fields import Fields
from prism.sharing.records import Opening
from prism.sharing.splits import MOST_VALUES, find_split
from prism.sharing.surrogate import FOLDS, Surrogate
from prism.sharing.table import Rules
from tests.tiers import Size

KNOWN: dict[str, tuple[Field, Any]] = {
    "post.likes": (Field(name="post.likes", kind="int", low=0.0, high=1e12), lambda _, post: post.likes)
}
DELIBERATION, TICKS, PEOPLE = 3, 60, 12
OPTIONS = ("scrolling", "composing")


Asked = tuple[int, int]
"""The tick and the agent of a question."""


def surrogates_of(table: SharingTable) -> list[Surrogate]:
    """Return the surrogates that are fitted."""
    groups = [group for _, group in sorted(table._groups.items(), key=lambda each: str(each[0]))]
    return [group.surrogate for group in groups if group.surrogate is not None]


def table_of(
    horizon: float = math.inf, budget: Budget | None = None, audit: float = 0.0, *, surrogate: bool = False
) -> SharingTable:
    """Return a table whose archetypes are the likes, each by itself."""
    archetypes = Archetypes([grouping("post.likes", "exact", KNOWN)], KNOWN)
    rules = Rules(seed=1, audit=audit, horizon=horizon, tolerance=1.0, deliberation=DELIBERATION, surrogate=surrogate)
    return SharingTable(archetypes, rules, budget=budget)


def placed(table: SharingTable, tick: int, agent: int, likes: int) -> Place:
    """Return the place of a question about a post with so many likes."""
    context: Any = SimpleNamespace(likes=likes)
    return table.place(object(), Question(tick, agent, "decides", "evaluating", OPTIONS, context))


def judgement(place: Place, tick: int, agent: int) -> Judged:
    """Return the judgement of a question, which depends on nothing but its name."""
    share = uniform(2, agent, tick, 0)
    shares, is_audit = (share, 1.0 - share), place.role is Role.AUDITED
    return Judged(
        tick,
        agent,
        "decides",
        shares,
        place.key,
        place.values,
        place.basis.probabilities if is_audit else (),
        chance=place.chance if is_audit else 1.0,
        is_whole=place.is_whole and not is_audit,
        opened=place.opened,
    )


def answered(table: SharingTable, place: Place, tick: int, agent: int) -> Judged:
    """Let a question have its judgement; return it. One of an earlier process is known to the table."""
    judged = judgement(place, tick, agent)
    if table.recorded(judged.name) is None:
        table.judged(judged, place.basis)
    if place.role is Role.OWNER:
        place.basis.probabilities = judged.probabilities
    return judged


@pytest.mark.parametrize("calls", [100, 330])
def test_new_archetypes_take_a_tenth_of_a_budget_also_in_one_tick(calls: int) -> None:
    budget = Budget(calls, Price(lambda _: 1.0, 1.0), ticks=100, deliberation=DELIBERATION)
    table = table_of(budget=budget)
    places = [placed(table, 0, agent, likes=agent) for agent in range(1000)]
    of_all = [place for place in places if place.role is Role.OWNER]
    assert len(of_all) == OWNED * calls + 1, "one more is asked for all that are left"
    assert [place.is_whole for place in of_all] == [False] * (len(of_all) - 1) + [True]
    assert {place.basis for place in places[len(of_all) :]} == {of_all[-1].basis}


def test_an_archetype_is_asked_again_at_its_horizon_whoever_asks_in_between() -> None:
    for asks_between in (False, True):
        table = table_of(horizon=10)
        answered(table, placed(table, 3, 0, likes=1), 3, 0)
        if asks_between:
            for tick in range(4, 13):
                assert placed(table, tick, 1, likes=1).role is Role.SHARED
        assert placed(table, 12, 2, likes=1).role is Role.SHARED
        assert placed(table, 13, 3, likes=1).role is Role.OWNER


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

    def state(self, begin: int) -> tuple[dict[int, int], list[Opening], int]:
        """Return what a checkpoint has of the table: nothing of questions that are open."""
        lost = [opening for opening in self.table.lost.values() if opening.asked < begin - DELIBERATION]
        questions = {tick: count for tick, count in self.table.questions.items() if tick < begin - DELIBERATION}
        return questions, lost, self.table.forgotten

    def resumed(self, table: SharingTable, begin: int, end: int) -> Desk:
        """Return a desk that goes on from this one at a tick, with a new table, until another tick."""
        again = Desk(table, self._fails)
        again.table.restore(*self.state(begin))
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
    if place.role is Role.OWNER:
        return place.role, place.is_whole
    return place.role, place.is_whole, place.basis.probabilities, place.chance


def made(calls: int | None, horizon: float, *, surrogate: bool = False) -> SharingTable:
    price = Price(lambda _: 1.0, 1.0)
    budget = None if calls is None else Budget(calls, price, ticks=TICKS, deliberation=DELIBERATION)
    return table_of(horizon, budget, audit=0.3, surrogate=surrogate)


def expect_same(again: Desk, whole: Desk, begin: int) -> None:
    """Expect that a resume at a tick leads to the places and archetypes of the run that went on."""
    for asked, place in again.places.items():
        if asked[0] < begin and whole.places[asked].role is Role.OWNER and whole.fails(asked):
            continue  # its fallback is recorded, so it does not matter what it would share
        assert shown(place) == shown(whole.places[asked]), (begin, asked)
    assert (again.table.leaves, again.table.splits) == (whole.table.leaves, whole.table.splits)


HORIZONS = pytest.mark.parametrize("horizon", [math.inf, 11], ids=["ever", "horizon"])
CALLS = pytest.mark.parametrize("calls", [None, 200], ids=["all", "budget"])
FAILS = pytest.mark.parametrize("fails", [0.0, 0.4, 0.9])


@pytest.mark.few(3)
@pytest.mark.everyday(2)
@HORIZONS
@CALLS
@FAILS
def test_the_table_of_a_resume_is_that_of_the_run_that_went_on(fails: float, calls: int | None, horizon: float) -> None:
    whole = Desk(made(calls, horizon), fails)
    whole.run(0, TICKS)
    roles = Counter(place.role for place in whole.places.values())
    assert min(roles[Role.OWNER], roles[Role.SHARED], roles[Role.AUDITED]) > 3 * (fails < 0.9)
    for begin in range(DELIBERATION + 1, TICKS, 3):
        first = Desk(made(calls, horizon), fails)
        first.run(0, begin)
        expect_same(first.resumed(made(calls, horizon), begin, TICKS), whole, begin)
        for further in range(begin + 1, TICKS, 19):
            second = first.resumed(made(calls, horizon), begin, further)
            expect_same(second.resumed(made(calls, horizon), further, TICKS), whole, further)


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.long
@HORIZONS
@CALLS
@FAILS
def test_the_table_of_two_resumes_with_a_surrogate_is_that_of_the_run_that_went_on(
    fails: float, calls: int | None, horizon: float, size: Size
) -> None:
    whole = Desk(made(calls, horizon, surrogate=True), fails)
    whole.run(0, TICKS)
    roles = Counter(place.role for place in whole.places.values())
    assert roles[Role.SURROGATE] >= 100 * (fails < 0.9)
    for begin in range(DELIBERATION + 1, TICKS - 8, size(11, everyday=25)):
        first = Desk(made(calls, horizon, surrogate=True), fails)
        first.run(0, begin)
        second = first.resumed(made(calls, horizon, surrogate=True), begin, begin + 8)
        expect_same(second.resumed(made(calls, horizon, surrogate=True), begin + 8, TICKS), whole, begin + 8)


@pytest.mark.everyday(2)
@pytest.mark.parametrize("surrogate", [False, True], ids=["archetypes", "surrogate"])
@CALLS
@pytest.mark.parametrize("fails", [0.4, 0.9])
def test_what_led_to_no_judgement_is_forgotten_with_its_archetype(
    fails: float, calls: int | None, surrogate: bool
) -> None:
    horizon = 11
    whole = Desk(made(calls, horizon, surrogate=surrogate), fails)
    whole.run(0, TICKS)
    assert all(opening.asked >= TICKS - horizon - DELIBERATION - 1 for opening in whole.table.lost.values())
    assert len(whole.table.lost) <= len(whole.places) / 30


def test_an_archetype_that_got_its_judgement_from_another_question_has_lost_none() -> None:
    whole = Desk(made(None, math.inf), fails=0.6)
    whole.run(0, TICKS)
    assert any(whole.fails(asked) for asked, place in whole.places.items() if place.role is Role.OWNER)
    assert not whole.table.lost


def test_a_split_looks_at_the_most_common_values_of_a_text() -> None:
    rare = [f"a{number:02}" for number in range(MOST_VALUES + 4)]
    records = []
    for number, value in enumerate(rare + ["zebra"] * 40 + ["zoo"] * 40):
        share = 0.9 if value == "zebra" else 0.2
        records.append(
            Judged(0, number, "decides", (share, 1.0 - share), ("s", "t", *OPTIONS), (value,), (0.5, 0.5), 0, 0.5)
        )
    found = find_split(records, Fields(("agent.animal",), ("agent.animal",), ()), 0.001)
    assert found is not None
    assert found.at == "zebra"


@pytest.mark.slow
def test_between_fits_of_a_surrogate_there_is_a_pause_in_which_it_may_be_left() -> None:
    whole, left = Desk(made(None, math.inf, surrogate=True), 0.0), Desk(made(None, math.inf, surrogate=True), 0.0)
    pauses = Counter[int]()
    for tick in range(TICKS):
        whole.run(tick, tick + 1)
        for pause, _ in enumerate(left.table.advancing(tick)):
            pauses[tick] += 1
            if pause == tick % FOLDS:  # as if the actor crashed there
                break
        left.run(tick, tick + 1)
    assert [shown(place) for place in left.places.values()] == [shown(place) for place in whole.places.values()]
    assert max(pauses.values()) > FOLDS // 2
    assert surrogates_of(left.table) == surrogates_of(whole.table) != []
