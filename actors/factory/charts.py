"""The chart of a configuration: the default one, or the one in the file that it names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from actors.factory.file_kinds import CHART, telling_kind
from actors.factory.input_files import Input, locate_input, read_input
from actors.factory.own_code import OwnCode, find_domain_code, locate_code, refuse_unknown
from prism.config import LENGTH_MAX, Config, SimulationConfig
from prism.errors import ConfigError, InputError, StatechartError
from prism.expectations import guess
from prism.social.chart import SOCIAL_BEHAVIOUR, social_behaviour, social_chart_text
from prism.social.vocabulary import social_vocabulary
from prism.statechart import Behaviour, read_chart
from prism.statechart.transitions import is_deferred
from prism.text_files import decode_text

SUFFIXES = (".yaml", ".yml")


class LoadedChart(NamedTuple):
    """A behaviour, and where it comes from.

    Args:
        inputs: `{chart file, as the user wrote it: SHA-256}`; empty for the default chart.
        functions: the Python functions that the chart names, as `module:name`.
        code: the files that they were imported from; empty for a chart to look at.
    """

    behaviour: Behaviour[Any]
    inputs: dict[str, str]
    functions: tuple[str, ...] = ()
    code: tuple[Path, ...] = ()


def load_chart(config: Config) -> LoadedChart:
    """Return the behaviour of people, ready to run: the functions that it names are imported."""
    looked = look_at_chart(config)
    if not looked.functions:
        return looked
    refuse_unknown(_located(config, looked.functions))
    files, beside = dict[Path, None](), _beside(config)

    def imported(name: str) -> Any:
        named = SimulationConfig(domain=name, domain_path=config.simulation.domain_path)
        try:
            code, function = find_domain_code(named, beside)
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


def code_of_chart(config: Config) -> list[OwnCode]:
    """Return the code of the functions that people's chart names, as far as it can be found; no code is run."""
    return _located(config, look_at_chart(config).functions)


def check_choices(config: Config, behaviour: Behaviour[Any]) -> None:
    """Refuse constants of the embedded oracle for states that the chart does not have."""
    known = [state.value for state in behaviour.states]
    for name in config.oracle.choice.states:
        if name not in known:
            problem = f"{name}: the chart has no such state; {guess(name, known)}"
            raise ConfigError("configuration", problem, key="oracle.choice.states")


def chart_text(config: Config) -> str:
    """Return the file of people's chart as it is written, with its comments."""
    if config.simulation.domain != "social":
        problem = f"the chart of {config.simulation.domain} is made in Python, so there is no file of it"
        raise ConfigError("configuration", problem, key="simulation.domain")
    name = config.statechart.file
    return social_chart_text() if name is None else _read(name)[1]


def _read(name: str) -> tuple[Input, str]:
    """Return a chart's file, and its text."""
    source = read_input(name, bytes_max=4 * LENGTH_MAX)
    return source, decode_text(source.data, name)


def _beside(config: Config) -> Path:
    """Return the directory of the chart's file, in which modules are looked for, too."""
    return locate_input(config.statechart.file or "").parent


def _located(config: Config, functions: tuple[str, ...]) -> list[OwnCode]:
    """Return the code of functions. Missing code is left out: its import raises the error that names the line."""
    found, beside = list[OwnCode](), _beside(config)
    for name in functions:
        with suppress(ConfigError):
            found.append(locate_code(SimulationConfig(domain=name, domain_path=config.simulation.domain_path), beside))
    return found
