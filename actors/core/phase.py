"""The phases of a run, and the reasons for its end, as metrics, events, manifest and summary name them."""

from __future__ import annotations

from enum import StrEnum, unique


@unique
class Phase(StrEnum):
    """A phase of a run: the one thing that it is doing.

    `starting`: it reads its files, builds its agents and greets its oracle. `recovering`: it does recorded ticks again.
    `running`: it does new ticks. `waiting_for_oracle`: the server does not answer, or one tick has waited long for an
    answer. `waiting_for_disk`: the disk does not take what is written. `stopping`: it finishes its tick and writes its
    files. `ended`: its process does nothing more for it.
    """

    STARTING = "starting"
    RECOVERING = "recovering"
    RUNNING = "running"
    WAITING_FOR_ORACLE = "waiting_for_oracle"
    WAITING_FOR_DISK = "waiting_for_disk"
    STOPPING = "stopping"
    ENDED = "ended"


WAITING = frozenset({Phase.WAITING_FOR_ORACLE, Phase.WAITING_FOR_DISK})
UNDER_WAY = frozenset({Phase.RUNNING, Phase.STOPPING, *WAITING})
"""The phases in which a run has done its recorded ticks again and has not ended."""


DONE = "done"
DONE_WITH_FALLBACKS = "done_with_fallbacks"
"""Done, but some choices were made without the oracle."""

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
SPEND_CAP, FALLBACK_SHARE = "spend_cap", "fallback_share"
OUTAGE, REFUSED, NO_ANSWER, UNAVAILABLE = "outage", "refused", "no_answer", "unavailable"
"""The reasons, besides signals, for which a run stops before its last tick: its settings, or its oracle."""

ERROR = "error"
"""The end of a run by anything else. No manifest records it: the run is as after a crash."""

ENDS = (
    *(DONE, DONE_WITH_FALLBACKS, *SIGNALS, SPEND_CAP, FALLBACK_SHARE),
    *(OUTAGE, REFUSED, NO_ANSWER, UNAVAILABLE, ERROR),
)
"""All reasons for the end of a run."""
