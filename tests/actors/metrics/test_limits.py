"""The limits of a run in its metrics: as numbers of their own, and as bounds of buckets."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest

from actors.metrics.instruments import CALL, TICK
from actors.metrics.observer import NOTICED_LATE
from deploy.scrape import Scrape
from prism.config import LLMConfig
from prism.llm import LLMFailureException
from tests.actors.metrics.support import Watched, finished
from tests.actors.oracles import Answer, ScriptedOracle, never
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


def p99(scrape: Scrape) -> float | None:
    return scrape.quantile(0.99, CALLS)


def test_timeout_and_deadline_are_bounds_of_the_buckets_that_they_concern() -> None:
    shown = Watched(LIMITED).scrape()
    assert bounds(shown, CALLS) >= {TIMEOUT_S, DEADLINE_S}
    assert DEADLINE_S in bounds(shown, TICK.name) & bounds(shown, "prism_oracle_queue_wait_seconds")
    assert shown.value("prism_llm_timeout_seconds") == TIMEOUT_S
    assert shown.value("prism_oracle_deadline_seconds") == DEADLINE_S


async def timed_out(*_: Any) -> Any:
    """A client whose timeout is noticed a moment late."""
    await anyio.sleep(TIMEOUT_S * 1.01)
    raise LLMFailureException("timeout")


@pytest.mark.parametrize(("answer", "limit_s"), [(timed_out, TIMEOUT_S), (never, DEADLINE_S)])
def test_no_quantile_of_calls_is_above_the_limit_that_ended_them(answer: Answer, limit_s: float) -> None:
    shown = finished(Watched(with_oracle(LIMITED, on_outage="fallback"), oracle=ScriptedOracle(answer)))
    assert shown.value(f"{CALLS}_count") > 0
    assert (p99(shown) or 0.0) <= limit_s


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
        watched.metrics.answered(reason, duration_s, tick=1)
    watched.metrics.run_built(watched.simulation)
    assert watched.scrape().value(f"{CALLS}_sum") == pytest.approx(sum(ends.values()))
