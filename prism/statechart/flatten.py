"""Nested states become a flat chart, once: a step costs the same as in a chart that was written flat.

An inner state has its own rows, then those of the states around it, from the inside out. A row of an outer state holds
only where no inner row is enabled, and never behind an inner row without a guard (SCXML 3.13). A row leaves and enters
states as SCXML 3.13 says: `on_exit` from the innermost state up to the least common ancestor of the row's own state and
its target, then `do`, then `on_entry` down to the target, and on through the `initial` states in it. All of these are
one action of the flat row: if one of them raises, the agent has not moved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from inspect import signature
from typing import Any, Final, TypeVar, cast

from prism.errors import ConfigError, StatechartError
from prism.expectations import guess
from prism.expressions import Expression, ExpressionError, compiled, parse
from prism.expressions.tree import Read, Text, ValueKind
from prism.statechart.behaviour import Behaviour, Change, Vocabulary
from prism.statechart.definition import ChartDefinition, DelayLaw, RowDefinition, SetDefinition, StateDefinition
from prism.statechart.oracle import described
from prism.statechart.statechart import Statechart
from prism.statechart.states import AgentState
from prism.statechart.transitions import Action, Guard, Transition

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
        for *_, state in self._paths.values():
            place, delay, words = f"states.{state.name}", state.after, self._words
            if state.role and state.role not in words.roles:
                raise self._refused(f"{place}.role", _unknown("role", state.role, words.roles), state.line)
            if delay is not None and delay.law is DelayLaw.FIELD and delay.field not in words.delays:
                problem = _unknown("field for a delay", delay.field, words.delays)
                raise self._refused(f"{place}.after.ticks", problem, state.line)
            for effect, line in [(state.effect, state.line), *((row.effect, row.line) for row in state.rows)]:
                if effect and effect not in words.effects:
                    raise self._refused(f"{place}.effect", _unknown("effect", effect, words.effects), line)
        if self._definition.initial not in self._paths:
            raise self._refused(
                "initial", _unknown("state", self._definition.initial, self._paths), self._definition.initial_line
            )
        initial = self._states(self._paths[self._definition.initial][-1].entered)
        rows: list[Transition[Any]] = []
        effects: ByEnds[str] = {}
        changes: ByEnds[tuple[Change, ...]] = {}
        for path in self._leaves:
            rows += self._rows_of(path, effects, changes)
        try:
            chart = Statechart(self._states, rows, initial)
        except StatechartError as error:
            raise ConfigError(self._definition.source, str(error)) from None
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
            for definition in owner[-1].rows:
                if closed.get(definition.trigger, level) < level:
                    continue
                if definition.trigger in closed:  # by a row of the same state
                    problem = f"a row for {definition.trigger} before it has no `when` and always wins"
                    problem += "; expected that row last"
                    raise self._refused("trigger", problem, definition.line)
                row = self._row(path, owner, definition, level)
                rows.append(row)
                if row.guard is None:
                    closed[definition.trigger] = level
                is_end = leaf.after is not None and definition.trigger == leaf.after.trigger
                effect = definition.effect or (leaf.effect if is_end else "")
                sets, line = tuple(map(self._change, definition.sets)), definition.line
                self._note(effects, row, effect, ("effect", bool(definition.effect), line))
                self._note(changes, row, sets, ("set", bool(sets), line))
        if leaf.effect and leaf.after is None:
            problem = "takes place when the delay is over: expected `after`, and a row for its trigger"
            raise self._refused(f"states.{leaf.name}.effect", problem, leaf.line)
        if leaf.after is not None and leaf.after.trigger not in (triggers := {row.trigger for row in rows}):
            problem = (
                f"{leaf.after.trigger}: no row of this state answers it, so its delay would end nothing; "
                f"{guess(leaf.after.trigger, sorted(triggers)) if triggers else 'it has no rows'}"
            )
            raise self._refused(f"states.{leaf.name}.after.trigger", problem, leaf.line)
        return rows

    def _row(self, leaf: Path, owner: Path, row: RowDefinition, level: int) -> Transition[Any]:
        guard, expression = self._guard(row)
        actions = [self._action(name, "do", row.line) for name in row.do]
        if row.target:
            if row.target not in self._paths:
                raise self._refused("target", _unknown("state", row.target, self._paths), row.line)
            # The row leaves and enters all states but the proper common ancestors of owner and target.
            ends = self._paths[row.target]
            most = min(len(owner), len(ends)) - 1
            kept = next((place for place in range(most) if owner[place] is not ends[place]), most)
            into = self._paths[ends[-1].entered]
            actions = [
                *(
                    self._action(name, f"states.{state.name}.on_exit", state.line)
                    for state in reversed(leaf[kept:])
                    for name in state.on_exit
                ),
                *actions,
                *(
                    self._action(name, f"states.{state.name}.on_entry", state.line)
                    for state in into[kept:]
                    for name in state.on_entry
                ),
            ]
            target = self._states(ends[-1].entered)
        else:
            target = None
            # Which actions run depends on the target.
            if any(path[-1].on_entry or path[-1].on_exit for path in self._paths.values()):
                problem = "a row without a target cannot be used in a chart with on_entry or on_exit; name each target"
                raise self._refused("target", problem, row.line)
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
            raise ConfigError(self._definition.source, str(error), line=row.line) from None

    def _guard(self, row: RowDefinition) -> tuple[Guard | None, Expression | None]:
        if not row.when:
            return None, None
        if row.when in self._guards:
            return self._guards[row.when]
        if FUNCTION.fullmatch(row.when):
            self._guards[row.when] = self._function(row.when, "when", row.line), None
        else:
            try:
                expression = parse(row.when, self._words.fields)
            except ExpressionError as error:
                raise self._refused("when", str(error), row.line) from None
            self._guards[row.when] = compiled(expression, self._words.readers), expression
        return self._guards[row.when]

    def _action(self, name: str, key: str, line: int) -> Action:
        if FUNCTION.fullmatch(name):
            function: Action = self._function(name, key, line)
            return function
        if name not in self._words.actions:
            raise self._refused(key, _unknown("action", name, self._words.actions), line)
        return self._words.actions[name]

    def _function(self, name: str, key: str, line: int) -> Any:
        try:
            found = self._words.function(name)
            with suppress(ValueError):  # a function of a C module may have no signature
                signature(found).bind(None, None)
            return found
        except TypeError:
            problem = f"{name}: expected a function of two arguments, (agent, context)"
            raise self._refused(key, problem, line) from None
        except StatechartError as error:
            raise self._refused(key, str(error), line) from None

    def _change(self, given: SetDefinition) -> Change:
        place = f"set.{given.name}"
        field = self._words.settable.get(given.name)
        if field is None:
            raise self._refused(place, _unknown("attribute", given.name, self._words.settable), given.line)
        kind: ValueKind = "number" if field.is_number else cast("ValueKind", field.kind)
        to = self._parsed(given.to, kind, place, given.line)
        # The texts that the new value may be; an empty one stands for any text.
        root = to.root
        values = (root.field.values or ("",)) if isinstance(root, Read) and root.field.kind == "text" else ()
        values = (root.value,) if isinstance(root, Text) else values
        if field.values and not {*values} <= {*field.values}:
            problem = f"expected one of: {', '.join(field.values)}, got {', '.join(values) or 'any text'}"
            raise self._refused(place, problem, given.line)
        when = self._parsed(given.when, "bool", f"{place}.when", given.line) if given.when else None
        return Change(field=field, to=to, when=when)

    def _parsed(self, text: str, kind: ValueKind, place: str, line: int) -> Expression:
        try:
            return parse(text, self._words.fields, kind=kind)
        except ExpressionError as error:
            raise self._refused(place, str(error), line) from None

    def _note(self, noted: ByEnds[T], row: Transition[Any], what: T, place: tuple[str, bool, int]) -> None:
        """Note the effect or changes of a row, or none. A run knows a row by its trigger and its two states only.

        Args:
            place: the key, whether the row itself has it, and its line.
        """
        key, is_given, line = place
        if row.target is None:
            if is_given:
                problem = "is for rows with a target; give it to the rows among whose targets the oracle chooses"
                raise self._refused(key, problem, line)
            return
        known = noted.setdefault(row.trigger, {})
        ends = (row.source.value, row.target.value)
        if known.setdefault(ends, what) != what:
            told, other = (_told(each) for each in (what, known[ends]))
            problem = (
                f"the row from {ends[0]} to {ends[1]} for {row.trigger} has the {key} {told}, and another such row "
                f"{other}; expected the same, or another target"
            )
            raise self._refused(key, problem, line)

    def _refused(self, key: str, problem: str, line: int) -> ConfigError:
        return ConfigError(self._definition.source, problem, key=key, line=line or None)


def _stated(noted: ByEnds[T]) -> ByEnds[T]:
    stated = {trigger: {ends: what for ends, what in by_ends.items() if what} for trigger, by_ends in noted.items()}
    return {trigger: by_ends for trigger, by_ends in stated.items() if by_ends}


def _told(what: str | tuple[Change, ...]) -> str:
    if not isinstance(what, str):
        what = ", ".join(f"{each.field.name}: {each.to}{f' when {each.when}' if each.when else ''}" for each in what)
    return what or "none"


class Steps:
    """Several actions as one."""

    def __init__(self, actions: tuple[Action, ...]) -> None:
        self.actions = actions

    def __call__(self, agent: Any, context: Any) -> None:
        for action in self.actions:
            action(agent, context)


def steps_of(action: Action) -> tuple[Action, ...]:
    return action.actions if isinstance(action, Steps) else (action,)


def _unknown(what: str, name: str, known: Mapping[str, object]) -> str:
    return f"{name}: no such {what}; {guess(name, sorted(known))}"
