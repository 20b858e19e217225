"""People's own attributes through the commands: what was read is shown, and a run keeps and repeats it."""

from __future__ import annotations

from pathlib import Path

import pytest

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
