"""`prism validate`, and what has no effect, before a run, at its start, and at its end."""

import gzip
import json
import re
from pathlib import Path

import pytest

from actors import read_result
from actors.factory.shipped import examples, studies
from actors.studies.calibration import make_calibration_plan
from actors.studies.experiments.plan import make_plan
from tests.actors.factory.test_no_effect import LURKING
from tests.command import Prism
from tests.paths import ROOT, real_path
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


def test_init_writes_the_default_world_which_runs_as_it_is(prism: Prism) -> None:
    ended = prism("init", "study")
    written = "wrote study/prism.yaml\nwrote study/schema.json\nnext: prism run study/prism.yaml\n"
    assert (ended.code, ended.out) == (0, written)
    first, _, rest = Path("study/prism.yaml").read_text().partition("\n")
    assert first == "# yaml-language-server: $schema=schema.json"
    assert rest == (ROOT / "configs" / "default.yaml").read_text(encoding="utf-8")
    assert prism("run", "study/prism.yaml", "--ticks", "2", "--quiet", "--out", "run").code == 0


def test_init_lists_the_examples_and_the_settings_with_a_word_in_their_names(prism: Prism) -> None:
    lines = prism("init", "--list").out.splitlines()
    assert [line.split()[0] for line in lines] == [*examples(), *studies()]
    assert lines[0].endswith("2,000 made-up people on a social network, 50 rounds, an interest feed")
    lines = prism("init", "--settings", "feed.re").out.splitlines()
    assert lines[0] == "feed.recent: 1000 (int 1 to 1000000)"
    assert [line.split(":")[0] for line in lines[::2]] == ["feed.recent", "feed.reshare_credit"]


def test_an_example_whose_data_one_fetches_says_so_until_they_are_there(prism: Prism) -> None:
    assert prism("init", "--example", "higgs").out.endswith("next: prism run higgs/prism.yaml\n")
    graph = "higgs-social_network.txt.gz"
    told = prism("validate", "higgs/prism.yaml").err
    assert told.startswith(f"prism: higgs/prism.yaml:12: population.graph.path: {graph}: no such file")
    Path("higgs", graph).write_bytes(gzip.compress(b"0 1\n1 2\n"))
    assert prism("validate", "higgs/prism.yaml").code == 0


@pytest.mark.everyday(2)
@pytest.mark.parametrize("name", studies())
def test_a_study_has_all_it_needs_in_a_directory_of_its_own(name: str, prism: Prism) -> None:
    study = studies()[name]
    Path("facebook_combined.txt.gz").write_bytes(gzip.compress(b"0 1\n1 2\n"))  # which whoever runs it downloads
    ended = prism("init", "mine", "--example", name)
    assert ended.out.endswith(f"next: prism {study.command} mine/{study.command}.yaml\n")
    written = Path(f"mine/{study.command}.yaml")
    assert "configs/" not in written.read_text()
    if study.command == "experiment":
        assert make_plan(written).cells
    else:
        Path("mine/twitter15-cascades.csv.gz").write_bytes(real_path("twitter15-cascades.csv.gz").read_bytes())
        assert make_calibration_plan(written).calibration.parameters


@pytest.mark.slow
def test_an_example_runs_beside_its_data_and_names_its_runs_after_its_directory(prism: Prism) -> None:
    assert prism("init", "rates", "--example", "economy").code == 0
    assert prism("run", "rates/prism.yaml", "--quiet").out == "f330434e20d2f3af8b25384fff999b4f\n"
    (kept,) = Path("runs/rates-001/inputs").glob("*/us-macro-quarterly.csv")
    assert kept.read_bytes() == Path("rates/data/us-macro-quarterly.csv").read_bytes()
