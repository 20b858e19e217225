"""`prism shadow`: turns that rules have settled are put to an oracle afterwards, and the run stays as it is."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors.store.shadow import read_shadow
from prism.divergence import EMBEDDED, RULE
from prism.rng import Draw, uniform
from tests.catalogue import catalogue
from tests.command import Ended, prism_alone, run_prism
from tests.plain import plain_text

SEED = 11
SOCIAL = plain_text(f"""
simulation: {{rounds: 3, ticks_per_round: 12, seed: {SEED}}}
population: {{size: 32, posts_per_session: 0.5, ambiguity: 0.5, activity: {{mean: 0.9, sigma: 0.2}}}}
metrics: {{enabled: false}}
""")

ECONOMY = """
simulation: {domain: economy, rounds: 4, ticks_per_round: 1, seed: 3, tick_seconds: 7889400}
economy: {nations: [Ada, Bo, Cy], strengths: [3, 2, 1], macro: {gap_shock: 0.8, inflation_shock: 1.0}}
metrics: {enabled: false}
"""
Command = Callable[..., Ended]


def run_of(place: Path, text: str, *arguments: str) -> Path:
    (place / "study.yaml").write_text(text)
    ended = prism_alone("run", str(place / "study.yaml"), "-q", "--out", str(place / "made"), *arguments)
    assert ended.code == 0, ended.err
    return place / "made"


@pytest.fixture(scope="module")
def social(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of thirty-two lively and undecided people. Tests use copies of it."""
    return run_of(tmp_path_factory.mktemp("social"), SOCIAL)


@pytest.fixture
def command(
    social: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Return a function that runs the command line in a directory with a copy of the social run, named `run`."""
    shutil.copytree(social, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run_prism(monkeypatch, capsys, *arguments)


def figures(ended: Ended) -> dict[str, Any]:
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_the_oracle_is_asked_about_every_turn_that_a_rule_settled(command: Command) -> None:
    settled = settled_turns(Path("run"))
    assert len(settled) > 30
    found = figures(command("shadow", "run", "--share", "1", "--json"))
    assert found["outcomes"] == {"answered": len(settled)}
    (ruled,) = found["divergence"]
    assert (ruled["trigger"], ruled["state"], ruled["questions"]) == ("decides", "evaluating", len(settled))
    assert ruled["against"].keys() == {RULE, EMBEDDED}
    states = ("composing", "engaging_like", "engaging_reshare", "scrolling")
    assert ruled["choices"][RULE] == {state: settled_to(settled, state) for state in states}
    assert ruled["choices"][RULE]["engaging_like"] == 0  # no rule likes


def settled_turns(run: Path) -> list[tuple[int, int, str]]:
    """Return agent, tick and new state of each turn on `decides` that a rule settled, by the exported table."""
    ended = prism_alone(
        "export", str(run), "--to", "csv", "--tables", "transitions", "--out", "tables", "--force", "-q"
    )
    assert ended.code == 0, ended.err
    with Path("tables/transitions.csv").open(newline="") as table:
        return [
            (int(row["agent"]), int(row["tick"]), row["to_state"])
            for row in csv.DictReader(table)
            if (row["trigger"], row["from_state"], row["source"]) == ("decides", "evaluating", "rule")
        ]


def settled_to(settled: list[tuple[int, int, str]], state: str) -> float:
    return sum(1.0 for *_, to in settled if to == state)


def test_a_hash_of_the_seed_picks_the_share(command: Command) -> None:
    settled = settled_turns(Path("run"))
    asked = [each for each in settled if uniform(SEED, each[0], each[1], Draw.SHADOW) < 0.5]
    assert abs(len(asked) - len(settled) / 2) < 3 * math.sqrt(len(settled) / 4)
    half = figures(command("shadow", "run", "--share", "0.5", "--json"))
    assert (half["share"], half["questions"]) == (0.5, len(asked))
    (ruled,) = half["divergence"]
    assert ruled["choices"][RULE]["scrolling"] == settled_to(asked, "scrolling")


def test_the_run_stays_as_it_is_and_people_see_a_table(command: Command) -> None:
    before = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    ended = command("shadow", "run", "--share", "0.5")
    after = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    assert after.keys() - before.keys() == {"shadow.json"}
    assert {name: after[name] for name in before} == before
    digest, figures = json.loads(before["summary.json"])["digest"], json.loads(after["shadow.json"])
    found = read_shadow(Path("run"), digest)
    assert found is not None
    assert (found.questions, figures["digest"]) == (figures["questions"], digest)
    assert read_shadow(Path("run"), "0" * 32) is None
    assert command("verify", "run").code == 0
    (ruled,) = figures["divergence"]
    distance = ruled["against"][RULE]
    assert f"{distance['bits']:.3f} [{distance['low']:.3f}, {distance['high']:.3f}]" in ended.out
    assert f"shadow questions: answered {ruled['questions']}; as the rule did: {ruled['agreement']:.1%}" in ended.out
    assert "no server" in ended.out


@catalogue(
    ("setting", "code", "told"),
    [
        ("population.size=10", 2, "population.size cannot be set here: the turns are those of the recorded run"),
        ("oracle.tape=off", 2, "oracle.tape cannot be set here: an answer is kept in shadow.sqlite"),
        ("oracle.shadow=0.5", 3, "oracle.shadow"),
    ],
)
def test_a_wrong_setting_is_refused(setting: str, code: int, told: str, command: Command) -> None:
    ended = command("shadow", "run", "--set", setting)
    assert ended.code == code
    assert told in ended.err
    assert not Path("run/shadow.json").exists()


def test_an_unfinished_run_is_to_be_finished_first(command: Command, tmp_path: Path) -> None:
    ended = command("fork", "run", "--at", "20", "--out", "future", "--prepare")
    assert ended.code == 0, ended.err
    ended = command("shadow", "future")
    assert (ended.code, ended.err) == (
        2,
        "prism: future: has 20 of 36 ticks; finish it first: prism resume future\n",
    )
    assert not (tmp_path / "future" / "shadow.json").exists()
