"""Interventions in whole runs: the journal, every checkpoint, replay, resume and forks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.economy.domain import EconomyDomain
from prism.economy.initial import initial_state
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from tests.actors.social_runs import SMALL
from tests.actors.store.independent_reader import read_run
from tests.command import Prism
from tests.plain import plain
from tests.social.driver import assert_goes_on

SOCIAL: list[dict[str, Any]] = [
    {"tick": 9, "publish": {"author": 3, "text": "Breaking: a bridge", "topics": ["food"], "quality": 0.9}},
    {"tick": 9, "set": {"feed.algorithm": "chronological", "population.posts_per_session": 0.9}},
    {"tick": 12, "follow": [[1, 2], [5, 3]]},
    {"tick": 12, "unfollow": [[1, 2]]},
    {"tick": 20, "silence": [7, 8, 9]},
    {"tick": 20, "silence": [11, 12], "until_round": 3},
]
ECONOMY: list[dict[str, Any]] = [
    {"tick": 3, "shock": {"inflation": 4.0, "gdp_growth": -1.0}},
    {"round": 2, "set": {"economy.macro.anchoring": 0.5}},
    {"tick": 5, "silence": [1], "until_round": 3},
]


def social() -> Simulation:
    config = replace(SMALL, interventions=SOCIAL)
    return Simulation(config, SocialDomain(config, build_population(config.population, config.simulation.seed)))


def economy() -> Simulation:
    settings: dict[str, Any] = {
        "simulation": {"domain": "economy", "rounds": 3, "ticks_per_round": 4},
        "interventions": ECONOMY,
    }
    config = Config(**settings)
    return Simulation(config, EconomyDomain(config, initial_state(config.economy.initial)))


@pytest.mark.slow
@pytest.mark.parametrize("make", [social, economy])
def test_a_run_from_a_checkpoint_at_any_tick_is_the_whole_run(make: Callable[[], Simulation]) -> None:
    assert_goes_on(make, 1)


STUDY: dict[str, Any] = plain(
    {
        "simulation": {"rounds": 3, "ticks_per_round": 12, "seed": 5},
        "population": {"size": 40, "ambiguity": 0.5, "posts_per_session": 0.5, "activity": {"mean": 0.9, "sigma": 0.2}},
        "run": {"checkpoint_every_ticks": 10},
        "interventions": [
            {"round": 2, "publish": {"author": 3, "text": "Breaking: a bridge", "topics": ["food"], "quality": 0.9}},
            {"tick": 15, "set": {"feed.algorithm": "chronological"}},
            {"tick": 15, "follow": [[1, 2]]},
            {"round": 3, "silence": [7, 8]},
        ],
    }
)


def study(directory: Path, **differences: Any) -> str:
    path = directory / "study.yaml"
    path.write_text(yaml.safe_dump({**STUDY, **differences}))
    return str(path)


def ran(prism: Prism, directory: Path, name: str = "run", **differences: Any) -> Path:
    ended = prism("run", study(directory, **differences), "--quiet", "--out", str(directory / name))
    assert ended.code == 0, ended.err
    return directory / name


def done_in(run: Path) -> dict[int, list[Any]]:
    """`{tick: its interventions}` of a journal."""
    found: dict[int, list[Any]] = {}
    for row in read_run(run).rows("interventions"):
        found.setdefault(row["tick"], []).append([row["number"], row["kind"], row["content"]])
    return found


def test_the_journal_alone_shows_each_intervention_before_the_answers_of_its_tick(prism: Prism, tmp_path: Path) -> None:
    run = ran(prism, tmp_path)
    post, settings, ties, silence = STUDY["interventions"]
    assert done_in(run) == {
        12: [[0, "publish", post]],
        15: [[1, "set", settings], [2, "follow", ties]],
        24: [[3, "silence", silence]],
    }
    ticks, digest = read_run(run).ticks, read_run(run).digest
    for tick, waves in ((12, 1), (15, 2), (24, 1)):
        assert len(ticks[tick]["interventions"]) == waves
        assert not any(ticks[tick]["updates"][:waves])
        assert any(ticks[tick]["updates"][waves:])
    summary = json.loads((run / "summary.json").read_bytes())
    assert [(each["tick"], each["kind"]) for each in summary["interventions"]] == [
        (12, "publish"),
        (15, "set"),
        (15, "follow"),
        (24, "silence"),
    ]
    assert summary["digest"] == digest
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    told = [(line["at_tick"], line["kind"]) for line in log if line["event"] == "intervention_made"]
    assert told == [(12, "publish"), (15, "set"), (15, "follow"), (24, "silence")]
    assert prism("replay", str(run), "--quiet").out.strip() == digest
    assert prism("verify", str(run)).code == 0
    assert prism("chart", "--run", str(run)).code == 0


NEWS = "- {round: 3, publish: {author: 9, text: More news}}\n- {tick: 30, unfollow: [[1, 2]]}\n"


@pytest.mark.slow
def test_a_fork_adds_interventions_to_those_of_its_parent(prism: Prism, tmp_path: Path) -> None:
    run, news, child = ran(prism, tmp_path), tmp_path / "news.yaml", tmp_path / "child"
    news.write_text(NEWS)
    ended = prism("fork", str(run), "--at", "20", "--intervene", str(news), "--out", str(child), "--quiet")
    assert ended.code == 0, ended.err
    kinds = {tick: [each[1] for each in messages] for tick, messages in done_in(child).items()}
    assert kinds == {12: ["publish"], 15: ["set", "follow"], 24: ["silence", "publish"], 30: ["unfollow"]}
    assert read_run(child).ticks[:20] == read_run(run).ticks[:20]
    assert prism("replay", str(child), "--quiet").out == ended.out
    again = tmp_path / "again"
    assert prism("fork", str(child), "--at", "28", "--out", str(again), "--quiet").out == ended.out


def test_a_fork_refuses_interventions_of_its_past(prism: Prism, tmp_path: Path) -> None:
    run, news, child = ran(prism, tmp_path), tmp_path / "news.yaml", tmp_path / "child"
    news.write_text(NEWS)
    ended = prism("fork", str(run), "--at", "25", "--intervene", str(news), "--out", str(child))
    assert ended.code == 3
    assert f"{news}:1: interventions[0].round: expected tick 25 or later, where the fork begins" in ended.err
    ended = prism("fork", str(run), "--at", "25", "--intervene", str(tmp_path / "none.yaml"), "--out", str(child))
    assert (ended.code, "none.yaml: no such file" in ended.err) == (3, True)
    news.write_text("- {tick: 30, silence: [40]}")
    ended = prism("fork", str(run), "--at", "25", "--intervene", str(news), "--out", str(child))
    assert ended.code == 3
    assert f"{news}:1: interventions[0].silence[0]: expected the number of one of 40 people, 0 to 39" in ended.err
    assert not child.exists()


def test_a_fork_refuses_a_setting_that_an_intervention_of_the_past_has_set(prism: Prism, tmp_path: Path) -> None:
    run, child = ran(prism, tmp_path), str(tmp_path / "child")
    ended = prism("fork", str(run), "--at", "20", "--set", "feed.algorithm=hot", "--out", child)
    assert ended.code == 2
    assert "feed.algorithm was set by an intervention at tick 15" in ended.err
    assert prism("fork", str(run), "--at", "14", "--set", "feed.algorithm=hot", "--out", child, "--quiet").code == 0
