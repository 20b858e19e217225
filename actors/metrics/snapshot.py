"""What a scrape is made of."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.core.snapshot import RunSnapshot
from actors.metrics.histogram import Counts
from prism.measure import Measure


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """What stays the same for a whole run.

    Args:
        run_id: the name of the run's directory.
        scenario: the domain.
        model: who the oracle asks; `embedded` where it asks nobody.
    """

    run_id: str
    scenario: str
    backend: str
    seed: str
    model: str
    version: str
    python: str


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """All that a scrape is made of, the event loop's lag aside. Nothing in it ever changes.

    Args:
        active: whether the run is under way.
        measures: the world's, as of the end of a tick.
        triggers_refused, triggers_dropped, agents_depth_max: of agents' mailboxes.
        journal_bytes, journal_ticks: what is on disk.
        checkpoint_s: when the latest checkpoint was written, in Unix time; 0 before the first.
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
