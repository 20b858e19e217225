"""The settings that a page may change: numbers, choices and yes or no, each with its bounds and its meaning.

A page may not change texts, so no path, no code and no expression comes from it; the two exceptions are the name of a
feed algorithm and the text of a published post. Every value passes the strict decode that a file's values pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import inspect
from msgspec.structs import replace

from actors.factory.domains import is_own
from actors.factory.own_domain import find_own_domain
from actors.factory.shipped import examples
from prism.answers import setting_in_words
from prism.config import AttributeConfig, Config, Section
from prism.config.attributes import PLACE as ATTRIBUTES
from prism.config.domain_settings import plain_settings, settings_from
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.load import load_placed_config
from prism.config.model import ALGORITHMS
from prism.config.section import is_section, sections_of
from prism.errors import ConfigError
from prism.expectations import join, type_text

CHANGED_BY: Final = ("simulation", "population", "feed", "statechart", "oracle.choice", "economy", "domain")
"""The sections whose settings a page may change. Those of other sections change how a run is made, and no result."""
CLOCK: Final = frozenset({"simulation.ticks_per_round", "simulation.tick_seconds"})
"""Settings that a first study leaves alone, though an example has them."""
AGENT_TICKS_MAX: Final = 50_000_000
"""The most agents times ticks of a run from the page: about ten seconds, and some hundred MB of temporary files."""
AGENTS_MAX: Final = 200_000
INTERVENTIONS_MAX: Final = 50
PINS_MAX: Final = 4
FIRST_MAX: Final = 20
"""The most settings that are shown without a search."""
SOURCE: Final = "the page"

Changes = Mapping[str, Any]
"""`{dotted path: value}`: what a page has set."""


class Control(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One setting that a page may change.

    Args:
        label: what people call it.
        kind: how it is changed; `whole` is a number without a fraction.
        value: as the configuration has it; `default`: the default, None if it has none.
        least, most: the declared bounds of a number; None without one.
        low, high, step: of the slider, which spans the usual part of the bounds.
        bounds: type and range in words; `unit`: of a number, empty for a count.
        meaning: its declaration's, with the source.
        is_first: shown without a search.
    """

    path: str
    label: str
    kind: Literal["number", "whole", "choice", "yes"]
    value: Any
    default: Any
    bounds: str
    meaning: str
    unit: str = ""
    least: float | None = None
    most: float | None = None
    low: float = 0.0
    high: float = 1.0
    step: float = 1.0
    options: Sequence[str] = ()
    is_optional: bool = False
    is_first: bool = False


_MEANINGS: Final = {
    field.name: (inspect.type_info(field.type).extra_json_schema or {}).get("description", "")  # type: ignore[attr-defined]
    for field in msgspec.structs.fields(AttributeConfig)
    if isinstance(inspect.type_info(field.type), inspect.Metadata)
}
"""`{key of an attribute's declaration: its meaning}`."""


