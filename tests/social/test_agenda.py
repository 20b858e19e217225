from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from prism.social.agenda import NEVER, Agenda

PLANS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), max_size=30)


def test_nothing_is_due_at_first() -> None:
    agenda = Agenda(3)
    assert agenda.ticks.tolist() == [NEVER] * 3
    assert agenda.take(0).tolist() == []


def test_an_agent_is_due_at_its_tick_and_by_its_name() -> None:
    agenda = Agenda(3)
    agenda.put(1, 5, "timeout")
    assert (agenda.ticks[1], agenda.name(1)) == (5, "timeout")
    assert [agenda.take(tick).tolist() for tick in (4, 5, 6)] == [[], [1], []]


def test_agents_are_due_in_the_order_of_their_numbers() -> None:
    agenda = Agenda(10)
    for agent in (7, 2, 9, 0):
        agenda.put(agent, 3, "t")
    assert agenda.take(3).tolist() == [0, 2, 7, 9]


def test_whoever_was_taken_has_nothing_due() -> None:
    agenda = Agenda(2)
    agenda.put(1, 3, "t")
    agenda.take(3).tolist()
    assert agenda.ticks[1] == NEVER
    assert agenda.take(3).tolist() == []


def test_a_later_plan_replaces_an_earlier_one() -> None:
    agenda = Agenda(2)
    agenda.put(1, 3, "first")
    agenda.put(1, 5, "second")
    assert [agenda.take(tick).tolist() for tick in (3, 5)] == [[], [1]]
    assert agenda.name(1) == "second"


def test_an_earlier_plan_replaces_a_later_one() -> None:
    agenda = Agenda(2)
    agenda.put(1, 5, "first")
    agenda.put(1, 3, "second")
    assert [agenda.take(tick).tolist() for tick in (3, 5)] == [[1], []]


def test_a_plan_made_twice_is_due_once() -> None:
    agenda = Agenda(2)
    agenda.put(1, 3, "t")
    agenda.put(1, 4, "t")
    agenda.put(1, 3, "again")
    assert [agenda.take(tick).tolist() for tick in (3, 4)] == [[1], []]
    assert agenda.name(1) == "again"


def test_a_cleared_agent_has_nothing_due() -> None:
    agenda = Agenda(2)
    agenda.put(1, 3, "t")
    agenda.clear(1)
    assert agenda.take(3).tolist() == []


def test_an_agent_can_be_planned_again_in_the_tick_it_was_due() -> None:
    agenda = Agenda(2)
    agenda.put(1, 3, "t")
    agenda.take(3).tolist()
    agenda.put(1, 4, "u")
    assert agenda.take(4).tolist() == [1]


@given(PLANS)
def test_everybody_is_due_exactly_once_at_their_last_plan(plans: list[tuple[int, int]]) -> None:
    agenda = Agenda(6)
    for agent, tick in plans:
        agenda.put(agent, tick, f"at {tick}")
    last = dict(plans)
    assert [agenda.take(tick).tolist() for tick in range(7)] == [
        sorted(agent for agent, planned in last.items() if planned == tick) for tick in range(7)
    ]
