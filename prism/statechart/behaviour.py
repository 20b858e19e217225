"""A behaviour: a chart with what the world has to know of its states, and how one is made of a chart file.

Nested states become a flat chart, once: a step costs the same as in a chart that was written flat.

An inner state has its own rows, then those of the states around it, from the inside out. A row of an outer state holds
only where no inner row is enabled, and never behind an inner row without a guard (SCXML 3.13). A row leaves and enters
states as SCXML 3.13 says: `on_exit` from the innermost state up to the least common ancestor of the row's own state and
its target, then `do`, then `on_entry` down to the target, and on through the `initial` states in it. All of these are
one action of the flat row: if one of them raises, the agent has not moved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from inspect import signature
from itertools import starmap
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar, cast

import msgspec

from prism.errors import ConfigError, StatechartError
from prism.expectations import guess, join
from prism.expressions import Expression, ExpressionError, Field, compiled, parse
from prism.expressions.tree import Read, Text, ValueKind
from prism.statechart.definition import ChartDefinition, Delay, Formula, RowDefinition, SetDefinition, StateDefinition
from prism.statechart.oracle import described
from prism.statechart.statechart import Statechart
from prism.statechart.states import AgentState, S
from prism.statechart.transitions import Action, Guard, Transition

Reader = Callable[[Any, Any], Any]
"""`(agent, context)` -> the value of a field."""


def no_functions(name: str) -> Any:
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
    """A change of an agent's attribute, if `when` holds: an int is rounded, and numbers are kept in the range."""

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
        return frozenset(name for each in self.all_changes for name in each.fields)

    def in_role(self, role: str) -> frozenset[S]:
        return frozenset(state for state, has in self.roles.items() if has == role)


FUNCTION: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*")
"""A function by its name: `my_study.guards:is_tired`."""

Path = tuple[StateDefinition, ...]

T = TypeVar("T", str, tuple[Change, ...])
ByEnds = dict[str, dict[tuple[str, str], T]]
"""`{trigger: {(state before, state after): the effect or the changes of the row}}`."""


def flatten(definition: ChartDefinition, vocabulary: Vocabulary) -> Behaviour[Any]:
    """Return the behaviour that a chart describes.

    Raises:
        ConfigError: a word is unknown, an expression is wrong, or the chart cannot work; the message names the line.
    """
    return _Flattening(definition, vocabulary).behaviour()


