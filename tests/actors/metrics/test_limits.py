"""The limits of a run in its metrics: as numbers of their own, and as bounds of buckets."""

from __future__ import annotations

import msgspec
import pytest

from actors.metrics.instruments import CALL, TICK
from actors.metrics.observer import NOTICED_LATE
from deploy.scrape import Scrape
from prism.config import LLMConfig
from tests.actors.metrics.support import Watched
from tests.actors.social_runs import SMALL, with_oracle

TIMEOUT_S, DEADLINE_S = 6.0, 17.0
"""Neither is a bound in every run."""
LIMITED = msgspec.structs.replace(
    with_oracle(SMALL, deadline_s=DEADLINE_S, max_attempts=1), llm=LLMConfig(timeout_s=TIMEOUT_S)
)
CALLS = CALL.name


def bounds(scrape: Scrape, name: str) -> set[float]:
    """Return the upper bounds of a histogram's buckets."""
    return {float(dict(labels)["le"]) for key, labels in scrape.samples if key == f"{name}_bucket"}


def test_timeout_and_deadline_are_bounds_of_the_buckets_that_they_concern() -> None:
    shown = Watched(LIMITED).scrape()
    assert bounds(shown, CALLS) >= {TIMEOUT_S, DEADLINE_S}
    assert DEADLINE_S in bounds(shown, TICK.name) & bounds(shown, "prism_oracle_queue_wait_seconds")
    assert shown.value("prism_llm_timeout_seconds") == TIMEOUT_S
    assert shown.value("prism_oracle_deadline_seconds") == DEADLINE_S


def test_only_an_end_by_a_limit_is_counted_at_the_limit() -> None:
    watched = Watched(LIMITED)
    ends = {
        ("timeout", TIMEOUT_S * NOTICED_LATE): TIMEOUT_S,
        ("timeout", TIMEOUT_S * 1.5): TIMEOUT_S * 1.5,
        ("timeout", 2.0): 2.0,
        ("deadline", DEADLINE_S + 0.01): DEADLINE_S,
        ("server_error", TIMEOUT_S + 0.01): TIMEOUT_S + 0.01,
        ("", TIMEOUT_S + 0.02): TIMEOUT_S + 0.02,
    }
    for reason, duration_s in ends:
        watched.metrics.answered(reason, duration_s)
    watched.metrics.run_built(watched.simulation)
    assert watched.scrape().value(f"{CALLS}_sum") == pytest.approx(sum(ends.values()))
