"""The loader: settings from several places become one checked `Config`.

The order is: defaults, then YAML, then the environment, then `--set`. A later value replaces a setting as a whole,
lists included; only an attribute of people, or its weight, can be set alone, and the others stay. A replaced value is
not checked, but an unknown key is an error anywhere. Each value remembers where it was set, so that an error can name
the place. An empty section (`population:`) keeps its defaults, as in a file whose keys are all commented out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from prism.checked import field_types, plain_classes
from prism.config.attributes import PLACE, POSTS_PLACE, WEIGHTS
from prism.config.checks import find_intervention_conflicts
from prism.config.config import Config
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.section import (
    DOMAIN,
    Section,
    keys_of,
    no_section,
    placed_below,
    plain_settings,
    sections_of,
    settings_from,
    unknown_key,
)
from prism.config.yaml_text import LENGTH_MAX, Entry, read_document, read_list, read_value, with_places, without_lines
from prism.errors import ConfigError, SettingError, together
from prism.expectations import found, join

ENVIRONMENT_PREFIX = "PRISM_"
OVERRIDE_SOURCE = "--set"
MAPPING_SOURCE = "overrides"
DECLARATIONS = (PLACE, POSTS_PLACE, WEIGHTS, DOMAIN)
"""Settings whose keys the user names. One of them can be set alone, and the others stay."""
NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({})


Found = tuple[str, Entry | ConfigError]
"""`(dotted path, value and place)` of a setting in one source, or an error in the place of its value."""


class PlacedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration, and the place where each of its settings was set.

    Args:
        config: the configuration.
        leaves: `{dotted path: value and place}` of the settings that are not left at their defaults.
    """

    config: Config
    leaves: Mapping[str, Entry]


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
        text: the YAML text; None without a file.
        source: what errors call the text, usually its file name.
        environment: every environment variable. `PRISM_A__B` sets `a.b`. Other names with `PRISM_` are left alone,
            except likely slips, which are refused: a section (`PRISM_POPULATION`), and a setting that lacks
            underscores (`PRISM_SIMULATION_SEED`).
        overrides: `{"a.b": value}`, or `a.b=value` each as YAML; the last one wins.
        length_max: characters that the text may have.

    Raises:
        ConfigError: keys are unknown or values are wrong, or, if each is right by itself, settings contradict each
            other. It tells of all of them, the first one in its fields and the rest in `others`.
    """
    return load_placed_config(text, source, environment=environment, overrides=overrides, length_max=length_max).config


def load_placed_config(
    text: str | None,
    source: str,
    *,
    environment: Mapping[str, str],
    overrides: Sequence[str] | Mapping[str, object],
    length_max: int = LENGTH_MAX,
    own: type[Section] | None = None,
) -> PlacedConfig:
    """Return what `load_config` does, with the places of its settings, for errors that only their use can find.

    Args:
        own: the type of the settings below `domain`, which are then checked, and given with all their defaults; None if
            it is not known.
    """
    leaves: dict[str, Entry] = {}
    wrong: list[ConfigError] = []
    known = _known(own)
    if text is not None and text.endswith((".yaml", ".yml")) and "\n" not in text:
        raise ConfigError(source, f"expected YAML text, got a file's name; actors.read_config({text!r}) reads it")
    document = {} if text is None else read_document(text, source, length_max=length_max)
    for path, given in chain(
        _from_section(known, document, source, ""),
        _from_environment(known, environment),
        _from_overrides(known, overrides),
    ):
        if isinstance(given, ConfigError):
            wrong.append(given)
            continue
        whole = path if path in known.types else next(each for each in DECLARATIONS if path.startswith(f"{each}."))
        before = leaves.pop(whole, None)  # so that the order of the leaves is the order in which they were set
        leaves[whole] = given if path == whole else _with(before, path[len(whole) + 1 :].split("."), given)
    tree = _tree(known, leaves, wrong)
    if wrong:
        raise together(wrong)
    try:
        if own is not None:
            tree[DOMAIN] = plain_settings(settings_from(own, tree.get(DOMAIN, {})))
        return PlacedConfig(config=Config(**tree), leaves=leaves)
    except SettingError as error:  # each value is right by itself, so these cannot hold together
        raise placed_error(error, leaves, source) from error.__cause__


def load_interventions(config: Config, text: str, source: str, tick: int) -> Config:
    """Return a configuration with further interventions.

    Args:
        text: YAML: a list of interventions, or a mapping with one below the key `interventions`.
        source: what errors call the text, usually its file name.
        tick: the first tick at which they may happen.

    Raises:
        ConfigError: one of them is wrong, or happens earlier.
    """
    leaf = read_list(text, source, INTERVENTIONS)
    try:
        added = Config.taken(INTERVENTIONS, without_lines(leaf.value))
    except SettingError as error:
        raise leaf.refused(error.problem, error.keys[0], INTERVENTIONS) from None
    wrong = [
        leaf.refused(
            f"expected tick {tick:,} or later, where the fork begins, got tick {at:,}",
            f"{INTERVENTIONS}[{index}].{each.when}",
            INTERVENTIONS,
        )
        for index, each in enumerate(added)
        if (at := each.at(config.simulation.ticks_per_round)) < tick
    ]
    conflicts = find_intervention_conflicts(config, added)
    if wrong := wrong or [leaf.refused(each.problem, each.keys[0], INTERVENTIONS) for each in conflicts]:
        raise together(wrong)
    return replace(config, interventions=(*config.interventions, *added))


def placed_error(error: ConfigError, leaves: Mapping[str, Entry], source: str) -> ConfigError:
    """Return an error of settings, and those beside it, with the place of the setting that was set last."""
    found = []
    for each in (error, *error.others):
        keys = each.keys if isinstance(each, SettingError) else (each.key or "",)
        places = (
            leaves[path].refused(each.problem, key, path)
            for path in reversed([*leaves])
            for key in keys
            if key == path or key.startswith((f"{path}.", f"{path}["))
        )
        found.append(next(places, None) or ConfigError(source, each.problem, key=each.key))  # else it is missing
    return together(found)


class _Known(NamedTuple):
    """All known sections, and the types of all settings, by their dotted paths."""

    sections: Mapping[str, type[Section]]
    types: Mapping[str, Any]


@cache
def _known(own: type[Section] | None) -> _Known:
    """Return what is known if the settings below `domain` are of this type; None if any may be there."""
    inner = {} if own is None else sections_of(own)
    sections = {**sections_of(Config), **{f"{DOMAIN}.{path}".rstrip("."): kind for path, kind in inner.items()}}
    fields = ((join(path, name), of) for path, kind in sections.items() for name, of in field_types(kind).items())
    return _Known(sections, {path: kind for path, kind in fields if path not in sections})


def _with(entry: Entry | None, parts: Sequence[str], given: Entry) -> Entry:
    """Return a mapping with the value of one key replaced, which may be inside of another; other values unchanged."""
    if not parts:
        return given
    keys = entry.value if entry is not None and isinstance(entry.value, dict) else {}
    return replace(entry or given, value={**keys, parts[0]: _with(keys.get(parts[0]), parts[1:], given)})


def _from_section(known: _Known, entries: Mapping[str, Entry], source: str, section: str) -> Iterator[Found]:
    sections = known.sections
    for name, entry in entries.items():
        path = join(section, name)
        if name not in field_types(sections[section]):
            yield path, ConfigError(source, unknown_key(sections, section, name), key=path, line=entry.line)
            continue
        if path == DOMAIN and entry.value is None:
            continue
        if path not in sections:
            yield path, entry
        elif isinstance(entry.value, dict):
            yield from _from_section(known, entry.value, source, path)
        elif entry.value is not None:
            yield path, ConfigError(source, no_section(sections[path], entry.value), key=path, line=entry.line)


def _from_environment(known: _Known, environment: Mapping[str, str]) -> Iterator[Found]:
    for variable in sorted(environment):  # the order of an environment means nothing, so it must decide nothing
        name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        if variable.startswith(ENVIRONMENT_PREFIX) and ("__" in name or name in field_types(Config)):
            yield _from_entry(known, name.split("__"), environment[variable], variable)
            continue
        meant = next((path for path in known.types if path.replace(".", "_") == name), None)
        if variable.startswith(ENVIRONMENT_PREFIX) and meant is not None:
            right = ENVIRONMENT_PREFIX + meant.replace(".", "__").upper()
            problem = f"is no setting; did you mean {right}, with two underscores for each dot?"
            yield meant, ConfigError(variable, problem)


def _from_overrides(known: _Known, overrides: Sequence[str] | Mapping[str, object]) -> Iterator[Found]:
    if isinstance(overrides, Mapping):
        for name, value in overrides.items():
            yield (
                _known_path(known, name.split("."), MAPPING_SOURCE),
                Entry(value=with_places(value, MAPPING_SOURCE), source=MAPPING_SOURCE),
            )
        return
    for override in overrides:
        name, equals, value = override.partition("=")
        if equals:
            yield _from_entry(known, name.strip().split("."), value, OVERRIDE_SOURCE)
        else:
            yield name, ConfigError(OVERRIDE_SOURCE, f"expected key=value, got {found(override)}")


def _from_entry(known: _Known, parts: Sequence[str], text: str, source: str) -> Found:
    """Return what the text of one setting means."""
    try:
        path = _known_path(known, parts, source)
        value = given_setting(text, source, path, known.types.get(path))
        return path, Entry(value=with_places(value, source), source=source)
    except ConfigError as error:
        return error.key or "", error


def given_setting(text: str, source: str, path: str, kind: Any = None) -> object:
    """Return the value of one setting that is given as a text of its own: YAML, but words are taken as they are.

    So `my edges #1.csv` and `a: b` are whole, though YAML sees a comment and a key in them. Quotes around all of it are
    YAML's, and so are lines below `|` or `>`.
    """
    kind = _known(None).types.get(path) if kind is None else kind
    classes = set() if kind is None else {*plain_classes(kind)}
    is_text, plain = str in classes and not classes & {bool, int, float, dict, tuple, datetime}, text.strip()
    if plain.lower() in ("", "~", "null"):
        return None
    try:
        value = read_value(text, source, path)
    except ConfigError:
        if is_text:
            return plain
        raise
    is_yaml = isinstance(value, str) and re.fullmatch(r"([\"']).*\1|[|>][-+0-9]*\s*\n.*", plain, re.DOTALL)
    return plain if not is_yaml and (is_text or value is None or isinstance(value, str)) else value


def _known_path(known: _Known, parts: Sequence[str], source: str) -> str:
    """Return the dotted path of a setting, from its parts."""
    whole, section = "", ""
    for part in parts:
        whole = join(whole, part)
    for part in parts:
        if section in DECLARATIONS and section not in known.sections:
            return whole
        if section not in known.sections:
            raise ConfigError(source, f"unknown key; {section} is set as a whole: {section}=...", key=whole)
        if part not in field_types(known.sections[section]):
            raise ConfigError(source, unknown_key(known.sections, section, part), key=whole)
        section = join(section, part)
    if section in known.sections:
        keys = keys_of(known.sections[section])
        raise ConfigError(source, f"expected one key of this section: {keys}", key=whole)
    return section


def _tree(known: _Known, leaves: Mapping[str, Entry], wrong: list[ConfigError]) -> dict[str, Any]:
    """Return the leaves as nested sections, each value as its section holds it."""
    tree: dict[str, Any] = {}
    for path, leaf in leaves.items():
        *outer, name = path.split(".")
        try:
            value = known.sections[".".join(outer)].taken(name, without_lines(leaf.value))
        except SettingError as error:
            keys = placed_below(error).keys if outer[:1] == [DOMAIN] else error.keys
            # The first one is to blame, or one that was set by itself, on top of the others.
            later = (key for key in keys if leaf.at(key.removeprefix(path)).source != leaf.source)
            wrong.append(leaf.refused(error.problem, next(later, keys[0]), path))
            continue
        branch = tree
        for section in outer:
            branch = branch.setdefault(section, {})
        branch[name] = value
    return tree
