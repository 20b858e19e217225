"""The chart of a configuration: the default one, or the one in the file that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from actors.factory.domain_code import find_domain_code
from actors.factory.input_files import Input, locate_input, read_input
from prism.config import LENGTH_MAX, Config, SimulationConfig
from prism.errors import ConfigError, InputError, StatechartError
from prism.expectations import guess
from prism.social.chart import SOCIAL_BEHAVIOUR, social_behaviour, social_chart_text
from prism.social.vocabulary import social_vocabulary
from prism.statechart import Behaviour, read_chart
from prism.statechart.deferred import is_deferred

SUFFIXES = (".yaml", ".yml")


class LoadedChart(NamedTuple):
    """A behaviour, and where it comes from.

    Args:
        inputs: `{chart file, as the user wrote it: SHA-256}`; empty for the default chart.
        code: the files of the Python functions that the chart names.
    """

    behaviour: Behaviour[Any]
    inputs: dict[str, str]
    code: tuple[Path, ...] = ()


def load_chart(config: Config) -> LoadedChart:
    """Return the behaviour of people.

    Raises:
        ConfigError: the file is no chart that the world can run.
        InputError: the file cannot be read.
    """
    name = config.statechart.file
    if name is None:
        return LoadedChart(SOCIAL_BEHAVIOUR, {})
    if not name.endswith(SUFFIXES):
        raise InputError(name, f"expected a chart in {' or '.join(SUFFIXES)}", key="statechart.file")
    source, text = _read(name)
    definition = read_chart(text.replace("\r\n", "\n"), name)
    functions = _Functions(config.simulation.domain_path, locate_input(name).parent)
    words = social_vocabulary(config.population.attributes, functions.find)
    return LoadedChart(social_behaviour(definition, words), {name: source.sha256}, tuple(functions.files))


def check_choices(config: Config, behaviour: Behaviour[Any]) -> None:
    """Refuse constants of the embedded oracle for states that the chart does not have.

    Raises:
        ConfigError: there is one.
    """
    known = [state.value for state in behaviour.states]
    for name in config.oracle.choice.states:
        if name not in known:
            problem = f"{name}: the chart has no such state; {guess(name, known)}"
            raise ConfigError("configuration", problem, key="oracle.choice.states")


def chart_text(config: Config) -> str:
    """Return the file of people's chart as it is written, with its comments.

    Raises:
        ConfigError: the domain's chart is no file.
        InputError: the file cannot be read.
    """
    if config.simulation.domain != "social":
        problem = f"the chart of {config.simulation.domain} is made in Python, so there is no file of it"
        raise ConfigError("configuration", problem, key="simulation.domain")
    name = config.statechart.file
    return social_chart_text() if name is None else _read(name)[1]


def _read(name: str) -> tuple[Input, str]:
    """Return a chart's file, and its text."""
    source = read_input(name, bytes_max=4 * LENGTH_MAX)
    try:
        return source, source.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(name, f"is not UTF-8 text (byte {error.start})") from None


class _Functions:
    """The Python functions that a chart names, and the files that they come from.

    Args:
        directory: `simulation.domain_path`.
        beside: the directory of the chart's file, in which modules are looked for, too.
    """

    def __init__(self, directory: str | None, beside: Path) -> None:
        self.files: dict[Path, None] = {}
        self._directory = directory
        self._beside = beside

    def find(self, name: str) -> Any:
        """Return the function `module:name`.

        Raises:
            StatechartError: it cannot be imported, or is no function that answers at once.
        """
        try:
            code = find_domain_code(SimulationConfig(domain=name, domain_path=self._directory), self._beside)
        except ConfigError as error:
            raise StatechartError(f"{name}: {error.problem}") from error
        if not callable(code.value) or is_deferred(code.value):
            raise StatechartError(f"{name}: expected a function (agent, context) that is not async")
        self.files.update(dict.fromkeys(code.files))
        return code.value
