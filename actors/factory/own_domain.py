"""A user's own domain: the arguments and settings that its function asks for, its building, and its check."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from actors.core.messages import Codec
from actors.factory.own_code import OwnCode, domain_error, find_domain_code, raised
from prism.checked import converted, field_types, record_of
from prism.config import Config, Section, SimulationConfig
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.section import DOMAIN, NoSettings, is_section, sections_of
from prism.domain import Domain, InputFiles, World
from prism.errors import ConfigError, PrismError, SettingError
from prism.expectations import expectation, found
from prism.show import Show
from prism.statechart import Oracle, Statechart

ARGUMENTS = ("config", "settings", "inputs")  # the arguments that a domain's function may ask for, by name

_VALUES = ("size", "chart", "checkpoint_every_ticks", "world", "context_type", "effect_type")
_METHODS = ("agent", "asker", "oracle")
_WORLD = ("triggers", "apply", "deliberates", "totals", "columns", "restore")
_WORLD_DEFAULTS = ("reactions", "measures", "highlights")


class OwnDomain(NamedTuple):
    """The function of a domain, the names of the arguments that it asks for, and the type of its settings."""

    code: OwnCode
    function: Callable[..., Any]
    arguments: tuple[str, ...]
    settings: type[Section]


def find_own_domain(simulation: SimulationConfig, beside: Path | None = None) -> OwnDomain:
    """Import the domain that a configuration names, which runs its module's code."""
    code, function = find_domain_code(simulation, beside)
    if not callable(function):
        raise domain_error(f"{code.reference} is {_named(function)}; expected a function that returns a domain")
    arguments = _arguments_of(function, code.reference)
    settings = _settings_type(function, code.reference) if "settings" in arguments else NoSettings
    return OwnDomain(code, function, arguments, settings)


def show_of_own(own: OwnDomain, config: Config) -> Show:
    """Return the show of a domain: an instance of the class `SHOW` in its module, if there is such a class."""
    module = own.code.reference.partition(":")[0]
    kind = getattr(sys.modules[module], "SHOW", Show)
    if not (isinstance(kind, type) and issubclass(kind, Show)):
        raise domain_error(f"{module}.SHOW is {_named(kind)}; expected a subclass of prism.show.Show")
    settings = record_of(own.settings, config.domain, DOMAIN)
    try:
        return kind(config, settings)
    except Exception as error:  # a user's code may raise anything
        raise domain_error(f"{module}.SHOW raised {raised(error, own.code.files)}") from error


def build_own_domain(own: OwnDomain, config: Config, inputs: InputFiles) -> Domain:
    given = {"config": config, "settings": record_of(own.settings, config.domain, DOMAIN), "inputs": inputs}
    reference, files = own.code.reference, own.code.files
    try:
        domain = own.function(**{name: given[name] for name in own.arguments})
        problem = next(_misfits(domain, asks_embedded=config.oracle.backend == "choice"), None)
    except (PrismError, MemoryError):
        raise
    except Exception as error:  # a user's code may raise anything
        raise domain_error(f"{reference} raised {raised(error, files)}") from error
    if problem is not None:
        raise domain_error(f"{reference} returned {_named(domain)}, which is no domain: {problem}")
    built: Domain = domain
    _check_interventions(own, config, built)
    show_of_own(own, config)
    return built


def _check_interventions(own: OwnDomain, config: Config, domain: Domain) -> None:
    """Refuse interventions that a domain does not take, and settings in them that it does not have."""
    if config.interventions and _missing(domain.world, ("intervene",), World) is not None:
        problem = f"the world of {own.code.reference}, {_named(domain.world)}, takes none: it has no method intervene"
        raise ConfigError("configuration", problem, key=INTERVENTIONS)
    sections = sections_of(own.settings)
    for index, each in enumerate(config.interventions):
        for path, value in (each.set or {}).items():
            section, _, name = path.removeprefix(f"{DOMAIN}.").rpartition(".")
            key = f"{INTERVENTIONS}[{index}].set.{path}"
            if section not in sections or name not in field_types(sections[section]):
                raise ConfigError("configuration", "is no setting of the domain", key=key)
            try:
                converted(field_types(sections[section])[name], value)
            except SettingError as error:
                raise ConfigError("configuration", error.problem, key=key) from None


