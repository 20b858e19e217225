"""The observation of a run: by an HTTP endpoint or none, as its configuration says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from typing import NamedTuple

from actors.core.events import Event
from actors.core.ports import Address, Observer
from prism.config import Config
from prism.errors import ConfigError


class Observation(NamedTuple):
    """The observation of a run: an address, an observer, and a listener to its events.

    Args:
        address: the address of its metrics; None if there are none.
        observing: provides the observer of the run, whose name it is given, while the run is under way.
        hear: notes an event of the run.
    """

    address: Address | None
    observing: Callable[[str], AbstractContextManager[Observer]]
    hear: Callable[[Event], None]


UNOBSERVED = Observation(None, lambda _: nullcontext(Observer()), lambda _: None)
"""The observation of a run without metrics: its observer keeps nothing."""


@contextmanager
def observation(config: Config) -> Iterator[Observation]:
    """Provide the observation of a run. It listens on its address at once.

    Raises:
        AddressError: the address cannot be listened on.
        ConfigError: the certificate cannot be used, a password is missing, or the packages for tracing are.
    """
    check_tracing(config)
    with _served(config) as observed:
        yield observed._replace(observing=partial(_traced, observed, config)) if config.metrics.tracing else observed


@contextmanager
def _traced(observed: Observation, config: Config, run_id: str) -> Iterator[Observer]:
    """Provide an observer that makes spans, besides what is observed otherwise."""
    from actors.metrics.spans import spans_of  # noqa: PLC0415  # its packages are an extra

    with observed.observing(run_id) as observer, spans_of(config, run_id, observer) as spans:
        yield spans


def check_tracing(config: Config) -> None:
    """Check that the packages are there that tracing needs, if it is on.

    Raises:
        ConfigError: a package is missing.
    """
    if not config.metrics.tracing:
        return
    try:
        import actors.metrics.spans  # noqa: F401, PLC0415  # 0.2 s to import, and few runs are traced
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        problem = f"tracing needs the package {package}; install it with: pip install 'prism-sim[otel]'"
        raise ConfigError("run", problem, key="metrics.tracing") from None


@contextmanager
def _served(config: Config) -> Iterator[Observation]:
    if not config.metrics.enabled:
        yield UNOBSERVED
        return
    # Imported here, because the Prometheus client takes 60 ms to import and most runs are not observed.
    from actors.metrics.endpoint import Endpoint  # noqa: PLC0415

    with closing(Endpoint(config)) as endpoint:
        yield Observation(endpoint.address, endpoint.observing, endpoint.hear)
