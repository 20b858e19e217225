"""The domains that a configuration can name. No other module knows more than one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from actors.factory.input_files import fitting_memory, load_population, read_input
from prism.config import Config
from prism.domain import Domain
from prism.social.population import ignore_step


class BuiltDomain(NamedTuple):
    """A domain ready to run, and `{input file, as the user wrote it: SHA-256}`."""

    domain: Domain
    inputs: dict[str, str]


def _social(config: Config, on_step: Callable[[str], None]) -> BuiltDomain:
    from prism.social.domain import SocialDomain  # noqa: PLC0415  # a run needs one of the domains, so it imports one

    population, inputs = load_population(config.population, config.simulation.seed, on_step)
    on_step("preparing the world")
    return BuiltDomain(SocialDomain(config, population), inputs)


def _economy(config: Config, _: Callable[[str], None]) -> BuiltDomain:
    from prism.economy.domain import EconomyDomain  # noqa: PLC0415
    from prism.economy.initial import initial_state  # noqa: PLC0415
    from prism.economy.series import parse_series  # noqa: PLC0415

    initial = config.economy.initial
    if initial.path is None:
        return BuiltDomain(EconomyDomain(config, initial_state(initial)), {})
    with fitting_memory(initial.path):
        source = read_input(initial.path)
        series = parse_series(source.data, source.name)
    return BuiltDomain(EconomyDomain(config, initial_state(initial, series)), {source.name: source.sha256})


DOMAINS: dict[str, Callable[[Config, Callable[[str], None]], BuiltDomain]] = {"social": _social, "economy": _economy}


def build_domain(config: Config, on_step: Callable[[str], None] = ignore_step) -> BuiltDomain:
    """Return the domain that the configuration names, with its input files read.

    Args:
        on_step: called with the next step in words, where steps can take long.

    Raises:
        ConfigError: the configuration does not fit its inputs.
        InputError: an input file cannot be used.
    """
    return DOMAINS[config.simulation.domain](config, on_step)