class Controls:
    """The settings of one configuration that a page may change.

    Args:
        base: the configuration before any change.

    Raises:
        ConfigError: a domain of its own cannot be found.
    """

    def __init__(self, base: Config) -> None:
        self.base = base
        self._own: type[Section] | None = find_own_domain(base.simulation).settings if is_own(base) else None
        self._values = msgspec.to_builtins(base)
        first = _first_paths(base)
        found = [*self._controls()]
        self.all: Mapping[str, Control] = {
            each.path: replace(each, is_first=each.path in first)
            for each in sorted(found, key=lambda each: first.get(each.path, len(first)))
        }

    def configured(self, changes: Changes) -> Config:
        """Return the configuration with what a page has changed.

        Raises:
            ConfigError: a setting is not one that a page may change, or its value cannot be held.
        """
        tree = _tree(self.base)
        for path, value in changes.items():
            if path == INTERVENTIONS:
                tree[path] = [*self._values[path], *_interventions(value)]
                continue
            control = self.all.get(path)
            if control is None:
                raise ConfigError(SOURCE, f"{path[:80]}: is no setting that the page may change", key=path[:80])
            if control.kind == "choice" and value not in control.options:
                raise ConfigError(SOURCE, f"expected one of: {', '.join(control.options)}, got {value!r:.80}", key=path)
            at, (*outer, last) = tree, path.split(".")
            for key in outer:
                at = at[key]
            at[last] = value
        config = Config(**tree)
        if self._own is not None:
            config = replace(config, domain=plain_settings(settings_from(self._own, config.domain)))
        people, length = config.population.size if config.deliberates else 1, config.simulation.length
        for key, what, size, most in (
            ("population.size", "people", people, AGENTS_MAX),
            ("simulation.rounds", "people times ticks", people * length, AGENT_TICKS_MAX),
        ):
            if size > most:
                problem = f"expected at most {most:,} {what} on this page, got {size:,}; `prism run` takes more"
                raise ConfigError(SOURCE, problem, key=key)
        return config

    def _controls(self) -> Iterator[Control]:
        is_social, is_economy = (self.base.simulation.domain == name for name in ("social", "economy"))
        for path, section in sections_of(Config).items():
            inside = next((each for each in CHANGED_BY if path == each or path.startswith(f"{each}.")), None)
            is_elsewhere = (inside == "economy") != is_economy if inside in ("economy",) else not is_social
            if inside is None or (inside != "simulation" and is_elsewhere):
                continue
            for field in msgspec.structs.fields(section):
                if not is_section(field.type):
                    yield from self._of_field(join(path, field.name), field)
        if self._own is not None:
            for path, section in sections_of(self._own).items():
                for field in msgspec.structs.fields(section):
                    if not is_section(field.type):
                        yield from self._of_field(join(join("domain", path) if path else "domain", field.name), field)

    def _of_field(self, path: str, field: msgspec.structs.FieldInfo) -> Iterator[Control]:
        kind, value = inspect.type_info(field.type), _at(self._values, path)
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        about = (kind.extra_json_schema or {}).get("description", "") if isinstance(kind, inspect.Metadata) else ""
        bare = kind.type if isinstance(kind, inspect.Metadata) else kind
        if isinstance(bare, inspect.DictType):
            for inner, number in _numbers(value, path):
                said = _MEANINGS.get(inner.rpartition(".")[2], about) if path == ATTRIBUTES else about
                yield _control(inner, _bare(bare.value_type, number), number, None, said)
        elif path == "feed.algorithm":
            options = [*ALGORITHMS, *([] if value in ALGORITHMS else [value])]
            yield Control(
                path=path,
                label=setting_in_words(path),
                kind="choice",
                value=value,
                default=default,
                options=options,
                meaning=about,
                bounds="text",
            )
        elif (plain := _changeable(bare)) is not None:
            default = None if default is msgspec.NODEFAULT else default
            yield _control(path, plain, value, default, about, bounds=type_text(kind), optional=plain is not bare)


def differences(base: Config, config: Config) -> dict[str, Any]:
    """Return `{dotted path: value}` of the settings in which a configuration differs, as a file would give them."""
    one, other = msgspec.to_builtins(base), msgspec.to_builtins(config)
    paths = [
        join(path, field.name)
        for path, section in sections_of(Config).items()
        for field in msgspec.structs.fields(section)
        if not is_section(field.type)
    ]
    return {path: _at(other, path) for path in paths if _at(one, path) != _at(other, path)}


def _changeable(kind: inspect.Type) -> inspect.Type | None:
    """Return the type of a number, a choice or a yes or no, also where it may be none; None for any other."""
    if isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        inner = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        return _changeable(inner[0]) if len(inner) == 1 else None
    is_simple = isinstance(kind, inspect.IntType | inspect.FloatType | inspect.BoolType | inspect.LiteralType)
    return kind if is_simple else None


def _bare(kind: inspect.Type, value: float | bool) -> inspect.Type:
    """Return the type of a number in a mapping: the declared one, or that of the value."""
    found = _changeable(kind)
    if found is not None:
        return found
    return inspect.type_info(bool if isinstance(value, bool) else float)


def _numbers(value: Any, path: str) -> Iterator[tuple[str, float | bool]]:
    """Yield the dotted path of each number in a mapping, and the number."""
    for name, inner in value.items() if isinstance(value, Mapping) else ():
        if isinstance(inner, Mapping):
            yield from _numbers(inner, join(path, name))
        elif isinstance(inner, bool | int | float) and "." not in name:
            yield join(path, name), inner


