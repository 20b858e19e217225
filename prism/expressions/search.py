"""A search for values of fields with which some conditions hold and others do not.

Each condition becomes a formula of atoms: which of less, equal, greater and NaN two numbers may be to each other, and
which values a text or bool may have. The search branches on one atom after the other (as a SAT solver does), and keeps
an interval for each number and a transitive order of the numbers. Between fields and constants that is exact: it finds
values, or proves that there are none. For other numbers it halves intervals until the interval reading decides, or
until the limit is reached.

Texts are a finite matter: an open text field has the texts that the conditions name, and as many others as there are
fields to tell apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import ceil, floor, inf, nextafter, sqrt
from typing import Any, Final, NamedTuple, cast

import msgspec

from prism.expressions.fields import Field
from prism.expressions.intervals import Box, Interval, Members, Truth, Words, interval, whole
from prism.expressions.source import compiled
from prism.expressions.tree import (
    MIRRORED,
    And,
    Comparison,
    Expression,
    Flag,
    Member,
    Node,
    Not,
    Number,
    Or,
    Ordering,
    Read,
    Text,
    walk,
)

BOXES_MAX: Final = 2_000
"""Boxes that one search looks at, unless told otherwise."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a search.

    Args:
        values: `{field: value}` with which the conditions are as they were wanted; None if none were found.
        is_decided: False if none were found because the search reached its limit. There may be some.
    """

    values: Mapping[str, Any] | None
    is_decided: bool

    @property
    def is_impossible(self) -> bool:
        """True if there are no such values."""
        return self.values is None and self.is_decided


def find(holds: Sequence[Expression], fails: Sequence[Expression] = (), *, boxes: int = BOXES_MAX) -> Search:
    """Search for values of fields with which all of `holds` are true and all of `fails` are false.

    Args:
        boxes: the limit on the work: the number of boxes to look at.
    """
    wanted = [*(each.root for each in holds), *(Not(each.root) for each in fails)]
    return _Searching(wanted).result(boxes)


# Formulas

_LESS, _EQUAL, _GREATER, _NAN = "<", "=", ">", "nan"
_Relations = frozenset[str]
_ALL: Final[_Relations] = frozenset({_LESS, _EQUAL, _GREATER, _NAN})
_MEANING: Final[dict[Ordering, _Relations]] = {
    "<": frozenset({_LESS}),
    "<=": frozenset({_LESS, _EQUAL}),
    ">": frozenset({_GREATER}),
    ">=": frozenset({_GREATER, _EQUAL}),
    "==": frozenset({_EQUAL}),
    "!=": frozenset({_LESS, _GREATER}),
}

_Variable = tuple[str, str]
"""A field of few values, `(name, "")`; or whether a field of texts has a text, `(name, text)`."""

_Values = frozenset[str | bool]
_TRUE: Final[_Values] = frozenset({True})
_FALSE: Final[_Values] = frozenset({False})


class _Pair(NamedTuple):
    """An atom: the numbers `left` and `right`, by their places, are in one of these relations."""

    left: int
    right: int
    allowed: _Relations


class _Is(NamedTuple):
    """An atom: a variable has one of these values."""

    variable: _Variable
    allowed: _Values


class _Alike(NamedTuple):
    """An atom: two texts are equal, or differ."""

    left: _Variable
    right: _Variable
    wanted: bool


class _Among(NamedTuple):
    """An atom: a text is among those of a field, or is not."""

    item: _Variable
    field: str
    wanted: bool


class _All(NamedTuple):
    """Formulas that must all hold."""

    parts: tuple[_Formula, ...]


class _Any(NamedTuple):
    """Formulas of which one must hold."""

    parts: tuple[_Formula, ...]


class _Same(NamedTuple):
    """Two formulas that are both true or both false, or that are not."""

    left: _Formula
    right: _Formula
    wanted: bool


_Atom = _Pair | _Is | _Alike | _Among
_Formula = bool | _Atom | _All | _Any | _Same


class _Formulas:
    """Formulas of conditions, with the numbers and variables that their atoms are about."""

    def __init__(self, wanted: Sequence[Node]) -> None:
        nodes = [node for root in wanted for node in walk(root)]
        self.fields: dict[str, Field] = {node.field.name: node.field for node in nodes if isinstance(node, Read)}
        self.numbers: list[Node] = []
        self.variables: dict[_Variable, _Values] = {}
        self._texts = self._universe(nodes)
        for field in self.fields.values():
            self._declare(field)
        self.goals = [self._formula(root, True) for root in wanted]

    def _universe(self, nodes: Iterable[Node]) -> tuple[str, ...]:
        """Return all texts that can matter: those that are named, and others."""
        named: dict[str, None] = {}
        for node in nodes:
            if isinstance(node, Text):
                named[node.value] = None
            elif isinstance(node, Member) and isinstance(node.among, tuple):
                named.update(dict.fromkeys(node.among))
        open_fields = sum(field.kind in {"text", "texts"} and not field.values for field in self.fields.values())
        others = (f"another text{f' {number}' if number else ''}" for number in range(open_fields + len(named)))
        fresh = [text for text in others if text not in named][:open_fields]
        closed = [text for field in self.fields.values() for text in field.values]
        return tuple(dict.fromkeys([*named, *fresh, *closed]))

    def _declare(self, field: Field) -> None:
        if field.kind == "bool":
            self.variables[field.name, ""] = _TRUE | _FALSE
        elif field.kind == "text":
            self.variables[field.name, ""] = frozenset(field.values or self._texts)
        elif field.kind == "texts":
            for text in field.values or self._texts:
                self.variables[field.name, text] = _TRUE | _FALSE

    def _number(self, node: Node) -> int:
        if node not in self.numbers:
            self.numbers.append(node)
        return self.numbers.index(node)

    def _formula(self, node: Node, wanted: bool) -> _Formula:
        """Return the formula that holds where the condition is as wanted."""
        match node:
            case Flag(value):
                return value == wanted
            case Not(of):
                return self._formula(of, not wanted)
            case And(parts) | Or(parts):
                made = tuple(self._formula(part, wanted) for part in parts)
                return _All(made) if isinstance(node, And) == wanted else _Any(made)
            case Comparison():
                pairs = tuple(self._comparison(*pair, wanted) for pair in node.pairs)
                return _All(pairs) if wanted else _Any(pairs)
            case Member():
                return self._member(node, wanted != node.is_negated)
        return _Is((cast("Read", node).field.name, ""), frozenset({wanted}))

    def _comparison(self, left: Node, sign: Ordering, right: Node, wanted: bool) -> _Formula:
        kinds = {_kind(left), _kind(right)}
        if kinds == {"number"}:
            first, second = self._number(left), self._number(right)
            meaning = _MEANING[sign if first <= second else MIRRORED[sign]]
            return _Pair(min(first, second), max(first, second), meaning if wanted else _ALL - meaning)
        is_equal = (sign == "==") == wanted
        if kinds == {"bool"}:
            return _Same(self._formula(left, True), self._formula(right, True), is_equal)
        if isinstance(left, Text) and isinstance(right, Text):
            return (left.value == right.value) == is_equal
        if isinstance(left, Text) or isinstance(right, Text):
            field, text = (right, left) if isinstance(left, Text) else (left, right)
            return self._is_text(field, (cast("Text", text).value,), is_equal)
        return _Alike(_variable(left), _variable(right), is_equal)

    def _is_text(self, field: Node, texts: Iterable[str], wanted: bool) -> _Formula:
        variable = _variable(field)
        values = self.variables[variable]
        return _Is(variable, values & frozenset(texts) if wanted else values - frozenset(texts))

    def _member(self, node: Member, wanted: bool) -> _Formula:
        item, among = node.item, node.among
        if isinstance(among, Read):
            name = among.field.name
            return (
                _Is((name, item.value), frozenset({wanted}))
                if isinstance(item, Text)
                else _Among(_variable(item), name, wanted)
            )
        return (item.value in among) == wanted if isinstance(item, Text) else self._is_text(item, among, wanted)


def _kind(node: Node) -> str:
    if isinstance(node, Read):
        return "number" if node.field.is_number else node.field.kind
    if isinstance(node, Text):
        return "text"
    return "bool" if isinstance(node, Flag | Comparison | Member | Not | And | Or) else "number"


def _variable(node: Node) -> _Variable:
    return cast("Read", node).field.name, ""


# The search

_Bounds = list[Interval]
"""The interval of each number, by its place."""


class _State(NamedTuple):
    """One part of all values.

    Args:
        goals: the formulas that are not known to hold.
        box: the interval of each field that is a number.
        values: the possible values of each variable.
        known: `{(left, right): the only relation of these numbers}`.
        order: `{(left, right): left is less}`, or it is not greater; it has all that follows.
    """

    goals: tuple[_Formula, ...]
    box: dict[str, Interval]
    values: dict[_Variable, _Values]
    known: dict[tuple[int, int], str]
    order: dict[tuple[int, int], bool]


class _Searching:
    """One search."""

    def __init__(self, wanted: Sequence[Node]) -> None:
        self._formulas = _Formulas(wanted)
        self._numbers = self._formulas.numbers
        self._is_simple = [isinstance(node, Read | Number) for node in self._numbers]
        self._fields = {name: field for name, field in self._formulas.fields.items() if field.is_number}
        whole_text = And(tuple(wanted)) if len(wanted) > 1 else wanted[0] if wanted else Flag(True)
        readers = {name: _from_mapping(name) for name in self._formulas.fields}
        self._holds = compiled(Expression(text="", root=whole_text, kind="bool"), readers)
        read = {node.field.name for number in self._numbers for node in walk(number) if isinstance(node, Read)}
        self._discrete_in_numbers = tuple(
            field for field in self._formulas.fields.values() if field.name in read - {*self._fields}
        )
        """The texts and truth values on which numbers depend, by an `if`."""
        self._start = {name: cast("Interval", whole(field)) for name, field in self._fields.items()}

    def result(self, boxes: int) -> Search:
        waiting = deque([_State(tuple(self._formulas.goals), self._start, self._formulas.variables, {}, {})])
        for _ in range(boxes):
            if not waiting:
                return Search(values=None, is_decided=True)
            reduced = self._reduced(waiting.popleft())
            if reduced is None:
                continue
            state, bounds = reduced
            for values in self._candidates(state):
                if self._holds(values, None):
                    return Search(values=values, is_decided=True)
            if state.goals:
                waiting.extendleft(reversed(list(self._branches(state, bounds))))
            else:
                waiting.extend(self._halves(state))  # behind all others: this may go on for long
        return Search(values=None, is_decided=not waiting)

    # What is known

    def _reduced(self, state: _State) -> tuple[_State, _Bounds] | None:
        """Return the state with narrower intervals and simpler goals, and the bounds; None if it has no values."""
        while True:
            narrowed = self._narrowed(state)
            if narrowed is None:
                return None
            box, bounds = narrowed
            state = state._replace(box=box)
            if not all(self._relations(pair, state, bounds) for pair in state.known):
                return None
            goals: list[_Formula] = []
            for goal in state.goals:
                found = self._simplified(goal, state, bounds)
                if found is False:
                    return None
                if found is not True:
                    goals.append(found)
            state = state._replace(goals=tuple(goals))
            forced = next((goal for goal in goals if isinstance(goal, _Is)), None)
            if forced is None:
                return state, bounds
            values = state.values[forced.variable] & forced.allowed
            state = state._replace(values={**state.values, forced.variable: values})

    def _narrowed(self, state: _State) -> tuple[dict[str, Interval], _Bounds] | None:
        """Return the box and the bounds that follow from the order; None if there are none."""
        box = dict(state.box)
        bounds: _Bounds = []
        for _ in range(len(self._numbers) + 2):
            before, bounds = bounds, self._bounds(box, state)
            if bounds == before:
                break
            for (left, right), is_less in state.order.items():
                low, high = bounds[left].low, bounds[right].high
                least, most = (nextafter(low, inf), nextafter(high, -inf)) if is_less else (low, high)
                self._narrow(right, Interval(least, inf), box, bounds)
                self._narrow(left, Interval(-inf, most), box, bounds)
                if _is_empty(bounds[left]) or _is_empty(bounds[right]):
                    return None
        return box, bounds

    def _bounds(self, box: Mapping[str, Box], state: _State) -> _Bounds:
        """Return the bounds of all numbers in a box, with what is known of texts and truth values."""
        discrete = {field.name: _box_of(field, state.values) for field in self._discrete_in_numbers}
        return [interval(node, {**box, **discrete} if discrete else box) for node in self._numbers]

    def _narrow(self, place: int, to: Interval, box: dict[str, Interval], bounds: _Bounds) -> None:
        low, high, has_nan = bounds[place]
        found = Interval(max(low, to.low), min(high, to.high), has_nan)
        node = self._numbers[place]
        if isinstance(node, Read):
            if node.field.kind == "int" and not _is_empty(found):
                found = Interval(_whole_above(found.low), _whole_below(found.high))
            box[node.field.name] = found
        bounds[place] = found

    def _relations(self, pair: tuple[int, int], state: _State, bounds: _Bounds) -> _Relations:
        """Return the relations in which two numbers can be."""
        possible = _apart(bounds[pair[0]], bounds[pair[1]]) if pair[0] != pair[1] else _with_itself(bounds[pair[0]])
        if pair in state.known:
            return possible & {state.known[pair]}
        above, below = state.order.get(pair), state.order.get(pair[::-1])
        if above or below:
            return possible & {_LESS if above else _GREATER}
        return possible & {_EQUAL} if above is not None and below is not None else possible

    def _simplified(self, formula: _Formula, state: _State, bounds: _Bounds) -> _Formula:
        """Return what is left of a formula with what is known: True or False if all is known."""
        match formula:
            case _Pair(left, right, allowed):
                return _decided(self._relations((left, right), state, bounds), allowed, formula)
            case _All(parts) | _Any(parts):
                return _joined(formula, (self._simplified(part, state, bounds) for part in parts))
            case _Same(left, right, wanted):
                sides = self._simplified(left, state, bounds), self._simplified(right, state, bounds)
                return (
                    (sides[0] == sides[1]) == wanted
                    if all(isinstance(s, bool) for s in sides)
                    else _Same(*sides, wanted)
                )
        return _discretely(formula, state)

    # Where to look next

    def _branches(self, state: _State, bounds: _Bounds) -> Iterator[_State]:
        """Yield the parts of a state in which more is known of one atom; the ones that make it true come first."""
        goal = min(state.goals, key=lambda goal: sum(1 for _ in _atoms(goal)))
        atom = next(_atoms(goal))
        if isinstance(atom, _Pair):
            relations = self._relations(atom[:2], state, bounds)
            for relation in sorted(relations, key=lambda each: (each not in atom.allowed, each)):
                order = _ordered(state.order, atom.left, relation, atom.right)
                if order is not None:
                    yield state._replace(known={**state.known, atom[:2]: relation}, order=order)
            return
        variable = self._open_variable(atom, state)
        values = state.values[variable]
        first = atom.allowed & values if isinstance(atom, _Is) else frozenset(sorted(values, key=str)[:1])
        for part in (first, values - first):
            yield state._replace(values={**state.values, variable: part})

    def _open_variable(self, atom: _Is | _Alike | _Among, state: _State) -> _Variable:
        """Return a variable on which an undecided atom depends."""
        if isinstance(atom, _Is):
            return atom.variable
        if isinstance(atom, _Alike):
            return max(atom.left, atom.right, key=lambda variable: len(state.values[variable]))
        (text, *others) = state.values[atom.item]
        return atom.item if others else (atom.field, str(text))

    def _halves(self, state: _State) -> Iterator[_State]:
        """Yield the two halves of a state, divided where its relations leave the most open; none for a point."""
        bounds = self._bounds(state.box, state)  # without what the relations were taken to be
        open_pairs = [
            pair for pair, known in state.known.items() if _apart(bounds[pair[0]], bounds[pair[1]]) != {known}
        ]
        places = {place for pair in open_pairs for place in pair if not self._is_simple[place]}
        nodes = chain.from_iterable(walk(self._numbers[place]) for place in sorted(places))
        names = dict.fromkeys(node.field.name for node in nodes if isinstance(node, Read))
        for variable, values in state.values.items():
            if variable[0] in names and len(values) > 1:
                first = frozenset(sorted(values, key=str)[:1])
                yield from (state._replace(values={**state.values, variable: part}) for part in (first, values - first))
                return
        wide = [name for name in names if name in state.box and state.box[name].low < state.box[name].high]
        if not wide:
            return
        name = max(wide, key=lambda each: _width(state.box[each]) / (_width(self._start[each]) or 1.0))
        low, high, _ = state.box[name]
        below, above = _divided(low, high, is_whole=self._fields[name].kind == "int")
        yield state._replace(box={**state.box, name: Interval(low, below)})
        yield state._replace(box={**state.box, name: Interval(above, high)})

    # Values to try

    def _candidates(self, state: _State) -> Iterator[dict[str, Any]]:
        """Yield values of all fields: some that are pleasant to read, and the least ones that the order allows."""
        discrete = self._discrete(state)
        pleasant = self._assigned(state)
        if pleasant is not None:
            yield {**discrete, **pleasant}
        if not state.goals:
            least = {name: found.low for name, found in state.box.items()}
            yield {**discrete, **self._typed(least)}

    def _assigned(self, state: _State) -> dict[str, Any] | None:
        """Return a value for each number, one after the other, each within what the ones before it leave."""
        for name in state.box:
            low, high, _ = state.box[name]
            value = _pleasant(low, high, is_whole=self._fields[name].kind == "int")
            narrowed = self._narrowed(state._replace(box={**state.box, name: Interval(value, value)}))
            if narrowed is None:
                return None
            state = state._replace(box=narrowed[0])
        return self._typed({name: found.low for name, found in state.box.items()})

    def _typed(self, values: Mapping[str, float]) -> dict[str, Any]:
        return {name: int(value) if self._fields[name].kind == "int" else value for name, value in values.items()}

    def _discrete(self, state: _State) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for (name, text), values in state.values.items():
            kind = self._formulas.fields[name].kind
            if kind == "texts":
                found[name] = (*found.get(name, ()), *((text,) if values == _TRUE else ()))
            else:
                found[name] = min(values) if kind == "bool" else min(values, key=str)
        return found


def _box_of(field: Field, values: Mapping[_Variable, _Values]) -> Box:
    """Return the possible values of a text, of texts or of a truth value as a box."""
    if field.kind == "texts":
        texts = {text: found for (name, text), found in values.items() if name == field.name}
        sides = (frozenset(text for text, found in texts.items() if found == side) for side in (_TRUE, _FALSE))
        return Members(*sides)
    found = values[field.name, ""]
    if field.kind == "bool":
        return Truth((True in found) * 1 + (False in found) * 2)
    return Words(tuple(sorted(map(str, found))))


def _from_mapping(name: str) -> Callable[[Any, Any], Any]:
    return lambda values, _: values[name]


def _has(state: _State, field: str, text: str | bool) -> _Values:
    return state.values.get((field, str(text)), _FALSE)


def _discretely(formula: _Formula, state: _State) -> _Formula:
    """Return whether an atom about texts and bools holds, or the atom itself if it is open."""
    match formula:
        case _Is(variable, allowed):
            return _decided(state.values.get(variable, _FALSE), allowed, formula)
        case _Alike(left, right, wanted):
            return _alike(state.values[left], state.values[right], wanted, formula)
        case _Among(item, field, wanted):
            has = chain.from_iterable(_has(state, field, text) for text in state.values[item])
            return _decided(frozenset(has), frozenset({wanted}), formula)
    return formula


def _decided(possible: frozenset[Any], allowed: frozenset[Any], formula: _Formula) -> _Formula:
    """Return whether an atom holds, or the atom itself if it is open."""
    if possible <= allowed:
        return True
    return formula if possible & allowed else False


def _alike(left: _Values, right: _Values, wanted: bool, formula: _Formula) -> _Formula:
    if not left & right:
        return not wanted
    return wanted if left == right and len(left) == 1 else formula


def _joined(formula: _All | _Any, parts: Iterable[_Formula]) -> _Formula:
    deciding = isinstance(formula, _Any)
    kept: list[_Formula] = []
    for part in parts:
        if part is deciding:
            return deciding
        if not isinstance(part, bool):
            kept.append(part)
    if not kept:
        return not deciding
    return kept[0] if len(kept) == 1 else type(formula)(tuple(kept))


def _atoms(formula: _Formula) -> Iterator[_Atom]:
    match formula:
        case _All(parts) | _Any(parts):
            yield from chain.from_iterable(map(_atoms, parts))
        case _Same(left, right, _):
            yield from _atoms(left)
            yield from _atoms(right)
        case _Pair() | _Is() | _Alike() | _Among():
            yield formula


def _apart(left: Interval, right: Interval) -> _Relations:
    """Return the relations in which two numbers can be by their intervals."""
    found = set()
    if left.low < right.high:
        found.add(_LESS)
    if left.high > right.low:
        found.add(_GREATER)
    if left.low <= right.high and right.low <= left.high:
        found.add(_EQUAL)
    return frozenset(found | {_NAN} if left.has_nan or right.has_nan else found)


def _with_itself(of: Interval) -> _Relations:
    equal = frozenset() if _is_empty(of) else _MEANING["=="]
    return equal | {_NAN} if of.has_nan else equal


def _ordered(
    order: Mapping[tuple[int, int], bool], left: int, relation: str, right: int
) -> dict[tuple[int, int], bool] | None:
    """Return the order with one relation more and all that follows from it; None if it contradicts itself."""
    found = dict(order)
    if relation in {_LESS, _EQUAL} and not _add(found, left, right, relation == _LESS):
        return None
    if relation in {_GREATER, _EQUAL} and not _add(found, right, left, relation == _GREATER):
        return None
    return found


def _add(order: dict[tuple[int, int], bool], low: int, high: int, is_less: bool) -> bool:
    """Add `low <= high`, or `low < high`, and what follows; return False if a number would be less than itself."""
    below = [(low, False), *((place, strict) for (place, above), strict in order.items() if above == low)]
    above = [(high, False), *((place, strict) for (place_below, place), strict in order.items() if place_below == high)]
    for first, first_strict in below:
        for last, last_strict in above:
            strict = first_strict or is_less or last_strict
            if first != last:
                order[first, last] = order.get((first, last), False) or strict
            elif strict:
                return False
    return True


def _is_empty(of: Interval) -> bool:
    return of.low > of.high


def _whole_above(value: float) -> float:
    return float(ceil(value)) if abs(value) < inf else value


def _whole_below(value: float) -> float:
    return float(floor(value)) if abs(value) < inf else value


def _width(of: Interval) -> float:
    return of.high / 2 - of.low / 2


def _divided(low: float, high: float, *, is_whole: bool) -> tuple[float, float]:
    """Return the end of the lower half and the begin of the upper half: neighbours among the possible values."""
    below = _middle(low, high)
    if is_whole:
        below = float(floor(below))
        return (below, below + 1) if below < high else (below - 1, below)
    below = min(max(below, low), nextafter(high, -inf))
    return below, nextafter(below, inf)


def _middle(low: float, high: float) -> float:
    """Return a number between two others: of very different sizes, between their sizes."""
    if low < 0.0 < high:
        return 0.0 if high - low > 4.0 else low + (high - low) / 2
    small, large = sorted((abs(low), abs(high)))
    if large > 16.0 and small < large / 16.0:
        size = sqrt(max(small, 1.0)) * sqrt(large)
        return size if high > 0.0 else -size
    return low + (high - low) / 2


_WIDE: Final = 100.0
"""The width from which an interval is too wide for its middle to be a number that people meet."""


def _pleasant(low: float, high: float, *, is_whole: bool) -> float:
    """Return a number within an interval that is short to write, and not at its ends if possible."""
    powers = (sign * 10.0**power for sign in (1, -1) for power in range(16))
    if high - low > _WIDE and (small := next((power for power in powers if low < power < high), None)) is not None:
        return small
    middle = _middle(low, high)
    for digits in range(16):
        rounded = round(middle, digits)
        if low < rounded < high:
            return rounded
    return float(floor(middle)) if is_whole and low <= floor(middle) else min(max(middle, low), high)
