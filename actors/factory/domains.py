"""The domain that a configuration names, one that comes with PRISM or a user's own, and the chart of its agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from actors.core.errors import ActorError
from actors.factory.file_kinds import CHART, FIGURES_OF_QUARTERS, telling_kind
from actors.factory.input_files import (
    Input,
    fitting_memory,
    is_kept,
    load_population,
    locate_input,
    read_input,
    with_prompt,
)
from actors.factory.own_code import (
    OwnCode,
    OwnDomain,
    allow,
    build_own_domain,
    find_domain_code,
    find_own_domain,
    locate_code,
    refuse_unknown,
    show_of_own,
)
from prism.checked import field_types, record_of
from prism.config import LENGTH_MAX, Config, SimulationConfig
from prism.config.attributes import PLACE, TRAITS
from prism.config.model import ColumnsConfig
from prism.config.section import DOMAIN, plain_settings
from prism.domain import Domain, said_by
from prism.errors import ConfigError, InputError, PrismError, StatechartError
from prism.expectations import guess
from prism.no_effect import NoEffect, idle_interventions, unreached
from prism.sharing.archetypes import archetypes_of, fields_of
from prism.show import Show
from prism.social.chart import SOCIAL_BEHAVIOUR, can_post, social_behaviour, social_chart_text
from prism.social.people.population import ignore_step
from prism.social.vocabulary import social_vocabulary
from prism.social.world import check_shards
from prism.statechart import Behaviour, Statechart, read_chart
from prism.statechart.transitions import is_deferred
from prism.text_files import decode_text
from prism.wording import counted


class BuiltDomain(NamedTuple):
    """A domain ready to run."""

    domain: Domain
    inputs: dict[str, str]  # `{input file, as the user wrote it: SHA-256}`
    # the files and directories of the domain's own code; empty for a domain that comes with PRISM
    code: tuple[Path, ...] = ()


def _social(config: Config, on_step: Callable[[str], None], *, looks: bool = False) -> BuiltDomain:
    from prism.social.domain import SocialDomain  # noqa: PLC0415  # a run needs one of the domains, so it imports one

    population, inputs = load_population(config.population, config.simulation.seed, on_step, looks=looks)
    chart = look_at_chart(config) if looks else load_chart(config)
    known = [state.value for state in chart.behaviour.states]
    strange = next((name for name in config.oracle.choice.states if name not in known), None)
    if strange is not None:
        problem = f"{strange}: the chart has no such state; {guess(strange, known)}"
        raise ConfigError("configuration", problem, key="oracle.choice.states")
    check_shards(config)
    on_step("preparing the world")
    domain = SocialDomain(config, population, chart.behaviour, looks=looks)
    return BuiltDomain(domain, {**inputs, **chart.inputs}, chart.code)


def _economy(config: Config, _: Callable[[str], None]) -> BuiltDomain:
    from prism.economy.domain import EconomyDomain  # noqa: PLC0415
    from prism.economy.series import beginning, parse_series, start_text  # noqa: PLC0415

    initial, macro = config.economy.initial, config.economy.macro
    if initial.path is None:
        return BuiltDomain(EconomyDomain(config, beginning(initial, macro).state), {})
    with fitting_memory(initial.path), telling_kind(initial.path, FIGURES_OF_QUARTERS, locate_input(initial.path)):
        source = read_input(initial.path)
        series = parse_series(source.data, source.name)
    start, lags = beginning(initial, macro, series.quarters)
    understood = (*series.understood(source.name), start_text(source.name, initial, series.quarters, start))
    domain = EconomyDomain(config, start, lags=lags, understood=understood)
    return BuiltDomain(domain, {source.name: source.sha256})


class _HashedInputs(NamedTuple):
    """The input files that a domain of its own reads, with the SHA-256 of each."""

    kept: Mapping[str, str]  # `{file as the domain calls it: the one that the run keeps}`
    hashes: dict[str, str]

    def read(self, path: str) -> bytes:
        """Return the content of a file, unpacked if its name ends in .gz."""
        source = read_input(self.kept.get(path, path))
        self.hashes[source.name] = source.sha256
        return source.data


def _own(config: Config, on_step: Callable[[str], None]) -> BuiltDomain:
    own, inputs = find_own_domain(config.simulation), _HashedInputs(config.simulation.domain_inputs, {})
    on_step(f"building {own.code.reference}")
    return BuiltDomain(build_own_domain(own, config, inputs), inputs.hashes, own.code.files)


DOMAINS: dict[str, Callable[[Config, Callable[[str], None]], BuiltDomain]] = {"social": _social, "economy": _economy}


def shipped_shows() -> list[type[Show]]:
    return [import_module(f"prism.{name}.show").SHOW for name in DOMAINS]


def show_of(config: Config) -> Show:
    """Return the show of a configuration's domain. The domain is not built, so no input file is read.

    If the module of a user's own domain cannot be imported, or is not allowed, it is the show of any domain.
    """
    if not is_own(config):
        show: type[Show] = import_module(f"prism.{config.simulation.domain}.show").SHOW
        return show(config)
    try:
        return show_of_own(find_own_domain(config.simulation), config)
    except (PrismError, ActorError):
        return Show(config)


def build_domain(config: Config, on_step: Callable[[str], None] = ignore_step) -> BuiltDomain:
    """Return the domain that the configuration names, with its input files read.

    Args:
        on_step: called with the next step in words, where steps can take long.

    Raises:
        ConfigError: the configuration does not fit its inputs, or a domain of its own cannot be used.
        InputError: an input file cannot be used.
        UntrustedCodeError: it names the user's own code, which its user has not allowed.
    """
    prompted, inputs = with_prompt(config)
    built = DOMAINS.get(config.simulation.domain, _own)(prompted, on_step)
    if config.oracle.sharing.by != "none":
        archetypes_of(config, fields_of(config, built.domain))  # refuses what its questions cannot share
    return built._replace(inputs={**built.inputs, **inputs})


def look_at_domain(config: Config) -> BuiltDomain:
    """Return the domain of a run to look at: no function of people's chart is imported, so it cannot be run.

    People's ties and their world are made when they are first asked for. A user's own domain is code, so it is built
    only if its user has allowed that.
    """
    if config.simulation.domain == "social":
        return _social(with_prompt(config)[0], ignore_step, looks=True)
    return build_domain(config)


def own_code(config: Config, beside: Path | None = None) -> list[OwnCode]:
    """Return the user's own code that a configuration in `beside` names, as far as it is found. None is run."""
    try:
        if is_own(config):
            return [locate_code(config.simulation, beside)]
        return _located(config, look_at_chart(config).functions) if config.simulation.domain == "social" else []
    except PrismError:  # whoever builds it is told
        return []


