"""The observation of a run: by an HTTP endpoint or none, as its configuration says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from actors.core.events import Event
from actors.core.ports import Address, Observer
from prism.config import Config


class Observation(NamedTuple):
    """The observation of a run: an address, an observer, and a listener to its events.

    Args:
        address: the address of its metrics; None if there are none.
        observe: returns the observer of the run, whose name it is given.
        hear: notes an event of the run.
    """

    address: Address | None
    observe: Callable[[str], Observer]
    hear: Callable[[Event], None]


UNOBSERVED = Observation(None, lambda _: Observer(), lambda _: None)
"""The observation of a run without metrics: its observer keeps nothing."""


@contextmanager
def observation(config: Config) -> Iterator[Observation]:
    """Provide the observation of a run. It listens on its address at once."""
    if not config.metrics.enabled:
        yield UNOBSERVED
        return
    # Imported here, because the Prometheus client takes 60 ms to import and most runs are not observed.
    from actors.metrics.endpoint import Endpoint  # noqa: PLC0415

    with closing(Endpoint(config)) as endpoint:
        yield Observation(Address(url=endpoint.url), endpoint.observe, endpoint.hear)
