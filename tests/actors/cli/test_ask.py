"""`prism ask` without a model: people of a real run answer as they were, and the run stays as it is."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from actors.explain.respondents import LATELY_ROUNDS, LINES, respondents_at
from actors.explain.retrace import OpenRun
from actors.results.result import read_result
from prism.events import AttributeSet
from tests.catalogue import catalogue
from tests.command import Ended, prism_alone, run_prism
from tests.paths import ROOT
from tests.recorded import ticks_of

CHART = """
initial: away
states:
  away:
    role: offline
    transitions:
      - {trigger: feed_ready, target: reading}
      - {trigger: wants_to_post, target: writing}
  online:
    initial: reading
    transitions:
      - {trigger: round_ends, target: away}
    states:
      reading:
        role: browse
        after: {ticks: 5, trigger: timeout}
        transitions:
          - trigger: sees_post
            target: judging
            set: {opinion: "agent.opinion + 0.3 * (author.opinion - agent.opinion)"}
          - {trigger: timeout, target: away}
      judging:
        role: attend
        transitions:
          - {trigger: ignores, target: reading}
          - {trigger: decides, target: reading}
      writing: {effect: post, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
"""
TICKS, PEOPLE = 12, 30
STUDY = f"""
simulation: {{rounds: 6, ticks_per_round: {TICKS}, seed: 5}}
statechart: {{file: chart.yaml}}
population:
  size: {PEOPLE}
  posts_per_session: 0.8
  activity: {{mean: 0.9, sigma: 0.1}}
  attributes:
    opinion: {{type: float, min: -1, max: 1}}
    camp: {{type: text, values: [left, right]}}
run: {{checkpoint_every_ticks: 25}}
metrics: {{enabled: false}}
"""
QUESTIONS = """
at: {before: 1, after: 6}
repeat: 2
questions:
  - {id: exact, text: "In hundredths?", scale: [-50, 50], answer: 50 * agent.opinion}
  - {id: noisy, text: "On the whole?", scale: [1, 7], labels: [bad, good], answer: 4 + 3 * agent.opinion + draw.normal}
  - {id: side, text: "Which side?", options: [left, right], answer: agent.camp}
  - {id: positive, text: "Is it good?", options: ["yes", "no"], answer: agent.opinion > 0}
  - {id: third, text: "How good?", options: [bad, so so, good], answer: 2 + agent.opinion * 3}
"""

RUN_ANSWERS, AGAIN = '"run-answers"', '"again"'
Command = Callable[..., Ended]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of people whose opinions change. Tests use copies of it."""
    place = tmp_path_factory.mktemp("asked")
    (place / "chart.yaml").write_text(CHART)
    (place / "study.yaml").write_text(STUDY)
    ended = prism_alone("run", str(place / "study.yaml"), "-q", "--out", str(place / "run"))
    assert ended.code == 0, ended.err
    return place / "run"


@pytest.fixture(scope="module")
def forks(made: Path) -> dict[str, str]:
    """Forks of the run at tick 26: with the same settings, and with a memory of 4 lines."""
    found = {}
    for name, settings in (("same", ()), ("new", ("--set", "llm.memory=4"))):
        found[name] = str(made.parent / name)
        ended = prism_alone("fork", str(made), "--at", "26", "-q", *settings, "--out", found[name])
        assert ended.code == 0, ended.err
    return found


@pytest.fixture
def command(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs the command line in a directory with a copy of the run and a questionnaire."""
    shutil.copytree(made, tmp_path / "run")
    (tmp_path / "asked.yaml").write_text(QUESTIONS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *arguments: run_prism(monkeypatch, capsys, *arguments)


def rows(path: str = "run-answers/answers.csv") -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def opinions_after(run: Path, ticks: int, start: dict[int, float]) -> dict[int, float]:
    """The opinions by the journal's own events, in plain Python."""
    found = dict(start)
    for messages in ticks_of(run, AttributeSet, until=ticks):
        for said in messages:
            found[said.agent] = float(said.value)
    return found


def test_people_answer_as_they_were_then_and_the_run_stays_as_it_is(command: Command) -> None:
    before = files(Path("run"))
    assert command("ask", "run", "--questions", "asked.yaml").code == 0
    assert files(Path("run")) == before
    given = rows()
    assert len(given) == 2 * PEOPLE * 5 * 2
    assert command("ask", "run", "--questions", "asked.yaml", "--at", "0", "--out", "start").code == 0
    start = {int(row["agent"]): float(row["attribute_opinion"]) for row in rows("start/answers.csv")}
    changed = 0
    for moment, ticks in (("before", TICKS), ("after", 6 * TICKS)):
        now = opinions_after(Path("run"), ticks, start)
        exact = [row for row in given if (row["moment"], row["question"], row["repeat"]) == (moment, "exact", "1")]
        assert [int(row["agent"]) for row in exact] == list(range(PEOPLE))
        for row in exact:
            opinion = now[int(row["agent"])]
            assert float(row["attribute_opinion"]) == pytest.approx(opinion)
            assert abs(int(row["number"]) - 50 * opinion) <= 0.5 + 1e-9
            assert row["tick"] == str(ticks)
        changed += now != start
    assert changed == 2
    assert command("replay", "run", "--quiet").out.strip() == read_result("run").digest


def test_an_answer_is_of_its_kind_and_only_chance_differs_between_repeats(command: Command) -> None:
    ended = command("ask", "run", "--questions", "asked.yaml")
    given = rows()
    by_place = {(row["moment"], row["agent"], row["question"], row["repeat"]): row for row in given}
    differing = set()
    for (moment, agent, question, repeat), row in by_place.items():
        opinion = float(row["attribute_opinion"])
        if question == "side":
            assert row["answer"] == row["attribute_camp"]
        if question == "positive":
            assert row["answer"] == ("yes" if opinion > 0 else "no")
        if question == "third":
            assert row["answer"] == ["bad", "so so", "good"][min(max(round(2 + 3 * opinion), 1), 3) - 1]
        if row["number"] != by_place[moment, agent, question, "1"]["number"]:
            differing.add(question)
        assert bool(row["number"]) == (not row["answer"]) == (question in {"exact", "noisy"})
        assert (row["source"], row["reason"], repeat in "12") == ("oracle", "", True)
    assert differing == {"noisy"}
    assert "asked again, 100% gave the same answer" in ended.out
    first = ended.out.replace("\n", " ")
    assert first.startswith("exact: from before to after answers were ")
    assert f"side: from before to after nobody of {PEOPLE} people changed the answer." in first


@pytest.mark.slow
def test_the_answers_depend_on_no_hash_and_on_no_checkpoint_and_on_no_other_people(command: Command) -> None:
    expected = command("ask", "run", "--questions", "asked.yaml", "--json")
    table = Path("run-answers/answers.csv").read_bytes()
    for checkpoint in Path("run").glob("checkpoint-*"):
        checkpoint.unlink()
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": str(ROOT)}
    again = [sys.executable, "-m", "actors.cli", "ask", "run", "--questions", "asked.yaml", "--json", "--out", "again"]
    ended = subprocess.run(again, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, expected.out.replace(RUN_ANSWERS, AGAIN))
    assert Path("again/answers.csv").read_bytes() == table
    assert command("ask", "run", "--questions", "asked.yaml", "--agents", "7,3-4", "--out", "few").code == 0
    assert rows("few/answers.csv") == [row for row in rows() if row["agent"] in {"3", "4", "7"}]


@catalogue(
    ("arguments", "code", "problem"),
    [
        (["--at", "7"], 2, "there is no end of round 7; the run has 6 whole rounds"),
        (["--tick", "999"], 2, "there is no moment after 999 ticks; the run has 72 ticks"),
        (["--agents", "30"], 2, "there is no agent 30; the run has the agents 0 to 29"),
        (["--agents", "7-3"], 2, "expected agents from the lower number on, got 7-3"),
        (["--agents", "Nobody"], 2, "no agent is called 'Nobody'"),
        (["--set", "feed.size=3"], 2, "feed.size cannot be set here: people are asked as they were"),
        (["--set", "oracle.tape_path=x"], 2, "oracle.tape_path cannot be set here"),
        (["--set", "llm.memory=3"], 2, "llm.memory cannot be set here: people remember as in the recorded run"),
        (["--out", "run"], 2, "run: exists already, and has no answers of `prism ask`"),
        (["--out", "run/answers"], 2, "run/answers: is inside the run run"),
        (["--out", "a/b/c"], 2, "a/b: no such directory"),
        (["--questions", "missing.yaml"], 3, "missing.yaml: no such file; expected a YAML file with questions"),
        (["--at", "1", "--tick", "3"], 2, "--tick and --at cannot be used together"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_leaves_nothing(
    command: Command, arguments: list[str], code: int, problem: str
) -> None:
    there = files(Path())
    ended = command("ask", "run", "--questions", "asked.yaml", *arguments)
    assert ended.code == code
    told = ended.err.strip().splitlines()[-1]
    assert problem in told
    assert files(Path()) == there


def test_the_answers_of_another_asking_are_not_replaced(command: Command) -> None:
    assert command("ask", "run", "--questions", "asked.yaml").code == 0
    there = files(Path("run-answers"))
    ended = command("ask", "run", "--questions", "asked.yaml", "--agents", "3")
    assert (ended.code, "has answers to other questions" in ended.err) == (2, True)
    assert files(Path("run-answers")) == there


def memories(run: str, tick: int) -> list[tuple[str, ...]]:
    """What each person of a run remembers after so many ticks."""
    opened = OpenRun(Path(run))
    people = anyio.run(respondents_at, opened, "then", tick, range(PEOPLE))
    return [person.memory for person in people]


@pytest.mark.slow
def test_people_remember_what_prompts_of_a_run_with_memory_say(command: Command, made: Path) -> None:
    study = str(made.parent / "study.yaml")
    for lines in (LINES, 3):
        ended = command("run", study, "-q", "--set", f"llm.memory={lines}", "--out", f"with-{lines}")
        assert ended.out.strip() == read_result("run").digest  # the embedded choice reads no memory
    for tick in (TICKS, LATELY_ROUNDS * TICKS):
        told = memories("run", tick)
        assert told == memories(f"with-{LINES}", tick)
        assert {len(lines) for lines in memories("with-3", tick)} <= {0, 1, 2, 3}
    assert max(map(len, told)) == LINES
    assert memories("run", 0) == [()] * PEOPLE


@pytest.mark.slow
@pytest.mark.usefixtures("command")
def test_what_people_remember_depends_on_no_checkpoint_and_goes_on_in_a_fork(
    forks: dict[str, str],
) -> None:
    moments = (27, 40, 6 * TICKS)
    told = [memories("run", tick) for tick in moments]
    assert [memories(forks["same"], tick) for tick in moments] == told
    for checkpoint in Path("run").glob("checkpoint-*"):
        checkpoint.unlink()
    assert [memories("run", tick) for tick in moments] == told
    fresh = [line for lines in memories(forks["new"], 30) for line in lines]
    assert fresh
    assert all(re.match(r"(just now|[1-4] minutes? ago) ", line) for line in fresh)
