"""The loader: settings from several places become one checked `Config`.

The order is: defaults, then YAML, then the environment, then `--set`. A later value replaces a setting as a whole,
lists included; only an attribute of people, or its weight, can be set alone, and the others stay. A replaced value is
not checked, but an unknown key is an error anywhere. Each value remembers where it was set, so that an error can name
the place. An empty section (`population:`) keeps its defaults, as in a file whose keys are all commented out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, reduce
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from prism.checked import converted, field_types, kind_of, record_of
from prism.config.attributes import PLACE, POSTS_PLACE, WEIGHTS
from prism.config.config import Config, find_intervention_conflicts
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.section import DOMAIN, Section, is_section, plain_settings, sections_of, unknown_key
from prism.config.yaml_text import COLON, LENGTH_MAX, Document, innermost, read_document, read_yaml
from prism.errors import ConfigError, SettingError, together
from prism.expectations import found, join, mismatch

ENVIRONMENT_PREFIX = "PRISM_"
OVERRIDE_SOURCE = "--set"
MAPPING_SOURCE = "overrides"
DECLARATIONS = (PLACE, POSTS_PLACE, WEIGHTS, DOMAIN)
"""Settings whose keys the user names. One of them can be set alone, and the others stay."""
SECTIONS: Final = sections_of(Config)


class Place(NamedTuple):
    """The place where something was set: a file and its line, `--set`, or an environment variable."""

    source: str
    line: int | None = None


class PlacedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration, and `{dotted path: place}` of all settings that were set, and of parts of values, in order."""

    config: Config
    places: Mapping[str, Place]


Found = tuple[str, object, Place] | ConfigError
"""`(dotted path, value, place)` of a setting in one source, or an error in the place of its value."""


