"""The observation of a run: over HTTP or not at all, as its configuration says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import Protocol

from actors.core.events import Event
from actors.core.ports import Address, Observer
from prism.config import Config


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


@contextmanager
def observation(config: Config) -> Iterator[Observation]:
    """Provide the observation of a run. It listens on its address at once.

    Raises:
        MetricsAddressError: the address cannot be listened on.
        ConfigError: the certificate cannot be used, or a password is missing.
    """
    if not config.metrics.enabled:
        yield Unobserved()
        return
    # Imported here, because the Prometheus client takes 60 ms to import and most runs are not observed.
    from actors.metrics.endpoint import Endpoint  # noqa: PLC0415

    with closing(Endpoint(config)) as endpoint:
        yield endpoint
