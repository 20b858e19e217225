"""The loader: settings from several places become one checked `Config`.

The order is: defaults, then YAML, then the environment, then `--set`. A later value replaces a setting as a whole,
lists included. A replaced value is not checked, but an unknown key is an error anywhere. Each value remembers where it
was set, so that an error can name the place. An empty section (`population:`) keeps its defaults, as in a file whose
keys are all commented out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import msgspec

from prism.checked import field_types
from prism.config.config import Config
from prism.config.document import LENGTH_MAX, Entry, join, read_document, read_value, without_lines
from prism.config.section import keys_of, sections_of, unknown_key
from prism.errors import ConfigError, SettingError
from prism.expectations import found

ENVIRONMENT_PREFIX = "PRISM_"
OVERRIDE_SOURCE = "--set"
MAPPING_SOURCE = "overrides"
NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({})


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """The value of one setting, and the place where it was set."""

    value: object
    source: str
    line: int | None = None

    def refuse(self, problem: str, key: str) -> ConfigError:
        """Return the error that names this value's place."""
        return ConfigError(self.source, problem, key=key, line=self.line)


class PlacedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration, and the place where each of its settings was set.

    Args:
        config: the configuration.
        leaves: `{dotted path: value and place}` of the settings that are not left at their defaults.
    """

    config: Config
    leaves: Mapping[str, Leaf]


def load_config(
    text: str | None = None,
    source: str = "configuration",
    *,
    environment: Mapping[str, str] = NO_ENVIRONMENT,
    overrides: Sequence[str] | Mapping[str, object] = (),
    length_max: int = LENGTH_MAX,
) -> Config:
    """Return the configuration that all sources together mean.

    This reads no file: `actors.read_config("study.yaml")` does, or `load_config(Path("study.yaml").read_text())`.

    Args:
        text: the YAML text; none where there is no file.
        source: what errors call the text, usually its file name.
        environment: every environment variable. `PRISM_A__B` sets `a.b`. Other names with `PRISM_` are left alone,
            except likely slips, which are refused: a section (`PRISM_POPULATION`), and a setting that lacks
            underscores (`PRISM_SIMULATION_SEED`).
        overrides: `{"a.b": value}`, or `a.b=value` each as YAML, the last one first in rank.
        length_max: characters that the text may have.

    Raises:
        ConfigError: the first thing that is wrong.
    """
    return load_placed_config(text, source, environment=environment, overrides=overrides, length_max=length_max).config


def load_placed_config(
    text: str | None,
    source: str,
    *,
    environment: Mapping[str, str],
    overrides: Sequence[str] | Mapping[str, object],
    length_max: int = LENGTH_MAX,
) -> PlacedConfig:
    """Return what `load_config` does, with the places of its settings, for errors that only their use can find."""
    leaves: dict[str, Leaf] = {}
    layers = (_from_text(text, source, length_max), _from_environment(environment), _from_overrides(overrides))
    for layer in layers:
        for path, leaf in layer:
            leaves.pop(path, None)  # so that the order of the leaves is the order in which they were set
            leaves[path] = leaf
    tree = _tree(leaves)
    try:
        return PlacedConfig(config=Config(**tree), leaves=leaves)
    except SettingError as error:  # each value is right by itself, so these cannot hold together
        blamed = next(path for path in reversed(leaves) if path in error.keys)
        raise leaves[blamed].refuse(error.problem, blamed) from None


def _from_text(text: str | None, source: str, length_max: int) -> Iterator[tuple[str, Leaf]]:
    if text is not None:
        if text.endswith((".yaml", ".yml")) and "\n" not in text:
            raise ConfigError(source, f"expected YAML text, got a file's name; actors.read_config({text!r}) reads it")
        yield from _from_section(read_document(text, source, length_max=length_max), source, "")


def _from_section(entries: Mapping[str, Entry], source: str, section: str) -> Iterator[tuple[str, Leaf]]:
    sections = sections_of(Config)
    for name, entry in entries.items():
        path = join(section, name)
        if name not in field_types(sections[section]):
            raise ConfigError(source, unknown_key(Config, section, name), key=path, line=entry.line)
        if path not in sections:
            yield path, Leaf(value=without_lines(entry.value), source=source, line=entry.line)
        elif isinstance(entry.value, dict):
            yield from _from_section(entry.value, source, path)
        elif entry.value is not None:
            problem = f"expected a section with keys ({keys_of(sections[path])}), got {found(entry.value)}"
            raise ConfigError(source, problem, key=path, line=entry.line)


def _from_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, Leaf]]:
    for variable in sorted(environment):  # the order of an environment means nothing, so it must decide nothing
        name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        if variable.startswith(ENVIRONMENT_PREFIX) and ("__" in name or name in field_types(Config)):
            path = _known_path(name.split("__"), variable)
            yield path, Leaf(value=read_value(environment[variable], variable, path), source=variable)
        elif variable.startswith(ENVIRONMENT_PREFIX) and (meant := _settings_by_flat_name().get(name)) is not None:
            right = ENVIRONMENT_PREFIX + meant.replace(".", "__").upper()
            raise ConfigError(variable, f"is no setting; did you mean {right}, with two underscores for each dot?")


@cache
def _settings_by_flat_name() -> Mapping[str, str]:
    """Return the dotted path of every setting by the name that it has with one underscore for each dot."""
    sections = sections_of(Config)
    paths = (join(section, name) for section, kind in sections.items() for name in field_types(kind))
    return {path.replace(".", "_"): path for path in paths if path not in sections}


def _from_overrides(overrides: Sequence[str] | Mapping[str, object]) -> Iterator[tuple[str, Leaf]]:
    if isinstance(overrides, Mapping):
        for name, value in overrides.items():
            yield _known_path(name.split("."), MAPPING_SOURCE), Leaf(value=value, source=MAPPING_SOURCE)
        return
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals:
            raise ConfigError(OVERRIDE_SOURCE, f"expected key=value, got {found(override)}")
        path = _known_path(name.strip().split("."), OVERRIDE_SOURCE)
        yield path, Leaf(value=read_value(value, OVERRIDE_SOURCE, path), source=OVERRIDE_SOURCE)


def _known_path(parts: Sequence[str], source: str) -> str:
    """Return the dotted path of a setting, from its parts."""
    sections = sections_of(Config)
    whole, section = "", ""
    for part in parts:
        whole = join(whole, part)
    for part in parts:
        if section not in sections:
            raise ConfigError(source, f"unknown key; {section} is a setting and has no keys of its own", key=whole)
        if part not in field_types(sections[section]):
            raise ConfigError(source, unknown_key(Config, section, part), key=whole)
        section = join(section, part)
    if section in sections:
        raise ConfigError(source, f"expected one key of this section: {keys_of(sections[section])}", key=whole)
    return section


def _tree(leaves: Mapping[str, Leaf]) -> dict[str, Any]:
    """Return the leaves as nested sections, each value as its section holds it."""
    tree: dict[str, Any] = {}
    for path, leaf in leaves.items():
        *outer, name = path.split(".")
        try:
            value = sections_of(Config)[".".join(outer)].taken(name, leaf.value)
        except SettingError as error:
            raise leaf.refuse(error.problem, error.key or path) from None
        branch = tree
        for section in outer:
            branch = branch.setdefault(section, {})
        branch[name] = value
    return tree
