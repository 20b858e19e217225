"""Statecharts: four states in a circle, left by one event; with no guard, and with a guard on every other row.

The unit is one step of a plain table in a function: two dictionary look-ups and an assignment, measured in the same
process. A guard reads one attribute of its agent. Nobody keeps a history, and no actions are run.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from time import process_time
from typing import Any, Final

from benchmarks.peers.systems import Sizes, System, Values, peer
from prism.agents import StatefulAgent
from prism.statechart import Statechart, Transition

NAMES: Final = ("a", "b", "c", "d")
GUARDED: Final = frozenset({"b", "d"})
"""The states that a guarded row leaves, in the chart with guards."""
NEXT: Final = dict(zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True))
Step = Callable[[], object]


class Place(StrEnum):
    """A state of PRISM's chart."""

    A = "a"
    B = "b"
    C = "c"
    D = "d"


class Plain:
    """A plain table: two dictionary look-ups and an assignment."""

    def __init__(self) -> None:
        self.state = "a"
        self.is_ready = True
        self._table = {name: {"go": target} for name, target in NEXT.items()}

    def step(self, event: str) -> str:
        """Take the row of the event."""
        target = self._table[self.state][event]
        self.state = target
        return target


class GuardedTable:
    """A table with a guard, or None, on each row."""

    def __init__(self) -> None:
        self.state = "a"
        self.is_ready = True
        ready: Callable[[GuardedTable], bool] = lambda agent: agent.is_ready  # noqa: E731  # as the peers have it
        self._table = {name: {"go": (target, ready if name in GUARDED else None)} for name, target in NEXT.items()}

    def step(self, event: str) -> str | None:
        """Take the row of the event if its guard allows it."""
        target, guard = self._table[self.state][event]
        if guard is not None and not guard(self):
            return None
        self.state = target
        return target


def table(guarded: bool) -> Step:
    """Return the step of a plain table."""
    return partial((GuardedTable() if guarded else Plain()).step, "go")


def prism(guarded: bool) -> Step:
    """Return `fire` of PRISM's statechart."""

    def is_ready(agent: StatefulAgent[Place], _context: Any) -> bool:
        return agent.tick == 0

    rows = [
        Transition("go", Place(name), Place(target), is_ready if guarded and name in GUARDED else None)
        for name, target in NEXT.items()
    ]
    chart = Statechart(Place, rows, Place.A)
    return partial(chart.fire, StatefulAgent(0, Place.A, max_history_depth=0), "go")


def transitions(guarded: bool) -> Step:
    """Return the trigger of a model of `transitions`."""
    library = peer("transitions")

    class Model:
        is_ready = True

        def ready(self) -> bool:
            return self.is_ready

    rows = [
        {"trigger": "go", "source": name, "dest": target}
        | ({"conditions": "ready"} if guarded and name in GUARDED else {})
        for name, target in NEXT.items()
    ]
    model: Any = Model()
    library.Machine(model=model, states=list(NAMES), transitions=rows, initial="a")
    step: Step = model.go
    return step


def sismic(guarded: bool) -> Step:
    """Return one event of an interpreter of sismic; its guards are Python code in the chart."""
    model, interpreter = peer("sismic.model"), peer("sismic.interpreter")
    chart = model.Statechart("circle")
    chart.add_state(model.CompoundState("root", initial="a"), None)
    for name in NAMES:
        chart.add_state(model.BasicState(name), "root")
    for name, target in NEXT.items():
        guard = "is_ready" if guarded and name in GUARDED else None
        chart.add_transition(model.Transition(name, target, event="go", guard=guard))
    running = interpreter.Interpreter(chart, initial_context={"is_ready": True})
    running.execute()

    def step() -> None:
        running.queue("go")
        running.execute_once()

    return step


def statemachine(guarded: bool) -> Step:
    """Return one event of a machine of `python-statemachine`."""
    library = peer("statemachine")
    states = {name: library.State(initial=name == "a") for name in NAMES}
    go = None
    for name, target in NEXT.items():
        conditions = {"cond": "ready"} if guarded and name in GUARDED else {}
        row = states[name].to(states[target], **conditions)
        go = row if go is None else go | row
    body = {**states, "go": go, "is_ready": True, "ready": lambda self: self.is_ready}
    machine = type("Circle", (library.StateMachine,), body)()
    step: Step = machine.go
    return step


def seconds_of(step: Step, steps: int) -> float:
    """Return the processor seconds of one step, on average, after some to warm up."""
    for _ in range(100):
        step()
    begun = process_time()
    for _ in range(steps):
        step()
    return (process_time() - begun) / steps


def measuring(make: Callable[[bool], Step]) -> Callable[[Sizes], Values]:
    """Return what measures a chart beside the plain table."""

    def measure(sizes: Sizes) -> Values:
        steps = {"unguarded": make(False), "half-guarded": make(True)}
        unit = seconds_of(table(guarded=False), sizes.steps * 10)
        values: Values = {}
        for name, step in steps.items():
            seconds = seconds_of(step, sizes.steps)
            values[f"{name}, us"] = seconds * 1e6
            values[f"{name}, x"] = seconds / unit
        return values

    return measure


SYSTEMS: Final = {
    "PRISM `fire()`": System(measuring(prism)),
    "a table in Python": System(measuring(table)),
    "transitions": System(measuring(transitions), "transitions"),
    "sismic": System(measuring(sismic), "sismic"),
    "python-statemachine": System(measuring(statemachine), "python-statemachine"),
}
