"""Random nested charts, run by PRISM and by sismic, whose steps follow SCXML: same states, same actions in one order.

What differs on purpose is in docs/decisions/004-charts-and-expressions.md.
"""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from sismic.exceptions import NonDeterminismError
from sismic.interpreter import Interpreter
from sismic.model import BasicState, CompoundState
from sismic.model import Statechart as SismicChart
from sismic.model import Transition as SismicTransition

from prism.agents import StatefulAgent
from prism.expressions import Field
from prism.statechart import Behaviour, Choice, Transition, Vocabulary, flatten
from prism.statechart.definition import ChartDefinition, RowDefinition, StateDefinition

NAMES = "abcdefgh"
DEPTH_MAX = 3
TRIGGERS = ("go", "stop")
DISJOINT = ("agent.mood <= 2", "2 < agent.mood <= 5", "agent.mood > 5 and agent.mood != 7", "agent.mood == 7")
OVERLAPPING = ("agent.mood > 1", "agent.mood > 3", "agent.mood < 5", "agent.mood == 3 or agent.mood > 6")
"""Guards as both read them: a comparison is the same text in Python as in a chart file."""
STEPS = st.lists(st.tuples(st.sampled_from(TRIGGERS), st.integers(0, 9)), min_size=1, max_size=12)


class Walker(StatefulAgent[Any]):
    """An agent of PRISM that writes down the actions run on it."""

    def __init__(self, behaviour: Behaviour[Any]) -> None:
        super().__init__(0, behaviour.chart.initial)
        self.mood = 0
        self.log: list[str] = []


class Peer:
    """The same chart in sismic, entered as PRISM's agent is: in the innermost initial state, with nothing written down.

    A state `start` beside the chart's own leads to its initial state, which may lie inside another.
    """

    def __init__(self, definition: ChartDefinition) -> None:
        self.log: list[str] = []
        self.agent = SimpleNamespace(mood=0)
        chart = SismicChart("peer")
        chart.add_state(CompoundState("root", initial="start"), parent=None)
        chart.add_state(BasicState("start"), parent="root")
        for path in definition.walk():
            state = path[-1]
            on_entry, on_exit = code(state.on_entry), code(state.on_exit)
            if state.states:
                made: Any = CompoundState(state.name, initial=state.initial, on_entry=on_entry, on_exit=on_exit)
            else:
                made = BasicState(state.name, on_entry=on_entry, on_exit=on_exit)
            chart.add_state(made, parent=path[-2].name if len(path) > 1 else "root")
        chart.add_transition(SismicTransition("start", definition.initial, event="begin"))
        for path in definition.walk():
            for row in path[-1].transitions:
                guard = row.when or otherwise(path[-1], row.trigger)
                chart.add_transition(
                    SismicTransition(path[-1].name, row.target, event=row.trigger, guard=guard, action=code(row.do))
                )
        self.interpreter = Interpreter(chart, initial_context={"agent": self.agent, "log": self.log})
        self.interpreter.execute()
        self.step("begin", 0)
        self.log.clear()  # the actions with which the initial state is entered

    def step(self, trigger: str, mood: int) -> str:
        self.agent.mood = mood
        self.interpreter.queue(trigger)
        self.interpreter.execute()
        return self.state

    @property
    def state(self) -> str:
        return str(self.interpreter.configuration[-1])


def code(names: Iterable[str]) -> str | None:
    return "; ".join(f"log.append({name!r})" for name in names) or None


def otherwise(state: StateDefinition, trigger: str) -> str | None:
    """Return the guard of the else in sismic, which has none: no other row of the state and trigger is enabled."""
    guards = [f"({row.when})" for row in state.transitions if row.trigger == trigger and row.when]
    return f"not ({' or '.join(guards)})" if guards else None


def wrote(word: str) -> Any:
    return lambda agent, _context: agent.log.append(word)


def flat(definition: ChartDefinition) -> Behaviour[Any]:
    words = {name for path in definition.walk() for name in (*path[-1].on_entry, *path[-1].on_exit)}
    words |= {name for path in definition.walk() for row in path[-1].transitions for name in row.do}
    vocabulary = Vocabulary(
        fields={"agent.mood": Field(name="agent.mood", kind="int", low=0, high=9)},
        readers={"agent.mood": lambda agent, _context: agent.mood},
        actions={word: wrote(word) for word in words},
        roles={},
        effects={},
        delays={},
    )
    return flatten(definition, vocabulary)


# Random charts