def entrust(config: Config, beside: Path | None = None) -> None:
    """Let the code that a configuration names be run here, now and later: its user has named the configuration."""
    allow(own_code(config, beside))


def chart_of(config: Config) -> Behaviour[Any] | Statechart[Any]:
    """Return the chart of a configuration to look at; only to know that of a user's own domain it is built."""
    if config.simulation.domain == "social":
        return look_at_chart(config).behaviour
    if config.simulation.domain == "economy":
        from prism.economy.nation import ECONOMY_CHART  # noqa: PLC0415

        return ECONOMY_CHART
    return build_domain(config).domain.chart


def is_own(config: Config) -> bool:
    return config.simulation.domain not in DOMAINS


def code_of(config: Config) -> tuple[Path, ...]:
    """Return the files and directories of the user's own code, of a domain or a chart. No code is run."""
    return tuple(dict.fromkeys(file for code in own_code(config) for file in code.files))


def settled(config: Config) -> Config:
    """Return a configuration with all that a resume needs for its own domain: every setting, and its directory."""
    if not is_own(config):
        return config
    own = find_own_domain(config.simulation)
    return located(replace(config, domain=plain_settings(record_of(own.settings, config.domain, DOMAIN))), own)


def located(config: Config, own: OwnDomain) -> Config:
    """Return a configuration that names the directory in which its domain was found."""
    directory, simulation = own.code.directory, config.simulation
    if directory is None:
        simulation = replace(simulation, domain_path=None)
    elif not is_kept(simulation.domain_path):
        simulation = replace(simulation, domain=own.code.reference, domain_path=str(directory))
    return replace(config, simulation=simulation)


def no_effect_of(config: Config, domain: Domain) -> list[NoEffect]:
    known = said_by(domain).no_effect()
    return [*unreached(domain.chart), *(idle_interventions(config) if known is None else known)]


