"""The domains that a configuration can name. The only place that knows more than one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from actors.sources import load_population
from prism.config import Config
from prism.domain import Domain
from prism.social.domain import SocialDomain


class Built(NamedTuple):
    """A domain ready to run, and `{input file as written: SHA-256}`."""

    domain: Domain
    inputs: dict[str, str]


def _social(config: Config) -> Built:
    population, inputs = load_population(config.population, config.simulation.seed)
    return Built(SocialDomain(config, population), inputs)


DOMAINS: dict[str, Callable[[Config], Built]] = {"social": _social}


def build_domain(config: Config) -> Built:
    """The domain that the configuration names, with its input files read.

    Raises:
        ConfigError: the configuration does not fit its inputs.
        InputError: an input file cannot be used.
    """
    return DOMAINS[config.simulation.domain](config)
