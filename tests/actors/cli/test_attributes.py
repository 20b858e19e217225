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


@pytest.fixture(autouse=True)
def _study(prism: Prism) -> None:  # it makes the directory
    Path("people.csv").write_text(PEOPLE)
    Path("study.yaml").write_text(STUDY)


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


def test_a_column_that_is_read_as_an_attribute_is_not_among_those_that_are_not_read(prism: Prism) -> None:
    (line,) = [each for each in prism("validate", "study.yaml").out.splitlines() if "3 profiles from " in each]
    read, _, unread = line.partition("; not read: ")
    assert ("`Age`" in read, "`Age`" in unread, "`ideology`" in unread, "`trust`" in unread) == (True, *[False] * 3)
