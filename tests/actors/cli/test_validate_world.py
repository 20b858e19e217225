from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.command import Prism
from tests.economy.history import US_PATH, us_series
from tests.plain import plain_text

LIVELY = plain_text("""
simulation: {seed: 4, rounds: 8, ticks_per_round: 12, tick_seconds: 900}
population: {size: 60, posts_per_session: 0.6, activity: {mean: 0.9, sigma: 0.1}, engagement_threshold: 0.3}
feed: {horizon_rounds: 2}
""")
ECONOMY = """
simulation: {domain: economy, rounds: 16, ticks_per_round: 1, tick_seconds: 7889400}
population: {deliberation_minutes: 0}
"""
CASCADES = "cascade,node,parent,delay_minutes\n" + "".join(
    f"{size}-{copy},{node},{-1 if node == 0 else 0},{node}\n"
    for size in range(2, 60)
    for copy in range(10)
    for node in range(size)
)
HOURS = ",".join(f"h{hour:02}" for hour in range(24)) + "\n" + ",".join("1" for _ in range(24)) + "\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "social.yaml").write_text(LIVELY)
    (tmp_path / "economy.yaml").write_text(ECONOMY)
    (tmp_path / "stars.csv").write_text(CASCADES)
    (tmp_path / "hours.csv").write_text(HOURS)


def facts(printed: str) -> dict[str, dict[str, object]]:
    return {fact["name"]: fact for fact in json.loads(printed)["facts"]}


@pytest.mark.slow
def test_a_social_run_is_compared_with_cascades_and_hours(prism: Prism) -> None:
    assert prism("run", "social.yaml", "--out", "run", "--quiet").code == 0
    command = ("validate-world", "run", "--against", "stars.csv", "--against", "hours.csv")
    ended = prism(*command)
    assert (ended.code, ended.err) == (0, "")
    found = facts(prism(*command, "--json").out)
    assert found["depth"]["real"] == 1.0
    assert 0.0 < float(str(found["virality"]["distance"])) <= 1.0
    assert found["virality"]["agreement"] == "unknown"
    assert "1 run of 60 people; shapes need 5,000 people and 3 seeds" in " ".join(ended.out.split())
    assert found["hours of the day"]["real"] == 1.0
    single = found["posts without reaction"]
    assert float(str(single["low"])) <= float(str(single["simulated"])) <= float(str(single["high"]))
    engaged = json.loads(Path("run/summary.json").read_text())["behaviour"]["engagement_per_post_seen"]
    assert found["engagement per post seen"]["simulated"] == engaged
    for name in found:
        assert name.split()[0] in ended.out
    assert "Sysomos 2010" in ended.out


def test_without_files_the_published_figures_are_compared(prism: Prism) -> None:
    assert prism("run", "social.yaml", "--out", "run", "--quiet").code == 0
    ended = prism("validate-world", "run", "--json")
    assert ended.code == 0
    found = facts(ended.out)
    assert list(found) == [
        "posts without reaction",
        "100+ posts, of 10,000",
        "engagement per post seen",
        "posts of the top tenth",
    ]
    world = json.loads(Path("run/summary.json").read_text())
    engagements = world["likes"] + world["replies"] + world["reshares"]
    engagement = found["engagement per post seen"]
    assert engagement["simulated"] == pytest.approx(engagements / world["posts_seen"], abs=1e-6)
    assert engagement["agreement"] != "unknown"
    assert prism("validate-world", "run", "--strict").code == 4  # everybody posts in nearly every session


def test_an_economy_is_compared_with_quarters(prism: Prism) -> None:
    assert prism("run", "economy.yaml", "--out", "run", "--quiet").code == 0
    command = ("validate-world", "run", "--against", str(US_PATH))
    ended = prism(*command)
    assert (ended.code, ended.err) == (0, "")
    found = facts(prism(*command, "--json").out)["interest_rate_mean"]
    last = [each.interest_rate for each in us_series()[-16:]]
    assert found["real"] == pytest.approx(sum(last) / 16)
    assert "2005q4 to 2009q3: 16 quarters, as of the runs" in " ".join(ended.out.split())
    assert found["agreement"] == "unknown"
    assert "1 runs; 20 needed for an interval" in str(found["note"])


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("nowhere",), "prism: nowhere: "),
        (("run", "again"), "prism: again: has the seed of run: the same run twice tells no more than once"),
        (
            ("run", "other"),
            "different seeds; feed is not that of run",
        ),
        (("damaged",), "damaged: its journal is damaged: "),
        (("begun",), "prism: begun: has not ended; `prism resume begun` goes on with it"),
        (("run", "--against", "missing.csv"), "prism: missing.csv: "),
        (("run", "--against", "social.yaml"), "prism: social.yaml:1: expected the columns of cascades ("),
        (("run", "--against", str(US_PATH)), "has figures for runs with quarters, and these are social runs"),
        (
            ("run", "economy"),
            "different seeds; simulation is not that of run",
        ),
        (("economy",), "prism: --against: an economy is compared with quarterly figures"),
        (("economy", "--against", "short.csv"), "prism: short.csv: expected at least 16 quarters, got 7"),
        (("young", "--against", str(US_PATH)), "prism: young: expected an economy of at least 12 quarters, got 8"),
    ],
)
def test_what_cannot_be_compared_is_one_clear_line(prism: Prism, arguments: tuple[str, ...], line: str) -> None:
    Path("short.csv").write_text("".join(US_PATH.read_text().splitlines(keepends=True)[:8]))
    for name, ticks in (("run", "16"), ("economy", "16"), ("young", "8")):
        config = "social.yaml" if name == "run" else "economy.yaml"
        if name in arguments or name != "young":
            assert prism("run", config, "--ticks", ticks, "--out", name, "--quiet").code == 0
    for name in ("again", "damaged", "begun"):
        shutil.copytree("run", name)
    Path("begun/summary.json").unlink()
    journal = bytearray(Path("damaged/journal.prism").read_bytes())
    journal[len(journal) // 2] ^= 1
    Path("damaged/journal.prism").write_bytes(journal)
    if "other" in arguments:
        settings = ("--set", "feed.size=2", "--set", "simulation.seed=5")
        assert prism("run", "social.yaml", "--ticks", "16", *settings, "--out", "other", "--quiet").code == 0
    ended = prism("validate-world", *arguments)
    assert ended.code in (1, 2, 3)
    assert line in ended.err
    assert ended.err.count("\n") == 1
