"""The reasons for which a process of a run ends, as metrics, events, manifest and summary name them."""

from __future__ import annotations

DONE = "done"
DONE_WITH_FALLBACKS = "done_with_fallbacks"
"""Done, but some choices were not the oracle's."""

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
SPEND_CAP, FALLBACK_SHARE = "spend_cap", "fallback_share"
OUTAGE, REFUSED, NO_ANSWER, UNAVAILABLE = "outage", "refused", "no_answer", "unavailable"
"""The reasons, besides signals, for which a run stops before its last tick: its settings, or its oracle."""

ERROR = "error"
"""The end of a run by anything else. It is in no manifest: the run is as after a crash."""

ENDS = (
    *(DONE, DONE_WITH_FALLBACKS, *SIGNALS, SPEND_CAP, FALLBACK_SHARE),
    *(OUTAGE, REFUSED, NO_ANSWER, UNAVAILABLE, ERROR),
)
"""All of them."""
