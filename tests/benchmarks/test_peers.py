"""The parts of the benchmarks with peers that need no peer: fits, tables, the page, and systems that are missing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from actors.factory.config_file import read_settings
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from benchmarks.peers import charts, growth, mailboxes, page
from benchmarks.peers.feed import PlainLoop
from benchmarks.peers.run import COMPARISONS, grown
from benchmarks.peers.systems import PACKAGES, SIZES, System, Values, measured, peer
from tests.catalogue import catalogue
from tests.paths import ROOT

SIZES_OF_FIT = [1000.0, 2000.0, 4000.0, 8000.0, 16000.0]


def test_the_section_is_what_its_json_gives() -> None:
    document = json.loads((ROOT / "docs" / "benchmarks.json").read_text(encoding="utf-8"))
    shown = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert shown.endswith(page.markdown(document))
    assert list(document["comparisons"]) == list(COMPARISONS)


def test_the_fits_of_the_page_are_those_of_its_points() -> None:
    document = json.loads((ROOT / "docs" / "benchmarks.json").read_text(encoding="utf-8"))
    for points in document["comparisons"]["growth"].values():
        assert growth.fit(points["size"], points["us"])._asdict() == pytest.approx(points["fit"])


def test_the_exponent_of_an_exact_power_is_found() -> None:
    fit = growth.fit(SIZES_OF_FIT, [3.0 * size**0.5 for size in SIZES_OF_FIT])
    assert fit == pytest.approx((0.5, 0.5, 0.5))


def test_the_interval_of_the_exponent_covers_the_truth_about_as_often_as_it_says() -> None:
    noise, sizes = np.random.default_rng(7), SIZES_OF_FIT * 3
    fits = [growth.fit(sizes, list(5 * np.exp(0.1 * noise.standard_normal(15))), seed) for seed in range(40)]
    assert sum(fit.low <= 0 <= fit.high for fit in fits) >= 32
    assert all(fit.low < fit.exponent < fit.high for fit in fits)


@catalogue(
    ("sizes", "costs"),
    [([1.0, 2.0], [1.0, 1.0]), ([5.0, 5.0, 5.0], [1.0, 2.0, 3.0]), ([1.0, 2.0, 4.0], [1.0, 0.0, 1.0])],
)
def test_points_that_give_no_line_are_refused(sizes: list[float], costs: list[float]) -> None:
    with pytest.raises(ValueError, match="expected three points or more, of two sizes or more, all above 0"):
        growth.fit(sizes, costs)


def needs_nowhere(_: object) -> Values:
    return {"us": float(len(peer("nowhere_at_all").__name__))}


def test_a_missing_package_is_a_line_of_the_table() -> None:
    missing = measured(System(needs_nowhere, "nowhere"), SIZES["small"])
    assert missing == {"missing": "import nowhere_at_all: ModuleNotFoundError: No module named 'nowhere_at_all'"}
    rows = page.rows_of("channels", {"PRISM": {"samples": [values_of(10.0)]}, "other": missing})
    assert rows[2] == ["other", f"not installed: {missing['missing']}", "", ""]
    text = page.terminal(document_of(channels={"PRISM": {"samples": [values_of(10.0)]}, "other": missing}))
    assert text.splitlines()[3] == f"  other  not installed: {missing['missing']}"


def test_a_package_that_is_broken_in_this_python_is_a_line_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_peer.py").write_text("raise SystemError('not for this Python\\nsecond line')\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = measured(System(lambda _: {"us": float(bool(peer("broken_peer")))}), SIZES["small"])
    assert found == {"missing": "import broken_peer: SystemError: not for this Python"}


def test_a_peer_that_fails_while_it_is_measured_is_a_line_of_the_table() -> None:
    def fails(_: object) -> Values:
        raise ConnectionError("no port is free")

    found = measured(System(fails), SIZES["small"])
    assert found == {"missing": "ConnectionError: no port is free"}
    assert page.rows_of("channels", {"peer": found})[1][1] == "failed: ConnectionError: no port is free"


def values_of(us: float) -> Values:
    return {"1 asker, us": us, "1,000 askers, us": 10 * us}


def document_of(**comparisons: Any) -> dict[str, Any]:
    return {"comparisons": comparisons}


def test_figures_are_medians_and_ratios_are_of_measurements_next_to_each_other() -> None:
    first = {"samples": [values_of(us) for us in (10.0, 20.0, 60.0)]}
    second = {"samples": [values_of(us) for us in (30.0, 20.0, 120.0)]}
    rows = page.rows_of("channels", {"PRISM": first, "other": second})
    assert rows[1:] == [["PRISM", "20", "200", "1.00"], ["other", "30", "300", "2.00"]]


def test_growth_has_a_row_for_each_thing_that_grows() -> None:
    points = {
        f"ticks, {size}": {"samples": [{"size": size, "us an activation": 2.0 * size, "x": 1.0}]} for size in (1, 2, 4)
    }
    assert page.growth_rows(grown(points))[1:] == [["ticks", "1", "4", "3", "2.0 to 8.0", "+1.000", "+1.000 to +1.000"]]


def test_a_thing_whose_growth_could_not_be_measured_says_so() -> None:
    points = {f"ticks, {size}": {"missing": "its process ended with -9"} for size in (1, 2, 4)}
    row = page.growth_rows(grown(points))[1]
    assert row[:2] == ["ticks", "failed: its process ended with -9"]


def test_the_extra_names_the_packages_that_are_measured() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert tuple(each.partition(">=")[0] for each in project["optional-dependencies"]["peers"]) == PACKAGES
    needed = {system.package for systems in COMPARISONS.values() for system in systems.values()} - {""}
    assert needed == set(PACKAGES)


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


async def test_both_ways_to_use_a_mailbox_end() -> None:
    with anyio.fail_after(60):
        assert await mailboxes.ping_pong(5, mailboxes.prism(), mailboxes.prism()) > 0
        assert await mailboxes.fan_in(2, *mailboxes.prism()) > 0
        assert await mailboxes.put_and_take(5) > 0
        assert await mailboxes.put_and_receive_all(2) > 0


@catalogue("guarded", [False, True])
@catalogue("make", [charts.table, charts.prism])
def test_each_step_goes_round_the_circle(make: Any, guarded: bool) -> None:
    step = make(guarded)
    assert [str(step()) for _ in range(5)] == ["b", "c", "d", "a", "b"]
