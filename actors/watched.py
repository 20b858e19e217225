"""Whether a run is watched, as its configuration says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import Protocol

from actors.observer import Observer
from actors.run_directory import RunDirectory
from prism.config import Config


class Watch(Protocol):
    """Who watches a run, and from where."""

    @property
    def url(self) -> str | None:
        """Where the run can be watched; None where it cannot."""

    def watching(self, directory: RunDirectory) -> AbstractContextManager[Observer]:
        """Who is to be told of the run in this directory, while it runs."""


class Unwatched:
    """Nobody watches."""

    url = None

    def watching(self, _: RunDirectory) -> AbstractContextManager[Observer]:
        """An observer who keeps nothing."""
        return nullcontext(Observer())


@contextmanager
def watched(config: Config) -> Iterator[Watch]:
    """The watch over a run. Its address is taken at once.

    Raises:
        MetricsAddressError: the address cannot be listened on.
        ConfigError: the certificate cannot be used, or a password is missing.
    """
    if not config.metrics.enabled:
        yield Unwatched()
        return
    # Imported here, because the Prometheus client takes 60 ms to import and most runs are not watched.
    from actors.endpoint import Endpoint  # noqa: PLC0415

    with closing(Endpoint(config)) as endpoint:
        yield endpoint