@st.composite
def rows(draw: st.DrawFn, name: str, targets: str, guards: tuple[str, ...]) -> tuple[RowDefinition, ...]:
    """Rows of one state: some with guards in any order, and perhaps an else."""
    made: list[RowDefinition] = []
    for trigger in TRIGGERS:
        is_unique = guards is DISJOINT  # so at most one row of a state is enabled
        whens = draw(st.lists(st.sampled_from(guards), max_size=2, unique=is_unique))
        for when in [*whens, *draw(st.sampled_from(([], [""])))]:
            word = f"{name}_{trigger}_{len(made)}"
            do = tuple(f"{word}_{place}" for place in range(draw(st.integers(0, 2))))
            made.append(RowDefinition(trigger=trigger, target=draw(st.sampled_from(targets)), when=when, do=do))
    return tuple(made)


@st.composite
def charts(draw: st.DrawFn, guards: tuple[str, ...]) -> ChartDefinition:
    """Charts of 2 to 8 states, at most 3 deep, with rows and actions at every depth and targets anywhere."""
    names = NAMES[: draw(st.integers(2, len(NAMES)))]
    parents: dict[str, str] = {}
    depths: dict[str, int] = {"": 0}
    for place, name in enumerate(names):
        parents[name] = draw(st.sampled_from(["", *(each for each in names[:place] if depths[each] < DEPTH_MAX)]))
        depths[name] = depths[parents[name]] + 1

    def inside(outer: str) -> dict[str, StateDefinition]:
        return {name: state(name) for name in names if parents[name] == outer}

    def state(name: str) -> StateDefinition:
        inner = inside(name)
        return StateDefinition(
            name=name,
            initial=draw(st.sampled_from([*inner])) if inner else "",
            on_entry=tuple(f"in_{name}_{place}" for place in range(draw(st.integers(0, 2)))),
            on_exit=(f"out_{name}",) if draw(st.booleans()) else (),
            transitions=draw(rows(name, names, guards)),
            states=inner,
        )

    return ChartDefinition(name="random", initial=draw(st.sampled_from(names)), states=inside(""))


# What is the same


@given(charts(DISJOINT), STEPS)
def test_prism_and_sismic_are_in_the_same_state_after_the_same_actions(
    definition: ChartDefinition, steps: list[tuple[str, int]]
) -> None:
    behaviour, peer = flat(definition), Peer(definition)
    fired, turned = Walker(behaviour), Walker(behaviour)
    assert fired.state.value == peer.state
    for trigger, mood in steps:
        fired.mood = turned.mood = mood
        expected = peer.step(trigger, mood)
        behaviour.chart.fire(fired, trigger)
        row = behaviour.chart.select(turned, trigger)
        assert not isinstance(row, Choice)
        assert row is None or behaviour.chart.commit(turned, row, None)
        assert (fired.state.value, fired.log) == (expected, peer.log)
        assert (turned.state.value, turned.log) == (expected, peer.log)


@given(charts(OVERLAPPING), STEPS)
def test_the_oracle_is_asked_exactly_where_sismic_finds_no_deterministic_choice(
    definition: ChartDefinition, steps: list[tuple[str, int]]
) -> None:
    behaviour, sure, peer = flat(definition), flat(without_oracle(definition)), Peer(definition)
    walker, certain = Walker(behaviour), Walker(sure)
    for trigger, mood in steps:
        walker.mood = certain.mood = mood
        row = behaviour.chart.select(walker, trigger)
        first = sure.chart.select(certain, trigger)
        assert not isinstance(first, Choice)
        try:
            expected = peer.step(trigger, mood)
        except NonDeterminismError:
            assert isinstance(row, Choice)
            assert first is not None
            assert row.targets[0] == first.target  # the first in the order of the file
            return  # sismic is left with an event that it cannot process
        assert isinstance(row, Transition | None)
        assert behaviour.chart.fire(walker, trigger) == sure.chart.fire(certain, trigger)
        assert (walker.state.value, walker.log) == (expected, peer.log)


def without_oracle(definition: ChartDefinition) -> ChartDefinition:
    """Return the chart with `oracle: false` in every row: the first enabled one is taken."""

    def sure(state: StateDefinition) -> StateDefinition:
        return replace(
            state,
            transitions=tuple(replace(row, oracle=False) for row in state.transitions),
            states={name: sure(inner) for name, inner in state.states.items()},
        )

    return replace(definition, states={name: sure(state) for name, state in definition.states.items()})
