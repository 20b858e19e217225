import json
from pathlib import Path

import pytest

from tests.actors.cli.conftest import ECONOMY
from tests.command import Prism
from tests.economy.support import US_PATH, us_series
from tests.plain import plain_text

LIVELY = plain_text("""
simulation: {seed: 4, rounds: 8, ticks_per_round: 12, tick_seconds: 900}
population: {size: 60, posts_per_session: 0.6, activity: {mean: 0.9, sigma: 0.1}, engagement_threshold: 0.3}
feed: {horizon_rounds: 2}
""")
CASCADES = "cascade,node,parent,delay_minutes\n" + "".join(
    f"{size}-{copy},{node},{-1 if node == 0 else 0},{node}\n"
    for size in range(2, 60)
    for copy in range(10)
    for node in range(size)
)
HOURS = ",".join(f"h{hour:02}" for hour in range(24)) + "\n" + ",".join("1" for _ in range(24)) + "\n"


@pytest.fixture
def run(prism: Prism) -> None:
    """Make a run of people, and files of real figures."""
    for name, text in (("social.yaml", LIVELY), ("stars.csv", CASCADES), ("hours.csv", HOURS)):
        Path(name).write_text(text)
    assert prism("run", "social.yaml", "--out", "run", "--quiet").code == 0


def facts(printed: str) -> dict[str, dict[str, object]]:
    return {fact["name"]: fact for fact in json.loads(printed)["facts"]}


@pytest.mark.slow
@pytest.mark.usefixtures("run")
def test_a_social_run_is_compared_with_cascades_and_hours(prism: Prism) -> None:
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


@pytest.mark.usefixtures("run")
def test_without_files_the_published_figures_are_compared(prism: Prism) -> None:
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
    Path("economy.yaml").write_text(ECONOMY)
    assert prism("run", "economy.yaml", "--out", "nation", "--quiet").code == 0
    command = ("validate-world", "nation", "--against", str(US_PATH))
    ended = prism(*command)
    assert (ended.code, ended.err) == (0, "")
    found = facts(prism(*command, "--json").out)["interest_rate_mean"]
    last = [each.interest_rate for each in us_series()[-16:]]
    assert found["real"] == pytest.approx(sum(last) / 16)
    assert "2005q4 to 2009q3: 16 quarters, as of the runs" in " ".join(ended.out.split())
    assert found["agreement"] == "unknown"
    assert "1 runs; 20 needed for an interval" in str(found["note"])