def _control(
    path: str, kind: inspect.Type, value: Any, default: Any, about: str, *, bounds: str = "", optional: bool = False
) -> Control:
    common: dict[str, Any] = {
        "path": path,
        "label": setting_in_words(path),
        "value": value,
        "default": default,
        "meaning": about,
    }
    if isinstance(kind, inspect.BoolType):
        return Control(kind="yes", bounds=bounds, **common)
    if isinstance(kind, inspect.LiteralType):
        options = [str(each) for each in kind.values if each != "profiles" or value == each]  # which needs a file
        return Control(kind="choice", bounds=bounds, options=options, **common)
    if not isinstance(kind, inspect.IntType | inspect.FloatType):
        raise TypeError(f"expected the type of a number, got {kind}")
    is_whole = isinstance(kind, inspect.IntType)
    least = kind.ge if kind.ge is not None else kind.gt
    most = kind.le if kind.le is not None else kind.lt
    size = max(abs(value or 0), abs(default or 0)) or 1
    wide = _round_up(4 * size)
    low = 0.0 if least is None and value is not None and value >= 0 else -wide if least is None else max(least, -wide)
    high = wide if most is None else min(most, wide) if most - low > 1 else most
    step = max(1.0, _round_up((high - low) / 400)) if is_whole else _round_up((high - low) / 200)
    low = step * math.ceil(low / step)  # so that the default and its neighbours are places of the slider
    if kind.gt is not None and low == kind.gt:
        low += step
    return Control(
        kind="whole" if is_whole else "number",
        bounds=bounds or type_text(kind),
        **common,
        unit=_unit(path),
        least=least,
        most=most,
        low=low,
        high=high,
        step=step,
        is_optional=optional,
    )


def _round_up(value: float) -> float:
    """Return the next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(each * power for each in (1, 2, 5, 10) if each * power >= value * (1 - 1e-9))


def _unit(path: str) -> str:
    """Return the unit of a setting, which its name ends in."""
    ends = {"_s": "s", "_minutes": "min", "_ticks": "ticks", "_rounds": "rounds", "rounds": "rounds", "_seconds": "s"}
    return next((unit for end, unit in ends.items() if path.endswith(end)), "")


def _at(values: Any, path: str) -> Any:
    """Return the value at a dotted path of nested mappings; None if there is none."""
    for key in path.split("."):
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def _first_paths(base: Config) -> dict[str, int]:
    """Return the settings that are shown first, in their order: those that `prism init` writes, then the user's own."""
    domain = base.simulation.domain
    example = examples()["economy" if domain == "economy" else "default"]
    written = (
        load_placed_config(example.text(), example.name, environment={}, overrides=()).leaves
        if not is_own(base)
        else {}
    )
    values = msgspec.to_builtins(base)
    named = [
        path
        for place in ("domain", "population.attributes", "oracle.choice.states", "oracle.choice.attributes")
        for path, _ in _numbers(_at(values, place), place)
    ]
    paths = [*(path for path in written if path not in CLOCK), *named, "simulation.rounds", "simulation.seed"]
    return {path: place for place, path in enumerate(dict.fromkeys(paths[:FIRST_MAX]))}


def _tree(section: Section) -> dict[str, Any]:
    """Return a section as mappings that can be changed, its values as it holds them."""
    tree: dict[str, Any] = {}
    for name in section.__struct_fields__:
        value = getattr(section, name)
        is_plain = not isinstance(value, dict)
        tree[name] = _tree(value) if isinstance(value, Section) else value if is_plain else msgspec.to_builtins(value)
    return tree


def _interventions(given: object) -> list[Any]:
    """Return the interventions that a page has added: people who are silenced, and posts that are published.

    Raises:
        ConfigError: they are others.
    """
    if not isinstance(given, list) or len(given) > INTERVENTIONS_MAX:
        raise ConfigError(SOURCE, f"expected a list of at most {INTERVENTIONS_MAX} interventions", key=INTERVENTIONS)
    for each in given:
        is_known = isinstance(each, dict) and set(each) in ({"tick", "silence"}, {"tick", "publish"})
        post = each.get("publish", {}) if is_known else {}
        if not is_known or not isinstance(post, dict) or not set(post) <= {"author", "text", "topics"}:
            problem = "expected {tick, silence} or {tick, publish: {author, text, topics}} from the page"
            raise ConfigError(SOURCE, problem, key=INTERVENTIONS)
    return given
