"""The outline of a chart: all that drawings show, from a file or from a chart made in Python, and its Mermaid text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from prism.palette import state_styles
from prism.statechart.behaviour import Behaviour
from prism.statechart.definition import ChartDefinition, RowDefinition, StateDefinition
from prism.statechart.statechart import Statechart


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """The trace of a run on a chart, to be drawn on it."""

    agents: int
    ticks: int
    taken: Mapping[tuple[str, str, str], int]  # `{(state before, trigger, state after): times}`
    dwell_ticks: Mapping[str, float]  # `{state: mean ticks of a stay}`; states that nobody has left are missing
    shares: Mapping[str, float]  # `{state: share of all agents' time spent in it}`


class Arrow(msgspec.Struct, frozen=True, kw_only=True):
    """An arrow from a state, which may be an outer one, to another: all rows between the two."""

    source: str
    target: str  # the state that it leads to; empty if the oracle chooses
    rows: tuple[RowDefinition, ...]
    count: int | None = None  # how often a run has taken them; None without a run

    @property
    def label(self) -> str:
        """The triggers, with a question mark for the oracle and what the rows set and do at once, and the count."""
        names = dict[str, None]()
        for row in self.rows:
            done = ", ".join([*(f"set {name}" for name in row.set), *([row.effect] if row.effect else [])])
            mark = "?" if row.oracle or not row.target else ""
            names[f"{row.trigger}{mark}{f' [{done}]' if done else ''}"] = None
        shown = ", ".join(names)
        return shown if self.count is None else f"{shown} ({self.count:,})"


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """A chart, ready to be drawn: its arrows, and what a run did on it, or None without a run."""

    definition: ChartDefinition
    arrows: tuple[Arrow, ...]
    activity: Activity | None = None

    @property
    def states(self) -> list[str]:
        """The innermost states, in the order of the chart."""
        return [path[-1].name for path in self.definition.walk() if not path[-1].states]

    @property
    def entered(self) -> dict[str, str]:
        """`{state: the innermost state that is entered with it}`."""
        return {path[-1].name: path[-1].entered for path in self.definition.walk()}

    @property
    def initial(self) -> str:
        """The innermost state in which everybody begins."""
        return self.entered.get(self.definition.initial, self.definition.initial)

    def state(self, name: str) -> StateDefinition:
        return next(path[-1] for path in self.definition.walk() if path[-1].name == name)

    def notes(self, state: StateDefinition) -> list[str]:
        """Return the lines that a drawing has below a state's name: its delay and effect, and what a run did in it."""
        own = [] if state.after is None else [str(state.after)]
        own += [f"then {state.effect}"] if state.effect else []
        done = []
        if self.activity is not None and not state.states:
            done.append(f"{self.activity.shares.get(state.name, 0.0):.1%} of the time")
            if state.name in self.activity.dwell_ticks:
                done.append(f"{self.activity.dwell_ticks[state.name]:.1f} ticks a stay")
        return [", ".join(parts) for parts in (own, done) if parts]


def outline(behaviour: Behaviour[Any] | Statechart[Any], activity: Activity | None = None) -> Outline:
    """Return the outline of a behaviour, or of a chart that was made in Python."""
    if isinstance(behaviour, Behaviour) and behaviour.definition is not None:
        definition = behaviour.definition
    else:
        definition = defined(behaviour.chart if isinstance(behaviour, Behaviour) else behaviour)
    leaves = inner_states(definition)
    found: list[Arrow] = []
    for path in definition.walk():
        state = path[-1]
        targets = dict.fromkeys(row.target for row in state.transitions)
        for target in targets:
            rows = tuple(row for row in state.transitions if row.target == target)
            count = None
            if activity is not None:
                # The times that a run went from a state in one to a state in the other by one of these triggers.
                triggers, befores = {row.trigger for row in rows}, leaves[state.name]
                afters = leaves[target] if target else tuple(leaf for inner in leaves.values() for leaf in inner)
                count = sum(
                    times
                    for (before, trigger, after), times in activity.taken.items()
                    if trigger in triggers and before in befores and after in afters
                )
            found.append(Arrow(source=state.name, target=target, rows=rows, count=count))
    return Outline(definition=definition, arrows=tuple(found), activity=activity)


def defined(chart: Statechart[Any]) -> ChartDefinition:
    """Return a definition of a chart that was made in Python; it has the names of guards."""
    states: list[Any] = [*type(chart.initial).__members__.values()]
    rows: dict[Any, list[RowDefinition]] = {state: [] for state in states if state in chart.states}
    for row in chart.transitions:
        guard = "" if row.guard is None else getattr(row.guard, "__name__", type(row.guard).__name__)
        target, when = row.target.value if row.target else "", guard if row.when is None else str(row.when)
        made = RowDefinition(trigger=row.trigger, target=target, when=when, oracle=row.oracle, label=row.label)
        rows[row.source].append(made)
    defined = {each.value: StateDefinition(name=each.value, transitions=tuple(its)) for each, its in rows.items()}
    return ChartDefinition(initial=chart.initial.value, states=defined)


def inner_states(definition: ChartDefinition) -> dict[str, tuple[str, ...]]:
    """Return `{state: the innermost states in it}`; of an innermost state, itself."""
    return {
        path[-1].name: tuple(each[-1].name for each in path[-1].walk() if not each[-1].states)
        for path in definition.walk()
    }


KEYWORDS = frozenset({"accdescr", "acctitle", "as", "class", "classdef", "direction", "end", "note", "state", "style"})
"""Words that Mermaid does not read as the id of a state."""


def mermaid(chart: Outline) -> str:
    """Return the text of a Mermaid state diagram (`stateDiagram-v2`)."""
    # The id of a state is its name, unless Mermaid would not read that as one, or would read it as a keyword.
    names = [path[-1].name for path in chart.definition.walk()]
    ids = {
        name: name if re.fullmatch(r"\w+", name) and name.lower() not in KEYWORDS else f"state_{place}"
        for place, name in enumerate(names)
    }
    lines = ["stateDiagram-v2", f"    [*] --> {ids[chart.definition.initial]}"]
    for state in chart.definition.states.values():
        lines += _state(chart, state, ids, 1)
    for place, arrow in enumerate(chart.arrows):
        target = ids[arrow.target] if arrow.target else f"oracle_{place}"
        if not arrow.target:
            lines.append(f"    state {target} <<choice>>")
        lines.append(f"    {ids[arrow.source]} --> {target} : {_plain(arrow.label)}")
    for place, (name, style) in enumerate(state_styles(chart.states).items()):
        lines += [
            f"    classDef look{place} stroke:{style.color},stroke-width:3px",
            f"    class {ids[name]} look{place}",
        ]
    return "\n".join(lines) + "\n"


def _state(chart: Outline, state: StateDefinition, ids: Mapping[str, str], depth: int) -> Iterator[str]:
    indent = "    " * depth
    notes = chart.notes(state)
    if state.states:
        own = ids[state.name]
        yield f"{indent}state {own} {{" if own == state.name else f'{indent}state "{_plain(state.name)}" as {own} {{'
        yield f"{indent}    [*] --> {ids[state.initial]}"
        for inner in state.states.values():
            yield from _state(chart, inner, ids, depth + 1)
        yield f"{indent}}}"
    elif notes or ids[state.name] != state.name:
        yield f'{indent}state "{"<br/>".join(map(_plain, [state.name, *notes]))}" as {ids[state.name]}'
    else:
        yield f"{indent}state {state.name}"


def _plain(text: str) -> str:
    """Return a text without the characters that end a label."""
    return text.translate({ord('"'): "'", ord(";"): ",", ord("\n"): " "})
