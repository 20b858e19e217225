"""The parts of the benchmarks with peers that need no peer: fits, tables, the page, and systems that are missing."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from actors.factory.config_file import read_settings
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from benchmarks.peers import growth, mailboxes, page
from benchmarks.peers.feed import PlainLoop
from benchmarks.peers.systems import SIZES, System, Values, measured, peer

SIZES_OF_FIT = [1000.0, 2000.0, 4000.0, 8000.0, 16000.0]


def test_the_exponent_of_an_exact_power_is_found() -> None:
    fit = growth.fit(SIZES_OF_FIT, [3.0 * size**0.5 for size in SIZES_OF_FIT])
    assert fit == pytest.approx((0.5, 0.5, 0.5))


def needs_nowhere(_: object) -> Values:
    return {"us": float(len(peer("nowhere_at_all").__name__))}


def test_a_missing_package_is_a_line_of_the_table() -> None:
    missing = measured(System(needs_nowhere, "nowhere"), SIZES["small"])
    assert missing == {"missing": "import nowhere_at_all: ModuleNotFoundError: No module named 'nowhere_at_all'"}
    rows = page.rows_of("channels", {"PRISM": {"samples": [values_of(10.0)]}, "other": missing})
    assert rows[2] == ["other", f"not installed: {missing['missing']}", "", ""]
    text = page.terminal(document_of(channels={"PRISM": {"samples": [values_of(10.0)]}, "other": missing}))
    assert text.splitlines()[3] == f"  other  not installed: {missing['missing']}"


def values_of(us: float) -> Values:
    return {"1 asker, us": us, "1,000 askers, us": 10 * us}


def document_of(**comparisons: Any) -> dict[str, Any]:
    return {"comparisons": comparisons}


async def test_the_plain_loop_does_what_a_run_does() -> None:
    config = read_settings(["population.size=60", "simulation.rounds=4", "population.ambiguity=0.4"])
    run, domain = build_domain(config).domain, build_domain(config).domain
    simulation = Simulation(config, run)
    await simulation.run()
    loop = PlainLoop(domain, config)
    await loop.run()
    assert simulation.counters.questions > 0
    assert loop.activations == simulation.counters.activations
    assert domain.world.totals() == run.world.totals()


async def test_both_channels_bring_each_answer_to_its_asker() -> None:
    with anyio.fail_after(60):
        assert await mailboxes.round_trips(mailboxes.PolledChannel(0), 5, 3) > 0
        assert await mailboxes.round_trips(mailboxes.MailboxChannel(), 5, 3) > 0
