"""A behaviour: a chart with what the world has to know of its states, and the vocabulary that a chart file may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Generic

import msgspec

from prism.errors import StatechartError
from prism.expressions import Expression, Field
from prism.statechart.definition import ChartDefinition, Delay
from prism.statechart.statechart import Statechart
from prism.statechart.states import S
from prism.statechart.transitions import Action

Reader = Callable[[Any, Any], Any]
"""`(agent, context)` -> the value of a field."""


def no_functions(name: str) -> Any:
    """Refuse a function by its name: only a run imports modules."""
    raise StatechartError(f"{name}: functions can only be used in a run")


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """The words that a chart file of one domain may use.

    Args:
        readers: `{field: its reader}`.
        roles: `{role: what the world does for an agent in such a state}`.
        effects: `{effect: what happens in the world}`.
        delays: `{field: what it is}` of the fields that may be a delay.
        settable: `{attribute: its field}` of the agents' own attributes, which rows may set.
        assumptions: expressions that hold for every agent: a finding that contradicts one is not reported.
        function: returns the function `module:name`.
    """

    fields: Mapping[str, Field]
    readers: Mapping[str, Reader]
    actions: Mapping[str, Action]
    roles: Mapping[str, str]
    effects: Mapping[str, str]
    delays: Mapping[str, str]
    settable: Mapping[str, Field] = MappingProxyType({})
    assumptions: tuple[str, ...] = ()
    function: Callable[[str], Any] = no_functions


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one of the agent's attributes.

    Args:
        to: its new value. For an int it is rounded, and a number is kept within the field's range.
        when: the condition without which it stays; None if there is none.
    """

    field: Field
    to: Expression
    when: Expression | None = None

    @property
    def name(self) -> str:
        return self.field.name.removeprefix("agent.")

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.to.fields, *(self.when.fields if self.when else ()))))


class Behaviour(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """A chart that can run, and what the world has to know of its states.

    Args:
        states: the enumeration of its states, in the order of the file.
        descriptions: what a model reads of each state as an option.
        roles: `{state: role}` of the states that have one.
        delays: `{state: delay}` of the states that end by themselves.
        effects: `{trigger: {(state before, state after): effect}}` of the rows that have one.
        changes: the same of the attributes that rows set.
        definition: the chart as its author wrote it; None for one that was made in Python.
        assumed: expressions that hold for every agent, for the linter.
    """

    chart: Statechart[S]
    states: type[S]
    descriptions: Mapping[S, str]
    roles: Mapping[S, str]
    delays: Mapping[S, Delay]
    effects: Mapping[str, Mapping[tuple[str, str], str]]
    changes: Mapping[str, Mapping[tuple[str, str], tuple[Change, ...]]] = MappingProxyType({})
    definition: ChartDefinition | None = None
    assumed: tuple[Expression, ...] = ()

    @property
    def all_changes(self) -> Iterator[Change]:
        for by_ends in self.changes.values():
            for changes in by_ends.values():
                yield from changes

    @property
    def read_outside_guards(self) -> frozenset[str]:
        """The names of the fields that changes of attributes read."""
        return frozenset(name for each in self.all_changes for name in each.fields)

    def in_role(self, role: str) -> frozenset[S]:
        return frozenset(state for state, has in self.roles.items() if has == role)