def load_config(
    text: str | None = None,
    source: str = "configuration",
    *,
    environment: Mapping[str, str] = MappingProxyType({}),
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
    if text is not None and text.endswith((".yaml", ".yml")) and "\n" not in text:
        raise ConfigError(source, f"expected YAML text, got a file's name; actors.read_config({text!r}) reads it")
    document = read_document(text or "", source, length_max=length_max)
    values: dict[str, Any] = {}
    places = {key: Place(source, line) for key, line in document.lines.items() if key}
    wrong: list[ConfigError] = []
    for given in _in_sections(document, document.value, ""):
        _take(given, values, {}, wrong)
    for given in _set_elsewhere(environment, overrides):
        _take(given, values, places, wrong)
    tree: dict[str, Any] = {}
    for path, value in values.items():
        try:
            held = converted(_types()[path], value, path)
        except SettingError as error:
            wrong.append(placed_error(error, places, source))
            continue
        *sections, name = path.split(".")
        reduce(lambda branch, section: branch.setdefault(section, {}), sections, tree)[name] = held
    if wrong:
        raise together(wrong)
    try:
        if own is not None:
            tree[DOMAIN] = plain_settings(record_of(own, tree.get(DOMAIN, {}), DOMAIN))
        return PlacedConfig(config=Config(**tree), places=places)
    except SettingError as error:  # each value is right by itself, so these cannot hold together
        raise placed_error(error, places, source) from error.__cause__


def load_interventions(config: Config, text: str, source: str, tick: int) -> Config:
    """Return a configuration with further interventions.

    Args:
        text: YAML: a list of interventions, or a mapping with one below the key `interventions`.
        source: what errors call the text, usually its file name.
        tick: the first tick at which they may happen.

    Raises:
        ConfigError: one of them is wrong, or happens earlier.
    """
    document = read_yaml(text, source)
    value, lines = document.value, document.lines
    if isinstance(value, list):
        document = Document(value, source, {f"{INTERVENTIONS}{key}": line for key, line in lines.items()})
        value = {INTERVENTIONS: value}
    if not isinstance(value, dict) or [*value] != [INTERVENTIONS]:
        got = found(value) if not isinstance(value, dict) else f"the keys {', '.join(value) or 'none'}"
        problem = f"expected a list, or a mapping with the key {INTERVENTIONS} alone, got {got}"
        raise ConfigError(source, problem, line=lines[""])
    try:
        added = converted(field_types(Config)[INTERVENTIONS], value[INTERVENTIONS], INTERVENTIONS)
    except SettingError as error:
        raise document.refused(error.problem, error.keys[0]) from None
    wrong, expected = list[ConfigError](), f"expected tick {tick:,} or later, where the fork begins"
    for index, each in enumerate(added):
        if (at := each.at(config.simulation.ticks_per_round)) < tick:
            wrong.append(document.refused(f"{expected}, got tick {at:,}", f"{INTERVENTIONS}[{index}].{each.when}"))
    conflicts = find_intervention_conflicts(config, added)
    if wrong := wrong or [document.refused(each.problem, each.keys[0]) for each in conflicts]:
        raise together(wrong)
    return replace(config, interventions=(*config.interventions, *added))


def placed_error(error: ConfigError, places: Mapping[str, Place], source: str) -> ConfigError:
    """Return an error of settings, and those beside it, with the place of the setting that was set last."""
    order = {path: place for place, path in enumerate(places)}
    placed = []
    for each in (error, *error.others):
        keys = each.keys if isinstance(each, SettingError) else (each.key or "",)
        key = max(keys, key=lambda key: order.get(innermost(key, places), -1))
        place = places.get(innermost(key, places), Place(source))
        placed.append(ConfigError(place.source, each.problem, key=key or None, line=place.line))
    return together(placed)


@cache
def _types() -> Mapping[str, Any]:
    """Return the type of each setting by its dotted path."""
    fields = ((path, name, kind) for path, section in SECTIONS.items() for name, kind in field_types(section).items())
    return {join(path, name): kind for path, name, kind in fields if not is_section(kind)}


def _take(given: Found, values: dict[str, Any], places: dict[str, Place], wrong: list[ConfigError]) -> None:
    """Put a setting over those that were given before, or note that it is wrong."""
    if isinstance(given, ConfigError):
        wrong.append(given)
        return
    path, value, place = given
    for before in [each for each in places if each == path or each.startswith((f"{path}.", f"{path}["))]:
        del places[before]
    places[path] = place
    whole = next((each for each in DECLARATIONS if path.startswith(f"{each}.")), path)
    if whole != path:
        # The collections around it are copied: those of the text stay as they are.
        branch: Any
        branch, key = values, whole
        for inner in path.removeprefix(f"{whole}.").split("."):
            before = branch.get(key)
            branch[key] = {**before} if isinstance(before, dict) else {}
            branch, key = branch[key], inner
        branch[key] = value
    else:
        values[whole] = value


def _in_sections(document: Document, values: Mapping[str, Any], section: str) -> Iterator[Found]:
    for name, value in values.items():
        path = join(section, name)
        if path in SECTIONS and isinstance(value, dict):
            yield from _in_sections(document, value, path)
        elif path in SECTIONS and value is not None:
            no_space = isinstance(value, str) and value.partition(":")[0] in field_types(SECTIONS[path])
            problem = f"{COLON}, got {found(value)}" if no_space else mismatch(SECTIONS[path], value)
            yield document.refused(problem, path)
        elif name not in field_types(SECTIONS[section]):
            yield document.refused(unknown_key(SECTIONS, section, name), path)
        elif path in _types() and not (path == DOMAIN and value is None):
            yield path, value, Place(document.source)


def _set_elsewhere(environment: Mapping[str, str], overrides: Sequence[str] | Mapping[str, object]) -> Iterator[Found]:
    """Yield the settings of the environment, and then the overrides."""
    given: list[tuple[list[str], object, str] | ConfigError] = []
    for variable in sorted(environment):  # the order of an environment means nothing, so it must decide nothing
        name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        if not variable.startswith(ENVIRONMENT_PREFIX):
            continue
        if "__" in name or name in field_types(Config):
            given.append((name.split("__"), environment[variable], variable))
        elif meant := next((path for path in _types() if path.replace(".", "_") == name), None):
            right = ENVIRONMENT_PREFIX + meant.replace(".", "__").upper()
            problem = f"is no setting; did you mean {right}, with two underscores for each dot?"
            given.append(ConfigError(variable, problem))
    if isinstance(overrides, Mapping):
        given += [(path.split("."), value, MAPPING_SOURCE) for path, value in overrides.items()]
        overrides = ()
    for override in overrides:
        name, equals, text = override.partition("=")
        if equals:
            given.append((name.strip().split("."), text, OVERRIDE_SOURCE))
        else:
            given.append(ConfigError(OVERRIDE_SOURCE, f"expected key=value, got {found(override)}"))
    for each in given:
        try:
            if isinstance(each, ConfigError):
                raise each
            parts, value, source = each
            path = _known_path(parts, source)
            held = value if source == MAPPING_SOURCE else given_setting(str(value), source, path)
            yield path, held, Place(source)
        except ConfigError as error:
            yield error


def given_setting(text: str, source: str, path: str) -> object:
    """Return the value of one setting that is given as a text of its own: YAML, but words are taken as they are.

    So `my edges #1.csv` and `a: b` are whole, though YAML sees a comment and a key in them. Quotes around all of it are
    YAML's, and so are lines below `|` or `>`.
    """
    members, plain = set(kind_of(_types().get(path, Any)).members), text.strip()
    is_text = members <= {str, type(None)}
    if plain.lower() in ("", "~", "null"):
        return None
    is_yaml = re.fullmatch(r"([\"']).*\1|[|>][-+0-9]*\s*\n.*", plain, re.DOTALL)
    if is_text and not is_yaml:
        return plain
    try:
        value = read_yaml(text, source).value
    except ConfigError as error:
        if is_text:
            return plain
        # The value is one word on a command line: a line number would count lines that nobody sees.
        raise ConfigError(source, error.problem, key=path) from error
    return plain if not is_yaml and (value is None or isinstance(value, str)) else value


def _known_path(parts: Sequence[str], source: str) -> str:
    """Return the dotted path of a setting, from its parts."""
    whole, section, rest = reduce(join, parts, ""), "", [*parts]
    if whole in _types() or any(whole.startswith(f"{each}.") for each in DECLARATIONS):
        return whole
    while rest and join(section, rest[0]) in SECTIONS:
        section = join(section, rest.pop(0))
    if not rest:
        problem = f"expected one key of this section: {', '.join(field_types(SECTIONS[section]))}"
    elif (path := join(section, rest[0])) in _types():
        problem = f"unknown key; {path} is set as a whole: {path}=..."
    else:
        problem = unknown_key(SECTIONS, section, rest[0])
    raise ConfigError(source, problem, key=whole)
