"""`prism validate`, and what has no effect, before a run, at its start, and at its end."""

import json
import re
from pathlib import Path

import pytest

from actors import read_result
from tests.actors.factory.test_no_effect import LURKING
from tests.command import Prism
from tests.plain import plain_text


def test_validate_says_what_would_be_run_and_names_each_input(prism: Prism) -> None:
    Path("ties.txt").write_text("1 2\n2 3\n")
    first, second, understood, deliberation = prism(
        "validate", "small.yaml", "--set", "population.graph.path=ties.txt"
    ).out.splitlines()
    assert first == "small.yaml: ok: 3 agents, 3 rounds of 24 ticks (72 ticks), seed 5, oracle choice"
    assert re.fullmatch(r"ties\.txt: ok: sha256 [0-9a-f]{64}", second)
    assert understood == (
        "ties.txt: no header; ends are columns 1 and 2; 3 people, 2 ties; first: 1 -> 2; both follow each other "
        "(population.graph.directed: false)"
    )
    assert deliberation == (
        "deliberation: 4 simulated minutes are 4 ticks of 60 s; the embedded oracle answers at once"
    )


def test_a_cap_that_binds_is_in_the_log_and_in_a_validation_that_builds(prism: Prism) -> None:
    hours = ",".join(["9", *["1"] * 23])
    settings = (f"population.activity.hours=[{hours}]", "population.posts_per_session=2", "simulation.ticks=9")
    given = [word for each in (*settings, "population.posts_by_followers=4") for word in ("--set", each)]
    capped = ("population.activity.hours: ", "population.posts_per_session: ")
    told = [line for line in prism("validate", "small.yaml", *given).out.splitlines() if line.startswith(capped)]
    assert len(told) == 2
    ended = prism("run", "small.yaml", "--quiet", "--out", "run", *given)
    assert (ended.code, ended.err) == (0, "")
    log = [json.loads(line) for line in Path("run/log.jsonl").read_text().splitlines()]
    assert [line["note"] for line in log if line["event"] == "probability_capped"] == told


@pytest.mark.slow
def test_a_forecast_tells_the_time(prism: Prism) -> None:
    sizes = ("--set", "population.size=100", "--set", "simulation.rounds=2")
    ended = prism("validate", "--forecast", *sizes)
    assert ended.code == 0
    told = dict(line.split(": ", 1) for line in ended.out.splitlines() if ": " in line)
    assert told["this machine"].startswith("about ")
    assert told["forecast from"].startswith("48 ticks of 100 agents")


PEOPLE = "user_id,name,following_agentid_list,ideology,Age,trust\n0,Ada,[1],-0.5,40,0.6\n1,Bo,[0],0.25,33.0,\n"
STUDY = """\
population:
  size: 60
  profiles: people.csv
  join: draw
  columns: {engagement_threshold: trust}
  attributes: {ideology: {type: float, min: -1, max: 1}, age: {type: int, min: 13, max: 99, column: Age}}
"""


def test_a_column_that_is_read_as_an_attribute_is_not_among_those_that_are_not_read(prism: Prism) -> None:
    Path("people.csv").write_text(PEOPLE)
    Path("study.yaml").write_text(STUDY)
    (line,) = [each for each in prism("validate", "study.yaml").out.splitlines() if "2 profiles from " in each]
    read, _, unread = line.partition("; not read: ")
    assert ("`Age`" in read, "`Age`" in unread, "`ideology`" in unread, "`trust`" in unread) == (True, *[False] * 3)


def test_validate_and_lint_say_that_a_delay_cannot_end(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "lurking.yaml").write_text(LURKING.read_text().replace("ticks: 20", "ticks: 30"))
    told = "the delay of 30 ticks ends for few people within a round of 24: round_ends comes first"
    (tmp_path / "study.yaml").write_text("statechart: {file: lurking.yaml}")
    assert f"without effect: lurking: {told}\n" in prism("validate", "study.yaml").out
    linted = prism("chart", "study.yaml", "--lint")
    assert (linted.code, linted.out) == (4, f"lurking, timeout: too_long: {told}\n1 fault, 0 notices\n")


SPARSE = "feed.out_of_network: "
"""People who follow few, with strangers in a fifth of their feeds: these have more of them."""


@pytest.mark.slow
def test_every_command_that_shows_runs_says_what_was_not_as_configured(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(plain_text("simulation: {rounds: 3}\npopulation: {size: 60}\n"))
    (tmp_path / "e.yaml").write_text(
        "question: Do more rounds matter?\nbase: study.yaml\nseeds: 2\n"
        "design: {conditions: {three: {}, four: {simulation.rounds: 4}}}\n"
        "measures: {likes: likes, people: agents}\n"
    )
    ran = prism("run", "study.yaml", "--out", "runs/one")
    (told,) = json.loads(Path("runs/one/summary.json").read_bytes())["not_as_configured"]
    assert told["realised"] > 0.25 > told["configured"]
    line = f"not as configured: {SPARSE}{told['realised']:.1%}, not 20.0%: {told['message']}"
    assert line in " ".join(ran.out.split())
    assert line in prism("runs", "runs").out
    assert f"runs/one: {line}" in prism("export", "runs/one", "--to", "csv", "--out", "tables").err
    prism("report", "runs/one", "--out", "one.html", "--quiet")
    assert f'<p class="notice">{line}</p>' in Path("one.html").read_text()
    assert f"<b>{line}</b>" in read_result("runs/one")._repr_html_()
    for mode in ([], ["--quiet"]):
        done = prism("experiment", "e.yaml", "--out", "e", "--jobs", "1", *mode)
        assert done.code == 0, done.err
    many = ["not as configured in 2 of 2 runs (three): feed.out_of_network: ", "the measure people is 60 in all 4 runs"]
    prism("report", "e", "--out", "e.html", "--quiet")
    for part in many:
        assert part in prism("experiment", "e.yaml", "--out", "e", "--jobs", "1").out.replace("\n", " ")
        assert f'<p class="notice">{part}' in Path("e.html").read_text()
