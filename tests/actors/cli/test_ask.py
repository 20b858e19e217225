"""`prism ask` without a model: people of a real run answer as they were, and the run stays as it is."""

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from actors.explain.respondents import LATELY_ROUNDS, LINES, respondents_at
from actors.explain.retrace import OpenRun
from actors.results.result import read_result
from prism.events import AttributeSet
from tests.command import Prism, prism_alone
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
def prism(made: Path, prism: Prism) -> Prism:
    """Return a function that runs the command line in a directory with a copy of the run and a questionnaire."""
    shutil.copytree(made, "run")
    Path("asked.yaml").write_text(QUESTIONS)
    return prism


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


def test_people_answer_as_they_were_then_and_the_run_stays_as_it_is(prism: Prism) -> None:
    before = files(Path("run"))
    assert prism("ask", "run", "--questions", "asked.yaml").code == 0
    assert files(Path("run")) == before
    given = rows()
    assert len(given) == 2 * PEOPLE * 5 * 2
    assert prism("ask", "run", "--questions", "asked.yaml", "--at", "0", "--out", "start").code == 0
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
    assert prism("replay", "run", "--quiet").out.strip() == read_result("run").digest


def test_an_answer_is_of_its_kind_and_only_chance_differs_between_repeats(prism: Prism) -> None:
    ended = prism("ask", "run", "--questions", "asked.yaml")
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
def test_the_answers_depend_on_no_hash_and_on_no_checkpoint_and_on_no_other_people(prism: Prism) -> None:
    expected = prism("ask", "run", "--questions", "asked.yaml", "--json")
    table = Path("run-answers/answers.csv").read_bytes()
    for checkpoint in Path("run").glob("checkpoint-*"):
        checkpoint.unlink()
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": str(ROOT)}
    again = [sys.executable, "-m", "actors.cli", "ask", "run", "--questions", "asked.yaml", "--json", "--out", "again"]
    ended = subprocess.run(again, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, expected.out.replace(RUN_ANSWERS, AGAIN))
    assert Path("again/answers.csv").read_bytes() == table
    assert prism("ask", "run", "--questions", "asked.yaml", "--agents", "7,3-4", "--out", "few").code == 0
    assert rows("few/answers.csv") == [row for row in rows() if row["agent"] in {"3", "4", "7"}]


def test_the_answers_of_another_asking_are_not_replaced(prism: Prism) -> None:
    assert prism("ask", "run", "--questions", "asked.yaml").code == 0
    there = files(Path("run-answers"))
    ended = prism("ask", "run", "--questions", "asked.yaml", "--agents", "3")
    assert (ended.code, "has answers to other questions" in ended.err) == (2, True)
    assert files(Path("run-answers")) == there


def memories(run: str, tick: int) -> list[tuple[str, ...]]:
    """Return what each person of a run remembers after so many ticks."""
    opened = OpenRun(Path(run))
    people = anyio.run(respondents_at, opened, "then", tick, range(PEOPLE))
    return [person.memory for person in people]


@pytest.mark.slow
def test_people_remember_what_prompts_of_a_run_with_memory_say(prism: Prism, made: Path) -> None:
    study = str(made.parent / "study.yaml")
    for lines in (LINES, 3):
        ended = prism("run", study, "-q", "--set", f"llm.memory={lines}", "--out", f"with-{lines}")
        assert ended.out.strip() == read_result("run").digest  # the embedded choice reads no memory
    for tick in (TICKS, LATELY_ROUNDS * TICKS):
        told = memories("run", tick)
        assert told == memories(f"with-{LINES}", tick)
        assert {len(lines) for lines in memories("with-3", tick)} <= {0, 1, 2, 3}
    assert max(map(len, told)) == LINES
    assert memories("run", 0) == [()] * PEOPLE


@pytest.mark.slow
@pytest.mark.usefixtures("prism")
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