def lines_of_domain(config: Config, domain: Domain) -> tuple[str, ...]:
    """Return a line for each attribute of the people of a built domain, and the domain's notes on its settings."""
    from prism.social.domain import SocialDomain  # noqa: PLC0415  # as above
    from prism.social.people.persona import described  # noqa: PLC0415

    lines = list[str]()
    if isinstance(domain, SocialDomain):
        population, personas = config.population, domain.population.personas
        people = counted(len(personas), "person", "people")
        for name, declaration in population.attributes.items():
            values = [persona.attributes[name] for persona in personas]
            lines.append(f"{PLACE}.{name}: {declaration.expected}; {people}: {described(values)}")
        for name in field_types(ColumnsConfig):  # thresholds and so on that have a column
            if getattr(population.columns, name) is not None:
                given = [getattr(persona.traits if name in TRAITS else persona, name) for persona in personas]
                lines.append(f"population.columns.{name}: {people}: {described(given)}")
        if not can_post(domain.behaviour):
            lines.append("statechart.file: no row has the effect post, so nobody writes an original post")
    return (*lines, *said_by(domain).notes())


SUFFIXES = (".yaml", ".yml")


class LoadedChart(NamedTuple):
    """A behaviour, and where it comes from."""

    behaviour: Behaviour[Any]
    inputs: dict[str, str]  # `{chart file, as the user wrote it: SHA-256}`; empty for the default chart
    functions: tuple[str, ...] = ()  # the Python functions that the chart names, as `module:name`
    code: tuple[Path, ...] = ()  # the files that they were imported from; empty for a chart to look at


def load_chart(config: Config) -> LoadedChart:
    """Return the behaviour of people, ready to run: the functions that it names are imported."""
    looked = look_at_chart(config)
    if not looked.functions:
        return looked
    refuse_unknown(_located(config, looked.functions))
    files = dict[Path, None]()

    def imported(name: str) -> Any:
        try:
            code, function = find_domain_code(*_place_of(config, name))
        except ConfigError as error:
            raise StatechartError(f"{name}: {error.problem}") from error
        if not callable(function) or is_deferred(function):
            raise StatechartError(f"{name}: expected a function (agent, context) that is not async")
        files.update(dict.fromkeys(code.files))
        return function

    behaviour = _behaviour(config, imported)[0]
    return looked._replace(behaviour=behaviour, code=tuple(files))


def look_at_chart(config: Config) -> LoadedChart:
    """Return the behaviour of people to look at: functions stand in it by their names, and are not imported."""
    names = dict[str, None]()

    def looked_at(name: str) -> Any:
        names[name] = None

        def stand_in(_: object, __: object) -> None:
            raise StatechartError(f"{name}: is only looked at, and not run")

        stand_in.__name__ = name
        return stand_in

    behaviour, inputs = _behaviour(config, looked_at)
    return LoadedChart(behaviour, inputs, tuple(names))


def _behaviour(config: Config, function: Callable[[str], Any]) -> tuple[Behaviour[Any], dict[str, str]]:
    """Return the behaviour of people, and `{chart file: SHA-256}`."""
    name = config.statechart.file
    if name is None:
        return SOCIAL_BEHAVIOUR, {}
    with telling_kind(name, CHART, locate_input(name)):
        if not name.endswith(SUFFIXES):
            raise InputError(name, f"expected a chart in {' or '.join(SUFFIXES)}", key="statechart.file")
        source, text = _read(name)
        words = social_vocabulary(config.population.attributes, config.population.posts.attributes, function)
        return social_behaviour(read_chart(text, name), words), {name: source.sha256}


def chart_text(config: Config) -> str:
    """Return the file of people's chart as it is written, with its comments."""
    if config.simulation.domain != "social":
        problem = f"the chart of {config.simulation.domain} is made in Python, so there is no file of it"
        raise ConfigError("configuration", problem, key="simulation.domain")
    name = config.statechart.file
    return social_chart_text() if name is None else _read(name)[1]


def _read(name: str) -> tuple[Input, str]:
    source = read_input(name, bytes_max=4 * LENGTH_MAX)
    return source, decode_text(source.data, name)


def _place_of(config: Config, function: str) -> tuple[SimulationConfig, Path]:
    """Return the name of a chart's function, and the directory of the chart's file, in which it is looked for, too."""
    named = SimulationConfig(domain=function, domain_path=config.simulation.domain_path)
    return named, locate_input(config.statechart.file or "").parent


def _located(config: Config, functions: tuple[str, ...]) -> list[OwnCode]:
    """Return the code of functions. Missing code is left out: its import raises the error that names the line."""
    found = list[OwnCode]()
    for name in functions:
        with suppress(ConfigError):
            found.append(locate_code(*_place_of(config, name)))
    return found
