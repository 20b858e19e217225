"""`prism new`: six answers make a study that runs; wrong ones are refused, or asked again, with the reason."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from actors.studies.experiments.new_study import NewStudy
from actors.studies.experiments.plan import make_plan
from prism.errors import ConfigError
from tests.command import Prism, run_prism

ANSWERS = {
    "who": "friends",
    "many": "60",
    "see": "hot",
    "change": "feed.algorithm=chronological",
    "measure": "likes,largest_cascade",
    "seeds": "8",
}
OF_NATIONS = {
    "who": "nations",
    "many": "7",
    "see": "1970q1",
    "change": "economy.taylor.inflation_weight=1.5,0",
    "measure": "rounds.sd.inflation",
    "seeds": "20",
}
QUESTIONS = tuple(ANSWERS)


@pytest.fixture
def prism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prism:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run_prism(monkeypatch, capsys, *arguments)


def options(**changed: str | None) -> list[str]:
    """Return the options with these answers; None leaves one out."""
    given = {**ANSWERS, **changed}
    return [word for name, answer in given.items() if answer is not None for word in (f"--{name}", answer)]


def answered(until: str, answers: dict[str, str] = ANSWERS) -> NewStudy:
    """Return a study with the answers before a question."""
    study = NewStudy(Path("s"))
    for name in QUESTIONS[: QUESTIONS.index(until)]:
        study.answer(name, answers[name])
    return study


def test_six_answers_make_a_study_with_its_reasons_and_the_commands_that_come_next(prism: Prism) -> None:
    ended = prism("new", "s", *options())
    assert ended.code == 0, ended.err
    assert [line for line in ended.out.splitlines() if line.startswith("wrote")] == [
        "wrote s/s.yaml",
        "wrote s/prism.yaml",
    ]
    assert re.search(
        r"prism experiment plan s/s.yaml .*\n.*prism experiment s/s.yaml .* about .*\n"
        r".*prism report experiments/s --out s.html --force",
        ended.out,
    )
    plan = make_plan(Path("s/s.yaml"))
    config = plan.cells[0].config
    assert (config.population.size, config.simulation.rounds, config.feed.algorithm) == (60, 50, "hot")
    assert [each.name for each in plan.experiment.conditions] == ["hot", "chronological"]
    assert plan.experiment.measures == {"likes": "likes", "largest_cascade": "largest_cascade"}
    assert [each.contrast for each in plan.experiment.hypotheses] == [("chronological", "hot")] * 2
    assert len(plan.experiment.seeds) == 8
    assert plan.experiment.question == (
        "Does the feed algorithm change the likes of people and the largest cascade: chronological in place of hot?"
    )
    text = Path("s/s.yaml").read_text()
    assert "The smallest p value of 8 pairs is 0.016, corrected for 2 hypotheses." in " ".join(text.split("\n# "))
    assert all(len(line) <= 120 for line in text.splitlines())


def test_nations_have_a_quarter_to_start_from_and_as_many_as_are_wanted(prism: Prism) -> None:
    ended = prism("new", "s", *options(**OF_NATIONS))
    assert ended.code == 0, ended.err
    plan = make_plan(Path("s/s.yaml"))
    economy = plan.cells[0].config.economy
    assert (len(economy.nations), len(economy.strengths), economy.initial.quarter) == (7, 7, "1970q1")
    assert [each.name for each in plan.experiment.conditions] == [
        f"inflation_weight={each}" for each in ("0.5", "1.5", "0")
    ]
    assert plan.experiment.measures == {"sd_inflation": "rounds.sd.inflation"}
    assert len(plan.experiment.hypotheses) == 2


def test_a_configuration_of_ones_own_is_the_base_and_stays_where_it_is(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("simulation: {rounds: 3}\npopulation: {size: 40}\n")
    ended = prism("new", "s", *options(who="mine.yaml", many="50"))
    assert (ended.code, Path("s/prism.yaml").exists()) == (0, False), ended.err
    config = make_plan(Path("s/s.yaml")).cells[0].config
    assert (config.simulation.rounds, config.population.size) == (3, 50)
    assert (tmp_path / "mine.yaml").read_text() == "simulation: {rounds: 3}\npopulation: {size: 40}\n"


def test_an_economy_without_a_file_of_quarters_starts_as_it_is(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("simulation: {domain: economy, rounds: 8, ticks_per_round: 1}\n")
    ended = prism("new", "s", *options(**OF_NATIONS | {"who": "mine.yaml", "see": "as it is"}))
    assert ended.code == 0, ended.err
    assert make_plan(Path("s/s.yaml")).cells[0].config.economy.initial.quarter is None
    assert prism("new", "s", *options(**OF_NATIONS | {"who": "mine.yaml"}), "--overwrite").code == 2


def test_a_study_has_not_the_name_of_its_base(prism: Prism) -> None:
    ended = prism("new", "prism", *options())
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "prism: prism.yaml is the name of the base: expected another directory" in ended.err


def test_without_a_terminal_what_is_missing_is_one_line_and_nothing_is_written(prism: Prism) -> None:
    ended = prism("new", "s", *options(many=None, seeds=None))
    assert ended.code == 2
    assert ended.err.splitlines()[-1] == "prism: no terminal to ask on, and no answer given: expected --many, --seeds"
    assert not Path("s").exists()


def test_a_wrong_answer_of_an_option_is_one_line_that_names_it(prism: Prism) -> None:
    ended = prism("new", "s", *options(many="-1"))
    assert (ended.code, ended.err.count("\n"), Path("s").exists()) == (2, 1, False)
    assert ended.err.startswith("prism: --many: population.size: expected ")


def test_nothing_is_overwritten_unless_it_is_said(prism: Prism) -> None:
    Path("s").mkdir()
    for name in ("s.yaml", "prism.yaml"):
        kept = Path("s", name)
        kept.write_text("mine")
        ended = prism("new", "s", *options())
        assert (ended.code, f"s/{name}: exists already" in ended.err, kept.read_text()) == (2, True, "mine")
        kept.unlink()
    Path("s/s.yaml").write_text("mine")
    assert prism("new", "s", *options(), "--overwrite").code == 0
    assert Path("s/s.yaml").read_text().startswith("# Made by `prism new`")


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        ("who", "aliens", "expected one of people, friends, nations, or the path of a configuration, got 'aliens'"),
        ("many", "some", "expected a whole number, got 'some'"),
        ("many", "0", "expected"),
        ("see", "hottest", "expected one of: chronological, hot, interest, random, bridging, or an expression"),
        ("change", "feed.sise=3", "there is no setting feed.sise: did you mean feed.size?"),
        ("change", "feed.size", "expected SETTING=VALUE, as in feed.algorithm=chronological, got 'feed.size'"),
        ("change", "feed.size=5", "5 gives the same runs as 5, the present value: expected another value"),
        ("change", "feed.size=7,7", "7,7 gives the same runs twice: expected another value"),
        ("change", "feed.size=0", "expected"),
        ("change", "simulation.seed=7", "expected another value"),
        ("measure", "lkes", "no measure 'lkes': did you mean likes?"),
        ("measure", "likes,", "expected a number of a run, got ''"),
        ("measure", "my_module:mean", "expected a number of a run, got 'my_module:mean'"),
        ("seeds", "6", "6 seeds can never show a difference, with 2 hypotheses: expected at least 7"),
        ("seeds", "1000000", "expected"),
    ],
)
def test_a_wrong_answer_is_refused_with_the_reason(question: str, answer: str, reason: str) -> None:
    with pytest.raises(ConfigError) as error:
        answered(question).answer(question, answer)
    assert reason in error.value.problem


@pytest.mark.parametrize("answers", [ANSWERS, OF_NATIONS], ids=["people", "nations"])
def test_what_is_offered_is_right_and_a_number_picks_it(answers: dict[str, str]) -> None:
    study = NewStudy(Path("s"))
    study.answer("who", answers["who"])
    for question in QUESTIONS[1:]:
        offer = study.offer(question)
        picks = [line.split()[:2] for line in offer.lines if line[:1].isdigit()]
        for number, _ in picks:
            study.answer(question, number)
        study.answer(question, offer.default)
        assert not picks or picks[0][1] == offer.default


def test_a_wrong_answer_is_asked_again_on_a_terminal(prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = ["aliens", "friends", "some", "", "1", "6", "8"]
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    monkeypatch.setattr(click.termui, "visible_prompt_func", lambda _: typed.pop(0))
    ended = prism("new", "s", *options(who=None, many=None, change=None, seeds=None))
    assert (ended.code, typed) == (0, []), ended.err
    refused = [line for line in ended.err.splitlines() if line.startswith("Error: ")]
    assert refused == [
        "Error: expected one of people, friends, nations, or the path of a configuration, got 'aliens'",
        "Error: expected a whole number, got 'some'",
        "Error: 6 seeds can never show a difference, with 2 hypotheses: expected at least 7",
    ]
    plan = make_plan(Path("s/s.yaml"))
    assert (plan.cells[0].config.population.size, len(plan.experiment.seeds)) == (300, 8)
    assert [each.name for each in plan.experiment.conditions] == ["hot", "chronological"]
