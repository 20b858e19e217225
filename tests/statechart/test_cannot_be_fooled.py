"""Guards and actions that do what they must not: the agent stays where it was, and the error says why."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from prism.errors import StatechartError
from prism.statechart import AgentState, Statechart, Transition
from tests.catalogue import catalogue
from tests.statechart.charts import (
    COMPOSING,
    EVALUATING,
    IDLE,
    LIKE,
    RESTING,
    SCROLLING,
    Person,
    chart_of,
    decides,
    says,
)

Move = Callable[[Any], object]
SCHOOL = Transition("school", EVALUATING, RESTING, label="school")
MOVES: dict[str, Move] = {
    "fires": lambda agent: CHART.fire(agent, "ignores"),
    "fires with an action": lambda agent: CHART.fire(agent, "acts"),
    "fires what has no row": lambda agent: CHART.fire(agent, "nothing"),
    "fires itself": lambda agent: CHART.fire(agent, "decides"),
    "commits": lambda agent: CHART.commit(agent, SCHOOL, 12),
    "enters": lambda agent: agent.enter(IDLE, "by hand", 12),
    "sets the state": lambda agent: setattr(agent, "state", IDLE),
    "sets the tick": lambda agent: setattr(agent, "tick", 99),
    "sets the ticks in state": lambda agent: setattr(agent, "ticks_in_state", 0),
    "forgets its history": lambda agent: setattr(agent, "max_history_depth", 0),
}
CHART: Statechart[AgentState] = chart_of(
    SCHOOL,
    Transition("ignores", EVALUATING, IDLE),
    Transition("acts", EVALUATING, IDLE, action=lambda *_: None),
    decides(COMPOSING),
)


def standing(agent: Person) -> tuple[object, ...]:
    return agent.state, agent.tick, agent.entered, [*agent.state_history], agent.running


def somebody() -> Person:
    agent = Person(SCROLLING, tick=3)
    agent.enter(EVALUATING, "sees_post", 5, {"post_id": 1})
    agent.tick = 9
    return agent


def run_fire(chart: Statechart[AgentState], agent: Person) -> object:
    return chart.fire(agent, "decides", tick=11)


def run_commit(chart: Statechart[AgentState], agent: Person) -> object:
    return chart.commit(agent, chart.transitions[0], 11)


RUNS = pytest.mark.parametrize("run", [run_fire, run_commit])


def by_hand(move: Move) -> Callable[[Any, Any], Any]:
    return lambda agent, _: move(agent)


EVERY_MOVE = pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)


@EVERY_MOVE
@RUNS
def test_an_action_that_moves_its_agent_is_refused_and_the_agent_stays(run: Any, move: Move) -> None:
    chart = chart_of(Transition("decides", EVALUATING, COMPOSING, action=by_hand(move), label="the row"))
    agent = somebody()
    before = standing(agent)
    with pytest.raises(StatechartError, match=r"^the row: its guard or action must not (move|fire|run) ") as caught:
        run(chart, agent)
    assert standing(agent) == before
    assert "\n" not in str(caught.value)


@EVERY_MOVE
def test_a_guard_that_moves_its_agent_is_an_error_of_the_guard(move: Move) -> None:
    chart = chart_of(decides(COMPOSING, lambda agent, _: (move(agent), True)[1], label="the row"), decides(SCROLLING))
    agent = somebody()
    before = standing(agent)
    assert chart.candidates(agent, "decides") == (chart.transitions[1],)
    assert chart.select(agent, "decides") is chart.transitions[1]
    assert standing(agent) == before
    assert [(seen.row.name, seen.count) for seen in chart.guard_errors] == [("the row", 2)]
    assert chart.guard_errors[0].first.startswith("StatechartError: the row: its guard or action must not ")
    assert chart.fire(agent, "decides") is SCROLLING


def slips(agent: Any, _: Any) -> bool:
    """Move the agent by its innards, as no program should."""
    agent._state = IDLE
    return True


def test_an_action_that_moves_the_agent_behind_the_charts_back_is_an_error() -> None:
    row = Transition("decides", EVALUATING, COMPOSING, action=by_hand(lambda agent: slips(agent, None)))
    with pytest.raises(StatechartError, match=r"the action moved the agent to .*; only the row may move it$"):
        chart_of(row).fire(Person(), "decides")


@RUNS
def test_an_action_that_raises_leaves_all_as_it_was_and_the_agent_can_go_on(run: Any) -> None:
    moods = iter([OSError("disk full"), None])

    def fails_once(_agent: Any, _context: Any) -> None:
        if (error := next(moods)) is not None:
            raise error

    chart = chart_of(Transition("decides", EVALUATING, COMPOSING, action=fails_once))
    agent = somebody()
    before = standing(agent)
    with pytest.raises(OSError, match=r"^disk full$"):
        run(chart, agent)
    assert standing(agent) == before
    assert run(chart, agent)
    assert agent.state is COMPOSING


def test_a_guard_may_ask_about_its_own_agent_and_fire_another() -> None:
    other = Person()
    rest = chart_of(Transition("ignores", EVALUATING, RESTING))

    def looks(agent: Any, _: Any) -> bool:
        return rest.candidates(agent, "ignores") != () and rest.fire(other, "ignores") is RESTING

    assert chart_of(decides(COMPOSING, looks)).fire(Person(), "decides") is COMPOSING
    assert other.state is RESTING


async def waits(*_: Any) -> bool:
    return True


async def streams(*_: Any) -> AsyncIterator[bool]:
    yield True


def yields(*_: Any) -> Iterator[bool]:
    yield True


class Waiter:
    async def __call__(self, *_: Any) -> bool:
        return True

    async def waits(self, *_: Any) -> bool:
        return True


@catalogue("field", ["guard", "action"])
@catalogue("function", [waits, streams, yields, Waiter(), Waiter().waits])
def test_guards_and_actions_are_plain_functions(field: str, function: Any) -> None:
    with pytest.raises(StatechartError) as caught:
        Transition("t", IDLE, SCROLLING, **{field: function})
    expected = f"idle --t--> scrolling: {field} must be a plain function, neither async nor a generator, got "
    assert str(caught.value).startswith(expected)


class Later:
    """What a plain function may return that calls an async one. It is true."""

    def __await__(self) -> Iterator[None]:
        yield


def test_work_that_a_plain_function_leaves_for_later_is_an_error() -> None:
    chart = chart_of(decides(COMPOSING, lambda *_: Later()), decides(SCROLLING))
    assert chart.fire(somebody(), "decides") is SCROLLING
    assert chart.guard_errors[0].first.startswith("StatechartError: the guard returned work for later, which nobody ")
    agent = somebody()
    acts: Any = lambda *_: Later()  # noqa: E731
    with pytest.raises(StatechartError, match=r": the action returned work for later, which nobody does; got "):
        chart_of(Transition("decides", EVALUATING, COMPOSING, action=acts)).fire(agent, "decides")
    assert agent.state is EVALUATING


def test_rows_next_to_each_other_with_the_same_guard_are_decided_by_one_call() -> None:
    calls: list[Any] = []

    def counts(_agent: Any, context: Any) -> Any:
        calls.append(context)
        return context

    rows = decides(COMPOSING, counts), decides(LIKE, counts), decides(SCROLLING, says(True)), decides(RESTING, counts)
    chart = chart_of(*rows)
    assert chart.candidates(Person(), "decides", "yes") == rows
    assert chart.candidates(Person(), "decides", "") == (rows[2],)
    assert calls == ["yes", "yes", "", ""]
    assert chart.fire(Person(), "decides", "") is SCROLLING
    assert len(calls) == 5


def test_only_states_of_the_chart_are_entered() -> None:
    small = Statechart({EVALUATING, SCROLLING}, [], SCROLLING)
    agent = somebody()
    before = standing(agent)
    with pytest.raises(StatechartError, match=r"^school: .* is not among the chart's states: evaluating, scrolling$"):
        small.commit(agent, SCHOOL, 12)
    assert standing(agent) == before
