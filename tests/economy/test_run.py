"""An economy by the command line, and the shipped economy under many seeds."""

import csv
from itertools import pairwise
from pathlib import Path

import pytest

from tests.command import Prism
from tests.paths import ROOT
from tests.wire.support import summary

INDICATORS = ("interest_rate", "inflation", "gdp_growth", "unemployment", "total_economic_value")


@pytest.fixture
def prism(prism: Prism, monkeypatch: pytest.MonkeyPatch) -> Prism:
    """The command line where `configs/economy.yaml` finds its figures."""
    Path("configs").symlink_to(ROOT / "configs")
    monkeypatch.setenv("COLUMNS", "80")
    return prism


def rows(run: str) -> list[dict[str, str]]:
    return list(csv.DictReader((Path(run) / "rounds.csv").read_text().splitlines()))


def test_the_shipped_economy_shows_how_far_its_indicators_went_and_its_series_ends_where_the_summary_does(
    prism: Prism,
) -> None:
    ended = prism("run", "configs/economy.yaml", "--details", "--out", "run")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert max(map(len, lines)) <= 80
    (shown,) = [line for line in lines if line.startswith("interest rate path ")]
    assert "oracle: embedded Taylor rule, validator and engine, no server" in ended.err
    quarters = rows("run")
    rates = [float(row["interest_rate"]) for row in quarters]
    assert len(quarters) == 40
    assert f"lowest {min(rates):.4g}" in shown
    assert f"highest {max(rates):.4g}" in shown
    assert 0.0 <= min(rates) < max(rates) < 20.0
    assert sum(before != after for before, after in pairwise(rates)) > 20, "the rate moves"
    told, last = summary("run"), quarters[-1]
    for name in (*INDICATORS, "proposed", "accepted", "rejected", "applied"):
        assert float(last[name]) == told[name]
    assert told["interest_rate_path"]["highest"] >= told["interest_rate"] >= told["interest_rate_path"]["lowest"]
    assert (told["proposed"], told["decisions_by_source"]["oracle"]) == (200, 600)


@pytest.mark.slow
def test_a_fork_asks_what_if_policy_had_been_another(prism: Prism) -> None:
    prism("run", "configs/economy.yaml", "--out", "parent", "-q")
    dovish = ("--set", "economy.taylor.inflation_weight=0.05")
    assert prism("fork", "parent", "--at", "12", *dovish, "--out", "dovish", "-q").code == 0
    before, after = ({row["round"]: row for row in rows(run)} for run in ("parent", "dovish"))
    assert after["13"]["interest_rate"] != before["13"]["interest_rate"]
    assert after["13"]["inflation"] == before["13"]["inflation"], "inflation answers no earlier than a quarter later"
    assert after["40"]["inflation"] != before["40"]["inflation"]
    assert summary("dovish")["proposed"] == 200, "the past counts"


def test_a_run_without_a_file_starts_from_the_configured_indicators(prism: Prism) -> None:
    alone = ("--set", "economy.initial.path=null", "--set", "economy.initial.quarter=null", "--ticks", "1")
    shocks = ("gap_shock", "inflation_shock", "unemployment_shock")
    calm = [part for shock in shocks for part in ("--set", f"economy.macro.{shock}=0")]
    # With the target at which it starts, it is in balance.
    calm += ["--set", "economy.taylor.inflation_target=2", "--set", "economy.macro.anchor=2"]
    assert prism("run", "configs/economy.yaml", *alone, *calm, "--out", "run", "-q").code == 0
    assert {name: summary("run")[name] for name in ("interest_rate", "inflation", "unemployment")} == {
        "interest_rate": 4.0,
        "inflation": 2.0,
        "unemployment": 5.9,
    }
