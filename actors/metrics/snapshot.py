"""The content of a scrape: labels and a snapshot."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.core.snapshot import RunSnapshot
from actors.metrics.histogram import Counts
from prism.measure import Measure


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """Values that stay the same for a whole run.

    Args:
        run_id: the name of the run's directory.
        scenario: the domain.
        model: the model that the oracle asks; `embedded` if it asks none.
    """

    run_id: str
    scenario: str
    backend: str
    seed: str
    model: str
    version: str
    python: str


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a scrape, without the event loop's lag. It never changes.

    Args:
        active: whether the run is under way.
        measures: the world's measures at the end of a tick.
        triggers_refused, triggers_dropped, agents_depth_max: totals over the agents' mailboxes.
        journal_bytes, journal_ticks: the size of the journal on disk.
        checkpoint_s: Unix time of the latest checkpoint; 0 before the first.
        timings: `{metric: {label values: counts}}`.
    """

    labels: Labels
    active: bool
    run: RunSnapshot
    measures: tuple[Measure, ...]
    triggers_refused: int
    triggers_dropped: int
    agents_depth_max: int
    journal_bytes: int
    journal_ticks: int
    checkpoint_s: float
    tasks: int | None
    timings: Mapping[str, Mapping[tuple[str, ...], Counts]]
