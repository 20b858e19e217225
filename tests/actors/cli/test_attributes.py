"""People's own attributes through the commands: what was read is shown, and a run keeps and repeats it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from actors.factory.input_files import SMALL_BYTES_MAX
from tests.catalogue import catalogue
from tests.command import Prism

PEOPLE = """\
user_id,name,following_agentid_list,user_char,ideology,Age,trust,region
0,Ada Novak,"[1, 2]",Restores night trains,-0.5,40,0.6,north
1,Bo Ito,[0],,0.25,33.0,,south
2,Cy Weber,[],,1,98,0.3,south
"""
STUDY = """\
simulation: {rounds: 3, seed: 5}
population:
  size: 60
  profiles: people.csv
  join: draw
  columns: {engagement_threshold: trust}
  attributes:
    ideology: {type: float, min: -1, max: 1}
    age: {type: int, min: 13, max: 99, column: Age}
    region: {type: text, values: [north, south]}
    verified: {type: bool, probability: 0.1}
"""
HEAD = "population.attributes"
TRUST = "population.columns.engagement_threshold"


@pytest.fixture(autouse=True)
def _study(prism: Prism) -> None:  # it makes the directory
    Path("people.csv").write_text(PEOPLE)
    Path("study.yaml").write_text(STUDY)


def test_validate_shows_what_was_read_and_what_is_drawn(prism: Prism) -> None:
    ended = prism("validate", "study.yaml")
    assert ended.code == 0
    assert [line for line in ended.out.splitlines() if line.startswith("population.")] == [
        (
            "population.join: draw: a profile of 3 profiles in people.csv is drawn for each of 60 people of "
            "population.size, with replacement; first: 0 is Bo Ito, 1 is Bo Ito, 2 is Bo Ito"
        ),
        f"{HEAD}.ideology: float -1 to 1, column ideology of 3 profiles: mean 0.25, min -0.5, max 1",
        f"{HEAD}.age: int 13 to 99, column Age of 3 profiles: mean 57, min 33, max 98",
        f"{HEAD}.region: one of: north, south, column region of 3 profiles: south 66.7%, north 33.3%",
        f"{HEAD}.verified: true or false, drawn; the first 60 people: false 88.3%, true 11.7%",
        f"{TRUST}: column trust of 3 profiles: mean 0.45, min 0.3, max 0.6; 1 without a value: drawn",
    ]


def test_validate_says_that_a_default_is_the_same_for_everyone(prism: Prism) -> None:
    Path("same.yaml").write_text("population: {attributes: {bound: {type: float, min: 0, max: 1, default: 0.5}}}")
    ended = prism("validate", "same.yaml")
    assert f"{HEAD}.bound: float 0 to 1, the same for everyone: 0.5" in ended.out


def test_validate_draws_for_as_many_people_as_a_graph_file_has(prism: Prism) -> None:
    Path("ties.txt").write_text("1 2\n2 3\n")
    ended = prism("validate", "study.yaml", "--set", "population.graph.path=ties.txt")
    assert f"{HEAD}.verified: true or false, drawn; the first 3 people: " in ended.out


def test_validate_with_build_shows_the_people_that_were_made(prism: Prism) -> None:
    ended = prism("validate", "study.yaml", "--build")
    assert f"{HEAD}.ideology: float -1 to 1; 60 people: mean " in ended.out
    assert "population.columns.engagement_threshold: 60 people: mean " in ended.out


@pytest.mark.slow
def test_a_large_file_of_profiles_is_not_read_unless_asked_for(prism: Prism) -> None:
    rows = (f"{number},P{number},[],,0.5,40,0.5,{'x' if number == 59999 else 'north'}" for number in range(60_000))
    Path("people.csv").write_text("\n".join([PEOPLE.splitlines()[0], *rows]))
    assert Path("people.csv").stat().st_size > SMALL_BYTES_MAX
    ended = prism("validate", "study.yaml")
    assert f"{HEAD}.age: int 13 to 99, not read: --build reads the file" in ended.out.splitlines()
    assert f"{HEAD}.verified: true or false, drawn; the first 60 people: " in ended.out
    ended = prism("validate", "study.yaml", "--build")
    assert ended.code == 3
    assert "people.csv:60001: region: expected one of: north, south, got 'x'" in ended.err


@catalogue("command", [("validate", "study.yaml"), ("run", "study.yaml", "--out", "out")])
@catalogue(
    ("override", "problem"),
    [
        (
            f"{HEAD}.age.column=Agee",
            "people.csv:1: missing column: Agee, for population.attributes.age; did you mean 'Age'?",
        ),
        (f"{HEAD}.age.min=35", "people.csv:3: Age: expected int 35 to 99, got '33.0'"),
        (f"{HEAD}.age.min=x", f"--set: {HEAD}.age.min: expected float -1e+15 to 1e+15 or none, got 'x'"),
        (f"{HEAD}.mood={{type: int}}", f"people.csv:1: missing column: mood, for {HEAD}.mood; the file has: user_id"),
        ("population.columns.activity=Age", "people.csv:2: Age: expected float 0 to 1, got '40'"),
        ("population.profiles=null", "--set: population.profiles: a column needs a profile file"),
    ],
)
def test_a_mistake_ends_the_command_with_one_line(
    prism: Prism, command: tuple[str, ...], override: str, problem: str
) -> None:
    ended = prism(*command, "--set", override)
    assert ended.code == 3
    assert problem in ended.err
    assert not Path("out").exists()


def test_a_run_keeps_the_declarations_and_repeats_from_them(prism: Prism) -> None:
    assert prism("run", "study.yaml", "--out", "first").code == 0
    kept = yaml.safe_load(Path("first/config.yaml").read_text())["population"]
    assert list(kept["attributes"]) == ["ideology", "age", "region", "verified"]
    assert kept["attributes"]["verified"] == {"type": "bool", "probability": 0.1}
    assert prism("run", "first/config.yaml", "--out", "second").code == 0
    digests = [Path(run, "summary.json").read_text().partition('"digest"')[2][:40] for run in ("first", "second")]
    assert digests[0] == digests[1] != ""
    assert prism("verify", "first").code == 0


def test_a_changed_attribute_is_another_past(prism: Prism) -> None:
    assert prism("run", "study.yaml", "--out", "out").code == 0
    config = Path("out/config.yaml")
    config.write_text(config.read_text().replace("probability: 0.1", "probability: 0.2"))
    ended = prism("resume", "out", "--set", "simulation.rounds=4")
    assert ended.code != 0
    assert f"{HEAD}.verified.probability is 0.2, was 0.1 when the run began" in ended.err
