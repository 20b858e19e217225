"""Counters over kills and resumes: they never fall, no tick is counted twice, and no call to a model is lost.

A run on a simulated disk is killed while it writes, and resumed. Everything that its metrics ever publish is read, as a
Prometheus would that scrapes at the worst moments.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import anyio
import msgspec
import pytest

from actors.core.snapshot import RunSnapshot
from actors.metrics.instruments import INSTRUMENTS
from actors.metrics.observer import Metrics
from actors.store.oracle_log import scan_answers
from prism.config import LLMConfig, PricesConfig
from prism.llm import LLMFailureException
from prism.llm.failure import Usage
from prism.llm.spending import Ledger, Spent, count_call, tokens_of
from prism.rng import uniform
from prism.statechart import Oracle
from tests.crash.disk import Crash, CrashedError, Cut, SimulatedDisk
from tests.crash.scenes import CONFIG, Scene, changed
from tests.tiers import Size

Totals = dict[tuple[str, ...], float]
"""`{(counter, label values): value}`."""

OF_ONE_PROCESS = frozenset({"prism_ticks_replayed_total", "prism_messages_total"})
"""Counters that begin at 0 in each process, as a histogram does."""
OF_CALLS = frozenset(
    {
        "prism_llm_calls_total",
        "prism_llm_tokens_total",
        "prism_llm_cached_tokens_total",
        "prism_llm_wasted_tokens_total",
        "prism_llm_cost_usd_total",
        "prism_llm_wasted_cost_usd_total",
        "prism_oracle_retries_total",
    }
)
"""Counters of what a run has cost. A kill costs more: the calls under way are made again."""

FEW, PROMPT, CACHED, COMPLETION = 4, 90, 60, 10
PRICES = PricesConfig(input=100.0, output=1000.0, cached=10.0)
SETTINGS = msgspec.structs.replace(
    changed(CONFIG, "oracle", max_concurrency=FEW, max_attempts=5), llm=LLMConfig(prices=PRICES)
)
PACE = Scene(is_live=True, config=SETTINGS)


class Asking(Oracle[Any]):
    """An oracle of one process, that asks a server: one question in five fails at first. Its answers never change.

    Args:
        served: what the server has answered in all lives of a run, as it counts for itself.
    """

    source = "llm"

    def __init__(self, served: Ledger) -> None:
        self._served = served
        self._failed: set[tuple[int, int]] = set()

    async def ask(
        self, agent: Any, current_state: Any, trigger: str, options: Sequence[Any], context: Any = None
    ) -> Any:
        name, drawn = (agent.agent_id, agent.tick), uniform(5, agent.agent_id, agent.tick, 1)
        await anyio.sleep(2.0 * drawn)
        if drawn < 0.2 and name not in self._failed:
            self._failed.add(name)
            self._count("server_error", Usage(PROMPT, 0, CACHED))
            raise LLMFailureException("server_error")
        self._count("ok", Usage(PROMPT, COMPLETION, CACHED))
        return options[int(drawn * 1e6) % len(options)]

    def _count(self, outcome: Any, usage: Usage) -> None:
        count_call(outcome, 0.1, usage)
        spent = Spent(outcome, 1, 0.1, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
        self._served.add((spent,))


class Scraped(Metrics):
    """The metrics of one process, read whenever they change, until it is killed.

    Args:
        disk: the disk of the run: no scrape comes after its end.
        totals: what was read last in all lives. A counter that falls is an error.
    """

    def __init__(self, disk: SimulatedDisk, totals: Totals) -> None:
        super().__init__(SETTINGS, "run", clock=anyio.current_time)
        self._simulated = disk
        self._read = totals
        self.scrapes = 0

    def _show(self, now: RunSnapshot) -> None:
        super()._show(now)
        if self._simulated.is_dead:
            return
        self.scrapes += 1
        for key, value in self._counters().items():
            before = self._read.get(key, 0.0)
            assert value >= before, f"{key} falls from {before} to {value}"
            self._read[key] = value

    def _counters(self) -> Mapping[tuple[str, ...], float]:
        now = self.snapshot
        assert now is not None
        counted = {
            (metric.name, *labels): float(value)
            for metric in INSTRUMENTS
            if metric.kind == "counter" and metric.name not in OF_ONE_PROCESS
            for labels, value in (metric.series(now) or {}).items()
        }
        measured = () if now.committed is None else now.committed.measures
        return counted | {(each.name, *each.labels.values()): each.value for each in measured if each.kind == "counter"}


def run(scene: Scene, kills: Sequence[Crash], seed: int) -> tuple[Totals, Ledger, SimulatedDisk]:
    """Run to the end, killed so often, and return what was scraped, what was served, and the disk at the end."""
    totals: Totals = {}
    served, disk = Ledger(), SimulatedDisk(seed=seed)
    for number, kill in enumerate((*kills, None)):
        disk.crash = kill
        metrics = Scraped(disk, totals)
        try:
            scene.run(disk, process=seed + number, oracle=Asking(served), observer=metrics)
        except CrashedError:
            disk = disk.surviving(Cut.KILLED, seed + number)
        assert metrics.scrapes or kill is not None
    return totals, served, disk


def kills_of(scene: Scene, seed: int, count: int = 5) -> list[Crash]:
    random = Random(seed)
    return [Crash(at=random.randint(1, whole(scene)[2].changes // 3), share=random.random()) for _ in range(count)]


@cache
def whole(scene: Scene) -> tuple[Totals, Ledger, SimulatedDisk]:
    """Return what an undisturbed run leaves."""
    return run(scene, (), 0)


def only(totals: Totals, name: str) -> dict[str, float]:
    return {key[-1]: value for key, value in totals.items() if key[0] == name and value}


@pytest.mark.slow
def test_over_five_kills_nothing_falls_and_the_end_is_that_of_an_undisturbed_run(size: Size) -> None:
    def of_journal(totals: Totals) -> Totals:
        return {key: value for key, value in totals.items() if key[0] not in OF_CALLS}

    for seed in range(size(20, everyday=4)):
        totals, served, disk = run(PACE, kills_of(PACE, seed), seed)
        assert of_journal(totals) == of_journal(whole(PACE)[0])
        assert_calls_are_true(totals, served, kills=5)
        assert_log_is_shown(totals, disk)


def assert_calls_are_true(totals: Totals, ledger: Ledger, kills: int) -> None:
    """Assert that the calls are the server's, but for at most those under way at a kill."""
    counted = only(totals, "prism_llm_calls_total")
    served = {spent.outcome: spent.calls for spent in ledger}
    lost = sum(served.values()) - sum(counted.values())
    assert 0 <= lost <= kills * FEW
    assert all(counted.get(outcome, 0) <= calls for outcome, calls in served.items())
    tokens = sum(only(totals, "prism_llm_tokens_total").values())
    assert 0 <= tokens_of(ledger) - tokens <= lost * (PROMPT + COMPLETION)


def assert_log_is_shown(totals: Totals, disk: SimulatedDisk) -> None:
    """Assert that the last numbers are those of all records in the log."""
    effort = scan_answers(disk).effort
    assert only(totals, "prism_llm_calls_total") == {spent.outcome: spent.calls for spent in effort.spent}
    assert sum(only(totals, "prism_llm_tokens_total").values()) == tokens_of(effort.spent)
    assert only(totals, "prism_oracle_retries_total") == effort.retries
    calls = sum(spent.calls for spent in effort.spent)
    failed = sum(spent.calls for spent in effort.spent if spent.outcome != "ok")
    assert sum(only(totals, "prism_llm_cached_tokens_total").values()) == calls * CACHED
    assert sum(only(totals, "prism_llm_wasted_tokens_total").values()) == failed * PROMPT
    read_usd, written_usd = ((PROMPT - CACHED) * 100.0 + CACHED * 10.0) / 1e6, COMPLETION * 1000.0 / 1e6
    usd = calls * read_usd + (calls - failed) * written_usd
    assert sum(only(totals, "prism_llm_cost_usd_total").values()) == pytest.approx(usd)
    assert sum(only(totals, "prism_llm_wasted_cost_usd_total").values()) == pytest.approx(failed * read_usd)
