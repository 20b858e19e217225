"""Laws that hold for every chart, tried on random ones."""

from collections.abc import Iterable

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from prism.statechart import AgentState, Choice, Statechart, Transition, most_passive
from prism.statechart.transitions import Guard
from tests.statechart.charts import Person, breaks, says

Row = Transition[AgentState]
Situation = tuple[Statechart[AgentState], AgentState, str]
"""A chart, the state of somebody in it, and a trigger."""
TRIGGERS = ("decides", "timeout")
GUARDS: list[Guard | None] = [None, says(True), says(False), breaks(), says("needs_oracle")]


def legal(rows: Iterable[Row]) -> list[Row]:
    """The rows without those after an else, and without those that leave the oracle nothing to choose from."""
    kept: list[Row] = []
    closed: set[tuple[AgentState, str]] = set()
    for row in rows:
        key = (row.source, row.trigger)
        if key not in closed:
            kept.append(row)
        if row.guard is None:
            closed.add(key)
    targeted = {(row.source, row.trigger) for row in kept if row.target is not None}
    return [row for row in kept if (row.source, row.trigger) in targeted]


@st.composite
def situations(draw: st.DrawFn, *, askable: bool = True) -> Situation:
    """A random chart over some of the states, the state of somebody in it, and a trigger."""
    states = draw(st.lists(st.sampled_from(AgentState), min_size=1, max_size=4, unique=True))
    targets: list[AgentState | None] = [*states, None] if askable else [*states]
    marks = [None, True, False] if askable else [False]
    row = st.builds(
        lambda trigger, source, target, guard, oracle: (trigger, source, target, guard, None, oracle),
        st.sampled_from(TRIGGERS),
        st.sampled_from(states[:2]),
        st.sampled_from(targets),
        st.sampled_from(GUARDS),
        st.sampled_from(marks),
    ).filter(lambda fields: fields[2] is not None or fields[5] is not False)
    rows = [Transition(*fields) for fields in draw(st.lists(row, max_size=10))]
    return (
        Statechart(states, legal(rows), states[0]),
        draw(st.sampled_from(states[:2])),
        draw(st.sampled_from(TRIGGERS)),
    )


@given(situations())
def test_candidates_are_rows_of_this_state_and_trigger_in_their_order_and_fire_takes_the_first(
    situation: Situation,
) -> None:
    chart, state, trigger = situation
    agent = Person(state)
    candidates = chart.candidates(agent, trigger)
    rows = [row for row in chart.transitions if (row.source, row.trigger) == (state, trigger)]
    places = [next(place for place, row in enumerate(rows) if row is found) for found in candidates]
    assert places == sorted(set(places))
    expected = candidates[0].target if candidates else None
    assert chart.fire(agent, trigger) == expected
    assert agent.state == (state if expected is None else expected)


@given(situations())
def test_the_first_option_is_what_fire_would_do_or_the_most_passive(situation: Situation) -> None:
    """Every option is a candidate, or what one without a target allows."""
    chart, state, trigger = situation
    selected = chart.select(Person(state), trigger)
    if not isinstance(selected, Choice):
        return
    candidates = chart.candidates(Person(state), trigger)
    allowed = list(candidates)
    for row in candidates:
        if row.target is None:
            allowed += [msgspec.structs.replace(row, target=to) for to in chart.valid_targets(state, trigger)]
    assert all(option in allowed for option in selected.options)
    assert None not in [option.target for option in selected.options]
    assert len(set(selected.targets)) == len(selected.options) > 0
    assert (selected.source, selected.trigger) == (state, trigger)
    fired = chart.fire(Person(state), trigger)
    assert selected.targets[0] == (most_passive(selected.targets) if fired is None else fired)


@given(situations(askable=False))
def test_a_chart_without_askable_rows_never_asks(situation: Situation) -> None:
    chart, state, trigger = situation
    assert not isinstance(chart.select(Person(state), trigger), Choice)


@given(situations(), st.integers(0, 1000))
def test_commit_moves_to_exactly_the_target_at_exactly_the_tick(situation: Situation, tick: int) -> None:
    chart, state, trigger = situation
    selected = chart.select(Person(state), trigger)
    for row in selected.options if isinstance(selected, Choice) else [] if selected is None else [selected]:
        agent = Person(state)
        assert chart.commit(agent, row, tick)
        assert (agent.state, agent.entered, agent.ticks_in_state) == (row.target, tick, 0)
