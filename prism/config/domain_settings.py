"""The settings of a user's domain, below the key `domain`: only the domain knows which settings exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from prism.checked import field_types
from prism.config.section import Section, is_section
from prism.errors import SettingError
from prism.expectations import expectation, join

DOMAIN = "domain"
"""The key of these settings in a configuration."""

S = TypeVar("S", bound=Section)


class NoSettings(Section):
    """The settings of a domain without settings."""


class Missing(NamedTuple):
    """A setting without a default that is not set, by its place below `domain`."""

    place: str
    problem: str


def settings_from(kind: type[S], values: Mapping[str, object]) -> S:
    """Return the settings of a domain as its own type holds them."""
    if (missing := first_missing(kind, values)) is not None:
        raise SettingError(kind.__name__, missing.problem, keys=(join(DOMAIN, missing.place),))
    try:
        return kind(**values)
    except SettingError as error:
        raise placed_below(error) from None
    except ValueError as error:  # of a check that the domain makes itself
        raise SettingError(
            kind.__name__, " ".join(str(error).split()) or type(error).__name__, keys=(DOMAIN,)
        ) from error


def placed_below(error: SettingError) -> SettingError:
    """Return an error of a domain's settings with their places in the whole configuration."""
    return SettingError(error.source, error.problem, keys=[join(DOMAIN, key) for key in error.keys])


def plain_settings(settings: object) -> Any:
    """Return settings as plain values, as a file would give them."""
    return msgspec.to_builtins(settings, enc_hook=_refuse_to_encode)


def places_of(values: Mapping[str, object], path: str = DOMAIN) -> Iterator[str]:
    """Yield the dotted path of every setting below `domain`, and of every mapping in one."""
    for name, value in values.items():
        yield join(path, name)
        if isinstance(value, Mapping):
            yield from places_of(value, join(path, name))


def first_missing(kind: type[Section], values: Mapping[str, object]) -> Missing | None:
    """Return the first setting that has no default and no value; None if there is none."""
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in values:
            return Missing(field.name, f"is not set, and has no default: expected {expectation(field.type)}")
    for name, inner in field_types(kind).items():
        value = values.get(name)
        if is_section(inner) and isinstance(value, Mapping) and (missing := first_missing(inner, value)) is not None:
            return Missing(join(name, missing.place), missing.problem)
    return None


def _refuse_to_encode(value: object) -> Any:
    raise TypeError(f"expected a value that YAML has, got {type(value).__name__}")
