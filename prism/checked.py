"""Records that are checked when they are constructed. msgspec checks a record only when it decodes one."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from numbers import Integral, Real
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec

from prism.errors import SettingError
from prism.expectations import expectation, guess, join, mismatch

R = TypeVar("R", bound=msgspec.Struct)


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A record that is checked however it is made: constructed, decoded, or changed with `structs.replace`.

    Values are converted as decoding converts them: an int to a float, a list to a tuple, a mapping to a record.
    Numbers and texts of other classes, such as NumPy's, become plain ones, and a path becomes a text.

    Raises:
        ValueError: a value is not of its field's type, out of its range, or not finite. At decoding it is a
            `msgspec.ValidationError`, which is a ValueError, too.
    """

    def __post_init__(self) -> None:
        for name, kind in _kinds(type(self)).items():
            try:
                msgspec.structs.force_setattr(self, name, kind.converted(getattr(self, name), name))
            except SettingError as error:
                raise self.refused(error.keys[0], error.problem) from None

    @classmethod
    def refused(cls, place: str, problem: str) -> ValueError:
        """Return the error for a field, or a part of its value such as `topics[3]`."""
        return ValueError(f"{place}: {problem}")


class Kind:
    """A type of values, taken apart: the members of its union, what a mapping or a list of it holds, its own checks."""

    def __init__(self, of: Any) -> None:
        self.of = of
        self.members = _members(of)
        self.record: type[Any] | None = next(
            (each for each in self.members if isinstance(each, msgspec.StructMeta)), None
        )
        self.mapping = next((get_args(each) for each in self.members if get_origin(each) is dict), None)
        self.item = next((get_args(each)[0] for each in self.members if get_origin(each) in {list, tuple}), Any)
        self.checks = [each for each in getattr(of, "__metadata__", ()) if callable(each)]

    def converted(self, value: Any, place: str) -> Any:
        """Return a value as a field of this type holds it, or raise a SettingError with the place of the wrong part.

        msgspec does the same, but does not say below which key of a mapping a value is wrong, and takes NaN, and a set,
        whose order differs between processes.
        """
        if self.of is Any or type(value) is self.record:  # a record was checked when it was made
            return value
        if isinstance(value, Mapping) and self.record is not None:
            value = record_of(self.record, value, place)
        elif isinstance(value, Mapping) and self.mapping is not None:
            keys = {key: join(place, str(key)) for key in value}
            of_key, of_value = map(kind_of, self.mapping)
            value = {
                of_key.converted(key, keys[key]): of_value.converted(each, keys[key]) for key, each in value.items()
            }
        elif isinstance(value, list | tuple):
            value = [kind_of(self.item).converted(each, f"{place}[{index}]") for index, each in enumerate(value)]
        try:
            held = msgspec.convert(_plain(value), self.of)
        except msgspec.ValidationError:
            held = math.nan
        if isinstance(value, set | frozenset) or (type(held) is float and not math.isfinite(held)):
            raise SettingError("value", mismatch(self.of, value), keys=(place,))
        try:
            for problems in (check(held) for check in self.checks if held is not None):
                for part, problem in problems if isinstance(problems, Iterator) else ():
                    raise SettingError("value", problem, keys=(f"{place}{part}",))
        except (UnicodeError, LookupError, ValueError) as error:
            raise (
                error if isinstance(error, SettingError) else SettingError("value", str(error), keys=(place,))
            ) from None
        return held


kind_of = cache(Kind)


def _members(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the type itself, without their ranges."""
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return tuple(chain(*map(_members, get_args(bare)))) if get_origin(bare) in {Union, UnionType} else (bare,)


def converted(of: Any, value: Any, place: str = "") -> Any:
    """Return a value converted to this type. Raises: SettingError, with the place of the wrong part."""
    return kind_of(of).converted(value, place)


def record_of(kind: type[R], values: Mapping[Any, object], place: str = "") -> R:
    """Return the record that a mapping describes, or raise a SettingError."""
    types = _kinds(kind)
    for key in values:
        if key not in types:
            raise SettingError(kind.__name__, f"unknown key; {guess(str(key), types)}", keys=(join(place, str(key)),))
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in values:
            # The record's docstring says what a missing key is for, under Args.
            told = re.search(rf"^ +(?:\w+, )*{field.name}(?:, \w+)*: ([^.;]+)", kind.__doc__ or "", re.MULTILINE)
            problem = f"is missing; expected {' '.join(told[1].split()) if told else expectation(field.type)}"
            raise SettingError(kind.__name__, problem, keys=(join(place, field.name),))
    held = {name: types[name].converted(value, join(place, name)) for name, value in values.items()}
    try:
        return kind(**held)
    except SettingError as error:
        keys = [f"{place}{key}" if key.startswith("[") else join(place, key) if key else place for key in error.keys]
        raise SettingError(error.source, error.problem, keys=keys) from None
    except ValueError as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        raise SettingError(kind.__name__, problem, keys=(place,)) from error


@cache
def _kinds(record: type[msgspec.Struct]) -> Mapping[str, Kind]:
    return {name: kind_of(kind) for name, kind in field_types(record).items()}


@cache
def field_types(record: type[msgspec.Struct]) -> Mapping[str, Any]:
    """Return `{field: its type}`, with the ranges that the annotations give, of the fields that a file may have.

    A field that only code sets is renamed to a key that no file can have.
    """
    return {each.name: each.type for each in msgspec.structs.fields(record) if each.encode_name == each.name}


def _plain(value: object) -> object:
    """Return a number, text or path as a plain one; anything else unchanged."""
    if type(value) in (int, float, bool, type(None)):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)
