"""Settings from several places become one checked `Config`: defaults, then YAML, then the environment, then `--set`.

A value remembers where it was set, so that an error points there. Whatever comes later replaces a setting as a whole,
lists included, and a value that was replaced is not judged: only unknown keys are refused wherever they stand.
A section without anything below it (`population:`) keeps its defaults, as in a file whose keys are all commented out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

import msgspec

from prism.config.checks import find_conflict
from prism.config.describe import Setting, settings
from prism.config.document import LENGTH_MAX, Entry, found, join, read_document, read_value, without_lines
from prism.config.model import Config
from prism.errors import ConfigError

ENVIRONMENT_PREFIX = "PRISM_"
OVERRIDE_SOURCE = "--set"


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """The value of one setting and where it was set."""

    value: object
    source: str
    line: int | None = None

    def refuse(self, problem: str, key: str) -> ConfigError:
        """The error that points at this value."""
        return ConfigError(self.source, problem, key=key, line=self.line)


def load_config(
    text: str | None,
    source: str,
    *,
    environment: Mapping[str, str],
    overrides: Sequence[str],
    length_max: int = LENGTH_MAX,
) -> Config:
    """The configuration that all sources together mean.

    Args:
        text: the YAML text; none where there is no file.
        source: what errors call the text, usually its file name.
        environment: every environment variable. `PRISM_A__B` sets `a.b`. Other names with `PRISM_` are left alone,
            except that of a section (`PRISM_POPULATION`), which is refused as a likely slip.
        overrides: `a.b=value` each, the last one first in rank.
        length_max: characters that the text may have.

    Raises:
        ConfigError: the first thing that is wrong.
    """
    leaves: dict[str, Leaf] = {}
    layers = (_from_text(text, source, length_max), _from_environment(environment), _from_overrides(overrides))
    for layer in layers:
        for path, leaf in layer:
            leaves.pop(path, None)  # so that the order of the leaves is the order in which they were set
            leaves[path] = leaf
    _refuse_unbounded(leaves)
    config = _convert(leaves)
    conflict = find_conflict(config)
    if conflict is not None:
        blamed = next(path for path in reversed(leaves) if path in conflict.keys)
        raise leaves[blamed].refuse(conflict.problem, blamed)
    return config


def _from_text(text: str | None, source: str, length_max: int) -> Iterator[tuple[str, Leaf]]:
    if text is not None:
        yield from _from_section(read_document(text, source, length_max=length_max), source, "")


def _from_section(entries: Mapping[str, Entry], source: str, section: str) -> Iterator[tuple[str, Leaf]]:
    for name, entry in entries.items():
        path = join(section, name)
        if name not in _sections()[section]:
            raise ConfigError(source, _unknown(section, name), key=path, line=entry.line)
        if path not in _sections():
            yield path, Leaf(value=without_lines(entry.value), source=source, line=entry.line)
        elif isinstance(entry.value, dict):
            yield from _from_section(entry.value, source, path)
        elif entry.value is not None:
            problem = f"expected a section with keys ({_names(path)}), got {found(entry.value)}"
            raise ConfigError(source, problem, key=path, line=entry.line)


def _from_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, Leaf]]:
    for variable in sorted(environment):  # the order of an environment means nothing, so it must decide nothing
        name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        if variable.startswith(ENVIRONMENT_PREFIX) and ("__" in name or name in _sections()[""]):
            path = _known_path(name.split("__"), variable)
            yield path, Leaf(value=read_value(environment[variable], variable, path), source=variable)


def _from_overrides(overrides: Sequence[str]) -> Iterator[tuple[str, Leaf]]:
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals:
            raise ConfigError(OVERRIDE_SOURCE, f"expected key=value, got {found(override)}")
        path = _known_path(name.strip().split("."), OVERRIDE_SOURCE)
        yield path, Leaf(value=read_value(value, OVERRIDE_SOURCE, path), source=OVERRIDE_SOURCE)


def _known_path(parts: Sequence[str], source: str) -> str:
    """The dotted path of a setting, from its parts."""
    whole, section = "", ""
    for part in parts:
        whole = join(whole, part)
    for part in parts:
        if section not in _sections():
            raise ConfigError(source, f"unknown key; {section} is a setting and has no keys of its own", key=whole)
        if part not in _sections()[section]:
            raise ConfigError(source, _unknown(section, part), key=whole)
        section = join(section, part)
    if section in _sections():
        raise ConfigError(source, f"expected one key of this section: {_names(section)}", key=whole)
    return section


def _unknown(section: str, name: str) -> str:
    """What to say of a key that a section does not have."""
    close = get_close_matches(name, _sections()[section], n=1)
    elsewhere = [setting.path for setting in settings() if setting.name == name]
    guesses = elsewhere or [join(section, guess) for guess in close]
    if guesses:
        return f"unknown key; did you mean {' or '.join(guesses)}?"
    return f"unknown key; {section or 'the top'} has: {_names(section)}"


@cache
def _sections() -> Mapping[str, tuple[str, ...]]:
    """What each section has in it, sections and settings, by its path; "" is the top."""
    known: dict[str, dict[str, None]] = {}
    for setting in settings():
        parts = setting.path.split(".")
        for depth, part in enumerate(parts):
            known.setdefault(".".join(parts[:depth]), {})[part] = None
    return {section: tuple(names) for section, names in known.items()}


def _names(section: str) -> str:
    return ", ".join(_sections()[section])


@cache
def _catalogue() -> Mapping[str, Setting]:
    return {setting.path: setting for setting in settings()}


def _refuse_unbounded(leaves: Mapping[str, Leaf]) -> None:
    """Refuse `.nan` and `.inf`, which pass every range that is open on their side."""
    for path, leaf in leaves.items():
        for value in leaf.value if isinstance(leaf.value, list) else (leaf.value,):
            if isinstance(value, float) and not math.isfinite(value):
                raise leaf.refuse(f"expected {_catalogue()[path].type}, got {found(leaf.value)}", path)


def _convert(leaves: Mapping[str, Leaf]) -> Config:
    """The one strict conversion; defaults fill in what no leaf sets."""
    tree: dict[str, Any] = {}
    for path, leaf in leaves.items():
        *sections, name = path.split(".")
        branch = tree
        for section in sections:
            branch = branch.setdefault(section, {})
        branch[name] = leaf.value
    try:
        return msgspec.convert(tree, Config)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), leaves) from error


def _refusal(message: str, leaves: Mapping[str, Leaf]) -> ConfigError:
    """What msgspec says of a value, with the value, its range and its place."""
    place = re.search(r"at `\$\.([\w.]+)(?:\[(\d+)\])?", message)
    if place is None or place[1] not in leaves:
        return ConfigError("configuration", message)
    path, index = place[1], place[2]
    leaf, setting = leaves[path], _catalogue()[path]
    if index is not None and isinstance(leaf.value, list):
        item = found(leaf.value[int(index)])
        return leaf.refuse(f"expected {setting.item_type}, got {item}", f"{path}[{index}]")
    return leaf.refuse(f"expected {setting.type}, got {found(leaf.value)}", path)
