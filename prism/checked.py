"""Records that are checked when constructed, as they are when decoded.

msgspec checks a value when it decodes one, but not when a record is constructed: `Record(size=-5)` would be accepted.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from itertools import chain
from numbers import Integral, Real
from operator import contains
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from prism.errors import SettingError
from prism.expectations import expectation, guess, join, mismatch

R = TypeVar("R", bound=msgspec.Struct)

_PLAIN: Final = frozenset({bool, int, float, str, datetime, type(None)})


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A record that is checked however it is made: constructed, decoded, or changed with `structs.replace`.

    Values are converted as decoding converts them: an int to a float, a list to a tuple, a mapping to a record.
    Numbers and texts of other classes, such as NumPy's, become plain ones, and a path becomes a text.

    Raises:
        ValueError: a value is not of its field's type, out of its range, or not finite. At decoding it is a
            `msgspec.ValidationError`, which is a ValueError, too.
    """

    def __post_init__(self) -> None:
        given, fields = msgspec.structs.astuple(self), _fields(type(self))
        if not fields.are_held(given):
            for name, value in zip(self.__struct_fields__, given, strict=True):
                msgspec.structs.force_setattr(self, name, self.taken(name, value))

    @classmethod
    def taken(cls, name: str, value: object) -> Any:
        """Return the value of one field as the record holds it.

        Raises:
            ValueError: it is not of the field's type, out of its range, or not finite.
        """
        try:
            return converted(field_types(cls)[name], value, name)
        except SettingError as error:
            raise cls.refused(error.keys[0], error.problem) from None

    @classmethod
    def refused(cls, place: str, problem: str) -> ValueError:
        """Return the error for a field that cannot hold what it was given.

        Args:
            place: the field, or the part of its value that is wrong, such as `topics[3]`.
        """
        return ValueError(f"{place}: {problem}")


def converted(kind: Any, value: object, place: str = "") -> Any:
    """Return a value as a field of this type holds it.

    msgspec does the same, but does not say below which key of a mapping a value is wrong.

    Raises:
        SettingError: it cannot be held; `keys` has the place of the part that is wrong.
    """
    if kind is Any:
        return value
    members = _members(kind)
    if isinstance(value, Mapping):
        if (record := next(filter(_is_record, members), None)) is not None:
            return record_of(record, value, place)
        for of_key, of_value in [get_args(member) for member in members if get_origin(member) is dict]:
            keys = {key: join(place, str(key)) for key in value}
            value = {converted(of_key, key, keys[key]): converted(of_value, value[key], keys[key]) for key in value}
    elif isinstance(value, list | tuple):
        of_item = next((get_args(member)[0] for member in members if get_origin(member) in {list, tuple}), None)
        value = [
            _plain(each) if of_item is None else converted(of_item, each, f"{place}[{index}]")
            for index, each in enumerate(value)
        ]
    try:
        held = msgspec.convert(_plain(value), kind)
    except msgspec.ValidationError:
        held = math.nan
    # msgspec takes two values that a record must not hold: NaN, and a set, whose order differs between processes.
    if isinstance(value, set | frozenset) or not _are_finite((held,)):
        raise SettingError("", mismatch(kind, value), keys=(place,))
    return held


def record_of(kind: type[R], values: Mapping[Any, object], place: str = "") -> R:
    """Return the record that a mapping describes.

    Raises:
        SettingError: there is none.
    """
    types = field_types(kind)
    unknown = next((key for key in values if key not in types), None)
    if unknown is not None:
        raise SettingError("", f"unknown key; {guess(str(unknown), types)}", keys=(join(place, str(unknown)),))
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in values:
            told = re.search(rf"^ +(?:\w+, )*{field.name}(?:, \w+)*: ([^.;]+)", kind.__doc__ or "", re.MULTILINE)
            about = " ".join(told[1].split()) if told else expectation(field.type)
            raise SettingError("", f"is missing; expected {about}", keys=(join(place, field.name),))
    held = {name: converted(types[name], value, join(place, name)) for name, value in values.items()}
    try:
        return kind(**held)
    except SettingError as error:
        keys = [f"{place}{key}" if key.startswith("[") else join(place, key) if key else place for key in error.keys]
        raise SettingError(error.source, error.problem, keys=keys) from None
    except ValueError as error:
        raise SettingError("", " ".join(str(error).split()), keys=(place,)) from None


@cache
def _members(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the type itself, without their ranges."""
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(bare) in {Union, UnionType}:
        return tuple(chain.from_iterable(map(_members, get_args(bare))))
    return (bare,)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@cache
def field_types(record: type[msgspec.Struct]) -> Mapping[str, Any]:
    """Return `{field: its type}`, with the ranges that the annotations give."""
    return {field.name: field.type for field in msgspec.structs.fields(record)}


class _Fields:
    """The fields of a record, prepared for a quick look at all values at once: whatever is decoded is looked at."""

    def __init__(self, record: type[msgspec.Struct]) -> None:
        types = field_types(record)
        self._classes = [frozenset(plain_classes(kind)) for kind in types.values()]
        self._items = [(index, frozenset(_item_classes(kind))) for index, kind in enumerate(types.values())]
        self._items = [(index, classes) for index, classes in self._items if classes]
        # It has the same fields and no check: converting to the record itself would construct it again.
        self._unchecked = msgspec.defstruct(record.__name__, list(types.items()), array_like=True, gc=False)

    def are_held(self, values: tuple[Any, ...]) -> bool:
        """Return whether the record holds these values without change; False also if only a full check could tell."""
        if not all(map(contains, self._classes, map(type, values))) or not _are_finite(values):
            return False
        try:
            msgspec.convert(values, self._unchecked)
        # Where a mapping may stand, msgspec looks for the keys of any object that it does not know.
        except (msgspec.ValidationError, AttributeError):
            return False
        return all(_are_items(values[index], classes) for index, classes in self._items)


_fields = cache(_Fields)


def plain_classes(kind: Any) -> Iterator[type]:
    """Yield the classes whose values a field holds without conversion. A collection's items are checked as well."""
    for member in _members(kind):
        if get_origin(member) is Literal:
            yield from map(type, get_args(member))
        elif get_origin(member) in {tuple, dict}:
            yield get_origin(member)
        elif member in _PLAIN or _is_record(member):
            yield member


def _item_classes(kind: Any) -> Iterator[type]:
    """Yield the classes of the items of a list, or of the values of a mapping, as in `plain_classes`."""
    for member in _members(kind):
        if get_origin(member) in {tuple, dict}:
            yield from plain_classes(get_args(member)[get_origin(member) is dict])


def _are_items(value: object, classes: frozenset[type]) -> bool:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
    return classes.issuperset(map(type, items)) and _are_finite(items)


def _are_finite(values: Iterable[object]) -> bool:
    return all(map(math.isfinite, [value for value in values if type(value) is float]))


def _plain(value: object) -> object:
    """Return a number, text or path as a plain one; anything else unchanged."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)
