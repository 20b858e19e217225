"""`prism ask` without a model: people of a real run answer as they were, and the run stays as it is."""

import csv
import shutil
from pathlib import Path

import anyio
import pytest

from actors.explain.respondents import LATELY_ROUNDS, LINES, respondents_at
from actors.explain.retrace import OpenRun
from prism.events import AttributeSet
from tests.command import Prism
from tests.recorded import CHANGES, ticks_of

PEOPLE, TICKS, ROUNDS = (
    CHANGES["population"]["size"],
    *(CHANGES["simulation"][name] for name in ("ticks_per_round", "rounds")),
)
QUESTIONS = f"""
at: {{before: 1, after: {ROUNDS}}}
repeat: 2
questions:
  - {{id: exact, text: "In hundredths?", scale: [-50, 50], answer: 50 * agent.opinion}}
  - {{id: noisy, text: "All in all?", scale: [1, 7], labels: [bad, good], answer: 4 + 3 * agent.opinion + draw.normal}}
  - {{id: side, text: "Which side?", options: [north, south], answer: agent.camp}}
  - {{id: positive, text: "Is it good?", options: ["yes", "no"], answer: agent.opinion > 0}}
  - {{id: third, text: "How good?", options: [bad, so so, good], answer: 2 + agent.opinion * 3}}
"""
ASK = ("ask", "run", "--questions", "asked.yaml")


@pytest.fixture
def prism(changed_run: Path, prism: Prism) -> Prism:
    """Return a function that runs the command line in a directory with a copy of the run and a questionnaire."""
    shutil.copytree(changed_run, "run")
    Path("asked.yaml").write_text(QUESTIONS)
    return prism


def rows(path: str = "run-answers/answers.csv") -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def files(directory: str) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path(directory).rglob("*") if path.is_file()}


def opinions_after(ticks: int, start: dict[int, float]) -> dict[int, float]:
    """The opinions by the journal's own events, in plain Python."""
    found = dict(start)
    for messages in ticks_of(Path("run"), AttributeSet, until=ticks):
        found |= {said.agent: float(said.value) for said in messages if said.name == "opinion"}
    return found


def test_people_answer_as_they_were_then_and_the_run_stays_as_it_is(prism: Prism) -> None:
    before = files("run")
    ended = prism(*ASK)
    assert (ended.code, files("run")) == (0, before)
    given, answers = rows(), files("run-answers")
    assert len(given) == 2 * PEOPLE * 5 * 2
    other = prism(*ASK, "--agents", "3")
    assert (other.code, "has answers to other questions" in other.err) == (2, True)
    assert files("run-answers") == answers
    # 1. Each answer is of its moment.
    assert prism(*ASK, "--at", "0", "--out", "start").code == 0
    start = {int(row["agent"]): float(row["attribute_opinion"]) for row in rows("start/answers.csv")}
    for moment, ticks in (("before", TICKS), ("after", ROUNDS * TICKS)):
        now = opinions_after(ticks, start)
        exact = [row for row in given if (row["moment"], row["question"], row["repeat"]) == (moment, "exact", "1")]
        assert [int(row["agent"]) for row in exact] == list(range(PEOPLE))
        for row in exact:
            opinion = now[int(row["agent"])]
            assert float(row["attribute_opinion"]) == pytest.approx(opinion)
            assert abs(int(row["number"]) - 50 * opinion) <= 0.5 + 1e-9
            assert row["tick"] == str(ticks)
        assert now != start
    # 2. Each answer is of its kind, and only chance differs between repeats.
    by_place = {(row["moment"], row["agent"], row["question"], row["repeat"]): row for row in given}
    differing = set()
    for (moment, agent, question, _), row in by_place.items():
        opinion = float(row["attribute_opinion"])
        expected = {
            "side": row["attribute_camp"],
            "positive": "yes" if opinion > 0 else "no",
            "third": ["bad", "so so", "good"][min(max(round(2 + 3 * opinion), 1), 3) - 1],
        }
        assert row["answer"] == expected.get(question, "")
        assert bool(row["number"]) == (question in {"exact", "noisy"})
        assert (row["source"], row["reason"]) == ("oracle", "")
        if row["number"] != by_place[moment, agent, question, "1"]["number"]:
            differing.add(question)
    assert differing == {"noisy"}
    assert "asked again, 100% gave the same answer" in ended.out
    assert ended.out.replace("\n", " ").startswith("exact: from before to after answers were ")


@pytest.mark.slow
def test_the_answers_depend_on_no_checkpoint_and_on_no_other_people(prism: Prism) -> None:
    assert prism(*ASK).code == 0
    for checkpoint in Path("run").glob("checkpoint-*"):
        checkpoint.unlink()
    assert prism(*ASK, "--out", "again").code == 0
    assert rows("again/answers.csv") == rows()
    assert prism(*ASK, "--agents", "7,3-4", "--out", "few").code == 0
    assert rows("few/answers.csv") == [row for row in rows() if row["agent"] in {"3", "4", "7"}]


def memories(run: str, tick: int) -> list[tuple[str, ...]]:
    """Return what each person of a run remembers after so many ticks."""
    people = anyio.run(respondents_at, OpenRun(Path(run)), "then", tick, range(PEOPLE))
    return [person.memory for person in people]


@pytest.mark.slow
def test_people_remember_what_prompts_of_a_run_with_memory_say(prism: Prism, changed_run: Path) -> None:
    # The embedded choice reads no memory, so in runs with a memory people do the same.
    for lines in (LINES, 3):
        study = ("run", str(changed_run.parent / "run.yaml"), "-q", "--set", f"llm.memory={lines}")
        assert prism(*study, "--out", f"with-{lines}").code == 0
        assert Path(f"with-{lines}/rounds.csv").read_bytes() == Path("run/rounds.csv").read_bytes()
    for tick in (TICKS, min(LATELY_ROUNDS, ROUNDS) * TICKS):
        told = memories("run", tick)
        assert told == memories(f"with-{LINES}", tick)
        assert {len(lines) for lines in memories("with-3", tick)} <= {0, 1, 2, 3}
    assert max(map(len, told)) == LINES
    assert memories("run", 0) == [()] * PEOPLE