class _Flattening:
    def __init__(self, definition: ChartDefinition, vocabulary: Vocabulary) -> None:
        self._definition = definition
        self._words = vocabulary
        self._paths: dict[str, Path] = {path[-1].name: path for path in definition.walk()}
        self._leaves = [path for path in self._paths.values() if not path[-1].states]
        names = [path[-1].name for path in self._leaves]
        self._states: type[StrEnum] = AgentState
        if {*names} != {state.value for state in AgentState}:  # the social enumeration, if it has the same states
            enumeration: Any = StrEnum  # mypy reads the members of an enumeration from literals only
            self._states = enumeration("ChartState", [(name.upper(), name) for name in names])
        self._guards: dict[str, tuple[Guard, Expression | None]] = {}
        """Guards by their text: rows with the same text share one, which is evaluated once for all of them."""

    def behaviour(self) -> Behaviour[Any]:
        words = self._words
        for *_, state in self._paths.values():
            delay_field = "" if state.after is None else state.after.field
            self._known("role", state.role, words.roles, join(state.place, "role"))
            self._known("field for a delay", delay_field, words.delays, join(state.place, "after.ticks"))
            for place, effect in [(state.place, state.effect), *((row.place, row.effect) for row in state.transitions)]:
                self._known("effect", effect, words.effects, join(place, "effect"))
        self._known("state", self._definition.initial, self._paths, "initial")
        initial = self._states(self._paths[self._definition.initial][-1].entered)
        rows: list[Transition[Any]] = []
        effects: ByEnds[str] = {}
        changes: ByEnds[tuple[Change, ...]] = {}
        for path in self._leaves:
            rows += self._rows_of(path, effects, changes)
        try:
            chart = Statechart(self._states, rows, initial)
        except StatechartError as error:
            raise ConfigError(self._definition.file.source, str(error)) from None
        leaves = {self._states(path[-1].name): path[-1] for path in self._leaves}
        return Behaviour(
            chart=chart,
            states=self._states,
            descriptions={state: leaf.description or described(state) for state, leaf in leaves.items()},
            roles={state: leaf.role for state, leaf in leaves.items() if leaf.role},
            delays={state: leaf.after for state, leaf in leaves.items() if leaf.after is not None},
            effects=_stated(effects),
            changes=_stated(changes),
            definition=self._definition,
            assumed=tuple(parse(text, self._words.fields) for text in self._words.assumptions),
        )

    def _rows_of(self, path: Path, effects: ByEnds[str], changes: ByEnds[tuple[Change, ...]]) -> list[Transition[Any]]:
        leaf, rows = path[-1], list[Transition[Any]]()
        closed: dict[str, int] = {}  # {trigger: level of the row that always wins}
        for level in range(len(path)):
            owner = path[: len(path) - level]
            for definition in owner[-1].transitions:
                if closed.get(definition.trigger, level) < level:
                    continue
                if definition.trigger in closed:  # by a row of the same state
                    problem = f"a row for {definition.trigger} before it has no `when` and always wins"
                    raise self._refused(f"{problem}; expected that row last", definition.place, "trigger")
                row = self._row(path, owner, definition, level)
                rows.append(row)
                if row.guard is None:
                    closed[definition.trigger] = level
                is_end = leaf.after is not None and definition.trigger == leaf.after.trigger
                effect, place = definition.effect or (leaf.effect if is_end else ""), definition.place
                given = definition.set.items()
                sets = tuple(self._change(name, each, join(place, f"set.{name}")) for name, each in given)
                self._note(effects, row, effect, ("effect", bool(definition.effect), place))
                self._note(changes, row, sets, ("set", bool(sets), place))
        if leaf.effect and leaf.after is None:
            problem = "takes place when the delay is over: expected `after`, and a row for its trigger"
            raise self._refused(problem, leaf.place, "effect")
        if leaf.after is not None and leaf.after.trigger not in (triggers := {row.trigger for row in rows}):
            problem = (
                f"{leaf.after.trigger}: no row of this state answers it, so its delay would end nothing; "
                f"{guess(leaf.after.trigger, sorted(triggers)) if triggers else 'it has no rows'}"
            )
            raise self._refused(problem, leaf.place, "after.trigger")
        return rows

    def _row(self, leaf: Path, owner: Path, row: RowDefinition, level: int) -> Transition[Any]:
        guard, expression = self._guard(row)
        actions = [self._action(name, join(row.place, "do")) for name in row.do]
        target = None
        if row.target:
            self._known("state", row.target, self._paths, join(row.place, "target"))
            # The row leaves and enters all states but the proper common ancestors of owner and target.
            ends = self._paths[row.target]
            most = min(len(owner), len(ends)) - 1
            kept = next((place for place in range(most) if owner[place] is not ends[place]), most)
            into = self._paths[ends[-1].entered]
            left = [(name, join(state.place, "on_exit")) for state in reversed(leaf[kept:]) for name in state.on_exit]
            entered = [(name, join(state.place, "on_entry")) for state in into[kept:] for name in state.on_entry]
            actions = [*starmap(self._action, left), *actions, *starmap(self._action, entered)]
            target = self._states(ends[-1].entered)
        elif any(path[-1].on_entry or path[-1].on_exit for path in self._paths.values()):
            # Which actions run depends on the target.
            problem = "a row without a target cannot be used in a chart with on_entry or on_exit; name each target"
            raise self._refused(problem, row.place, "target")
        try:
            return Transition(
                trigger=row.trigger,
                source=self._states(leaf[-1].name),
                target=target,
                guard=guard,
                action=Steps(tuple(actions)) if len(actions) > 1 else actions[0] if actions else None,
                oracle=row.oracle,
                label=row.label,
                when=expression,
                level=level,
            )
        except StatechartError as error:
            raise self._refused(str(error), row.place) from None

    def _guard(self, row: RowDefinition) -> tuple[Guard | None, Expression | None]:
        if not row.when:
            return None, None
        if row.when not in self._guards:
            place = join(row.place, "when")
            if FUNCTION.fullmatch(row.when):
                self._guards[row.when] = self._function(row.when, place), None
            else:
                expression = self._parsed(row.when, "bool", place)
                self._guards[row.when] = compiled(expression, self._words.readers), expression
        return self._guards[row.when]

    def _action(self, name: str, place: str) -> Action:
        if FUNCTION.fullmatch(name):
            function: Action = self._function(name, place)
            return function
        self._known("action", name, self._words.actions, place)
        return self._words.actions[name]

    def _function(self, name: str, place: str) -> Any:
        try:
            found = self._words.function(name)
            with suppress(ValueError):  # a function of a C module may have no signature
                signature(found).bind(None, None)
            return found
        except TypeError:
            raise self._refused(f"{name}: expected a function of two arguments, (agent, context)", place) from None
        except StatechartError as error:
            raise self._refused(str(error), place) from None

    def _change(self, name: str, given: SetDefinition | Formula, place: str) -> Change:
        self._known("attribute", name or "''", self._words.settable, place)
        field, change = (
            self._words.settable[name],
            given if isinstance(given, SetDefinition) else SetDefinition(to=given),
        )
        to = self._parsed(change.to, "number" if field.is_number else cast("ValueKind", field.kind), place)
        # The texts that the new value may be; an empty one stands for any text.
        root = to.root
        values = (root.field.values or ("",)) if isinstance(root, Read) and root.field.kind == "text" else ()
        values = (root.value,) if isinstance(root, Text) else values
        if field.values and not {*values} <= {*field.values}:
            problem = f"expected one of: {', '.join(field.values)}, got {', '.join(values) or 'any text'}"
            raise self._refused(problem, place)
        when = None if change.when == "" else self._parsed(change.when, "bool", join(place, "when"))
        return Change(field=field, to=to, when=when)

    def _parsed(self, formula: Formula, kind: ValueKind, place: str) -> Expression:
        text = str(formula).lower() if isinstance(formula, bool) else str(formula)
        try:
            return parse(text, self._words.fields, kind=kind)
        except ExpressionError as error:
            raise self._refused(str(error), place) from None

    def _note(self, noted: ByEnds[T], row: Transition[Any], what: T, about: tuple[str, bool, str]) -> None:
        """Note the effect or changes of a row, or none. A run knows a row by its trigger and its two states only."""
        key, is_given, place = about
        if row.target is None:
            if is_given:
                problem = "is for rows with a target; give it to the rows among whose targets the oracle chooses"
                raise self._refused(problem, place, key)
            return
        known = noted.setdefault(row.trigger, {})
        ends = (row.source.value, row.target.value)
        if known.setdefault(ends, what) != what:
            told, other = (_told(each) for each in (what, known[ends]))
            problem = (
                f"the row from {ends[0]} to {ends[1]} for {row.trigger} has the {key} {told}, and another such row "
                f"{other}; expected the same, or another target"
            )
            raise self._refused(problem, place, key)

    def _known(self, what: str, name: str, known: Mapping[str, object], place: str) -> None:
        """Refuse a name that is unknown; an empty one names nothing."""
        if name and name not in known:
            raise self._refused(f"{name}: no such {what}; {guess(name, sorted(known))}", place)

    def _refused(self, problem: str, place: str, key: str = "") -> ConfigError:
        return self._definition.file.refused(problem, join(place, key) if key else place)


def _stated(noted: ByEnds[T]) -> ByEnds[T]:
    stated = {trigger: {ends: what for ends, what in by_ends.items() if what} for trigger, by_ends in noted.items()}
    return {trigger: by_ends for trigger, by_ends in stated.items() if by_ends}


def _told(what: str | tuple[Change, ...]) -> str:
    if not isinstance(what, str):
        what = ", ".join(f"{each.field.name}: {each.to}{f' when {each.when}' if each.when else ''}" for each in what)
    return what or "none"


class Steps:
    def __init__(self, actions: tuple[Action, ...]) -> None:
        self.actions = actions

    def __call__(self, agent: Any, context: Any) -> None:
        for action in self.actions:
            action(agent, context)


def steps_of(action: Action) -> tuple[Action, ...]:
    return action.actions if isinstance(action, Steps) else (action,)
