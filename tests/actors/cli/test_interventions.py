"""Interventions in whole runs: the journal, replay and forks."""

import json
from pathlib import Path

import pytest
import yaml

from tests.actors.cli.conftest import Made
from tests.actors.store.independent_reader import read_run
from tests.command import Prism

MADE = [
    {"round": 2, "publish": {"author": 3, "text": "Breaking: a bridge", "topics": ["food"], "quality": 0.9}},
    {"tick": 27, "set": {"feed.algorithm": "chronological"}},
    {"tick": 27, "follow": [[1, 2]]},
    {"round": 3, "silence": [7, 8]},
]
NEWS = "- {round: 3, publish: {author: 9, text: More news}}\n- {tick: 60, unfollow: [[1, 2]]}\n"


@pytest.fixture
def run(made: Made) -> str:
    """Return a run with interventions."""
    return str(made("--set", f"interventions={yaml.safe_dump(MADE, default_flow_style=True)}"))


def test_the_journal_alone_shows_each_intervention_before_the_answers_of_its_tick(run: str, prism: Prism) -> None:
    found = read_run(Path(run))
    places = [(24, 0, "publish"), (27, 1, "set"), (27, 2, "follow"), (48, 3, "silence")]
    assert [(row["tick"], row["number"], row["kind"]) for row in found.rows("interventions")] == places
    assert [row["content"] for row in found.rows("interventions")] == MADE
    for tick, waves in ((24, 1), (27, 2), (48, 1)):
        assert len(found.ticks[tick]["interventions"]) == waves
        assert not any(found.ticks[tick]["updates"][:waves])
        assert any(found.ticks[tick]["updates"][waves:])
    kinds = [(tick, kind) for tick, _, kind in places]
    summary = json.loads(Path(run, "summary.json").read_bytes())
    assert [(each["tick"], each["kind"]) for each in summary["interventions"]] == kinds
    log = [json.loads(line) for line in Path(run, "log.jsonl").read_text().splitlines()]
    assert [(line["at_tick"], line["kind"]) for line in log if line["event"] == "intervention_made"] == kinds
    assert prism("replay", run, "--quiet").out.strip() == summary["digest"] == found.digest


@pytest.mark.slow
def test_a_fork_adds_interventions_to_those_of_its_parent(run: str, prism: Prism) -> None:
    Path("news.yaml").write_text(NEWS)
    ended = prism("fork", run, "--at", "30", "--intervene", "news.yaml", "--out", "child", "--quiet")
    assert ended.code == 0, ended.err
    child = read_run(Path("child"))
    kinds = [(row["tick"], row["kind"]) for row in child.rows("interventions")]
    assert kinds[-4:] == [(27, "follow"), (48, "silence"), (48, "publish"), (60, "unfollow")]
    assert child.ticks[:30] == read_run(Path(run)).ticks[:30]
    assert prism("replay", "child", "--quiet").out == ended.out
    assert prism("fork", "child", "--at", "50", "--out", "again", "--quiet").out == ended.out


def test_a_fork_refuses_interventions_and_settings_of_its_past(run: str, prism: Prism) -> None:
    news = Path("news.yaml")
    for text, told in {
        "": "news.yaml: no such file",
        NEWS: "news.yaml:1: interventions[0].round: expected tick 49 or later, where the fork begins",
        "- {tick: 60, silence: [60]}": "interventions[0].silence[0]: expected the number of one of 60 people, 0 to 59",
    }.items():
        if text:
            news.write_text(text)
        ended = prism("fork", run, "--at", "49", "--intervene", "news.yaml", "--out", "child")
        assert (ended.code, told in ended.err) == (3, True), ended
    chosen = ("--set", "feed.algorithm=hot", "--out", "child", "--quiet")
    ended = prism("fork", run, "--at", "30", *chosen)
    assert (ended.code, "feed.algorithm was set by an intervention at tick 27" in ended.err) == (2, True)
    assert not Path("child").exists()
    assert prism("fork", run, "--at", "26", *chosen).code == 0
