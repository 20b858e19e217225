"""The observation of a run: over HTTP or not at all, as its configuration says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import Protocol

from actors.core.events import Event
from actors.core.ports import Address, Observer
from prism.config import Config
from prism.errors import ConfigError


class Observation(Protocol):
    """An observation of a run."""

    @property
    def address(self) -> Address | None:
        """The address of the run's metrics; None if there are none."""

    def observing(self, run_id: str) -> AbstractContextManager[Observer]:
        """Provide the observer of a run while it is under way."""

    def hear(self, event: Event) -> None:
        """Note an event of the run."""


class Unobserved:
    """The observation of a run without metrics."""

    address = None

    def observing(self, _: str) -> AbstractContextManager[Observer]:
        """Provide an observer that keeps nothing."""
        return nullcontext(Observer())

    def hear(self, event: Event) -> None:
        """Ignore the event."""


class Traced:
    """The observation of a run with spans, besides what is observed otherwise.

    Args:
        observed: the other observation.
        config: the run's configuration.
    """

    def __init__(self, observed: Observation, config: Config) -> None:
        self._observed = observed
        self._config = config

    @property
    def address(self) -> Address | None:
        """The address of the run's metrics; None if there are none."""
        return self._observed.address

    @contextmanager
    def observing(self, run_id: str) -> Iterator[Observer]:
        """Provide the observer of a run."""
        from actors.metrics.spans import spans_of  # noqa: PLC0415  # its packages are an extra

        with self._observed.observing(run_id) as observer, spans_of(self._config, run_id, observer) as spans:
            yield spans

    def hear(self, event: Event) -> None:
        """Pass an event on: spans tell of ticks, not of the run."""
        self._observed.hear(event)


@contextmanager
def observation(config: Config) -> Iterator[Observation]:
    """Provide the observation of a run. It listens on its address at once.

    Raises:
        MetricsAddressError: the address cannot be listened on.
        ConfigError: the certificate cannot be used, a password is missing, or the packages for tracing are.
    """
    check_tracing(config)
    with _served(config) as observed:
        yield Traced(observed, config) if config.metrics.tracing else observed


def check_tracing(config: Config) -> None:
    """Check that the packages are there that tracing needs, if it is on.

    Raises:
        ConfigError: they are not.
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
        yield Unobserved()
        return
    # Imported here, because the Prometheus client takes 60 ms to import and most runs are not observed.
    from actors.metrics.endpoint import Endpoint  # noqa: PLC0415

    with closing(Endpoint(config)) as endpoint:
        yield endpoint