def _arguments_of(function: Callable[..., Any], reference: str) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise domain_error(f"{reference} does not say which arguments it takes; expected a function") from None
    by_name = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    rest = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    known = tuple(each.name for each in parameters if each.name in ARGUMENTS and each.kind in by_name)
    for each in parameters:
        if each.name not in known and each.default is each.empty and each.kind not in rest:
            problem = f"{reference} takes an argument {each.name!r}; expected {', '.join(ARGUMENTS)}"
            raise domain_error(f"{problem}, each by its name")
    return known


def _settings_type(function: Callable[..., Any], reference: str) -> type[Section]:
    """Return the annotation of the argument `settings`, which is the type of the domain's settings."""
    try:
        kind = get_type_hints(_annotated(function)).get("settings")
    except Exception as error:  # annotations are a user's code
        raise domain_error(f"the annotations of {reference} cannot be read: {raised(error)}") from error
    if not is_section(kind):
        got = "none" if kind is None else getattr(kind, "__name__", str(kind))
        problem = "needs the class of the settings as its annotation: expected a subclass of prism.config.Section"
        raise domain_error(f"the argument settings of {reference} {problem}, got {got}")
    # Types that YAML cannot express are refused: no error could name them.
    for section in sections_of(kind).values():
        for name, of_setting in field_types(section).items():
            try:
                _ = is_section(of_setting) or expectation(of_setting)
            except TypeError:
                problem = "expected a type that YAML has: int, float, bool, str, datetime, an enum, a list or a section"
                raise domain_error(f"{section.__name__}.{name}: {problem}, got {of_setting}") from None
    return kind


def _annotated(function: Any) -> Any:
    """Return the object that holds the annotations of a callable: for a class, its constructor."""
    if isinstance(function, functools.partial):
        return _annotated(function.func)
    if inspect.isclass(function):
        return function.__init__
    return function if inspect.isroutine(function) else type(function).__call__


def _misfits(domain: Any, *, asks_embedded: bool) -> Iterator[str]:
    """Yield why an object is no domain, in words. Only the first is right: the later checks need the earlier ones."""
    if inspect.iscoroutine(domain):
        domain.close()
        yield "the function is a coroutine; expected a plain one"
    missing = _missing(domain, _VALUES) or _missing(domain, _METHODS, Domain)
    if missing is not None:
        yield f"it has no {missing}"
    for name, least in (("size", 1), ("checkpoint_every_ticks", 0)):
        if not isinstance(value := getattr(domain, name), int) or isinstance(value, bool) or value < least:
            yield f"its {name} is {_named(value)}; expected an int >= {least}"
    if not isinstance(domain.chart, Statechart):
        yield f"its chart is {_named(domain.chart)}; expected a prism.statechart.Statechart"
    world = f"its world, {_named(domain.world)}"
    if (missing := _missing(domain.world, _WORLD, World)) is not None:
        yield f"{world}, has no {missing}"
    if (missing := _missing(domain.world, _WORLD_DEFAULTS)) is not None:
        yield f"{world}, has no {missing}, which subclasses of prism.domain.World have"
    try:
        Codec(domain.context_type, domain.effect_type)
    except (TypeError, ValueError) as error:
        yield f"its context_type or effect_type cannot be encoded: {error}"
    if asks_embedded and not isinstance(oracle := domain.oracle(), Oracle):
        yield f"its oracle() returns {_named(oracle)}; expected a prism.statechart.Oracle"


def _missing(owner: object, names: Iterable[str], protocol: type | None = None) -> str | None:
    """Return the first of these members that an object lacks, or only inherits from the protocol, where it is empty."""
    for name in names:
        inherited = None if protocol is None else getattr(protocol, name)
        if not hasattr(owner, name) or (inherited is not None and getattr(type(owner), name, None) is inherited):
            return name
    return None


def _named(value: object) -> str:
    """Return an object in words: a plain value as it is, or the class of any other object."""
    return found(value) if value is None or isinstance(value, int | float | str) else f"a {type(value).__name__}"
