"""`prism validate`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.catalogue import catalogue
from tests.command import Prism

DELIBERATION = "deliberation: 4 simulated minutes are 4 ticks of 60 s; the embedded oracle answers at once"


def test_validate_says_what_would_be_run(prism: Prism) -> None:
    ended = prism("validate", "small.yaml")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "small.yaml: ok: 60 agents, 3 rounds of 24 ticks (72 ticks), seed 5, oracle choice",
        DELIBERATION,
    ]


def test_validate_names_each_input(prism: Prism) -> None:
    Path("ties.txt").write_text("1 2\n2 3\n")
    ended = prism("validate", "small.yaml", "--set", "population.graph.path=ties.txt")
    first, second, understood, deliberation = ended.out.splitlines()
    assert deliberation == DELIBERATION
    assert understood.startswith("ties.txt: no header; ends are columns 1 and 2; 3 people, 2 ties; first: 1 -> 2")
    assert first == "small.yaml: ok: 3 agents, 3 rounds of 24 ticks (72 ticks), seed 5, oracle choice"
    assert re.fullmatch(r"ties\.txt: ok: sha256 [0-9a-f]{64}", second)
    assert understood == (
        "ties.txt: no header; ends are columns 1 and 2; 3 people, 2 ties; first: 1 -> 2; both follow each other "
        "(population.graph.directed: false)"
    )


ASKED = ("--set", "oracle.backend=ollama", "--set")


@catalogue(
    ("settings", "problem"),
    [
        (("oracle.tape=replay", "--set", "oracle.tape_path=t.sqlite"), "t.sqlite: there is no such tape"),
        (("oracle.tape=replay", "--set", "oracle.tape_path=small.yaml"), "small.yaml: is no tape"),
        (("oracle.tape=record", "--set", "oracle.tape_path=x/t.sqlite"), "x/t.sqlite: its directory does not exist"),
        (("llm.host=ftp://x",), "llm.host is not an address"),
    ],
)
def test_an_oracle_that_cannot_be_used_is_refused(settings: tuple[str, ...], problem: str, prism: Prism) -> None:
    for command in (("validate", "small.yaml"), ("run", "small.yaml", "--quiet", "--ticks", "1", "--out", "o")):
        ended = prism(*command, *ASKED, *settings)
        assert (ended.code, problem in ended.err) == (5, True), ended


@pytest.mark.slow
def test_a_forecast_tells_time_memory_and_disk(prism: Prism) -> None:
    sizes = ("--set", "population.size=100", "--set", "simulation.rounds=2")
    ended = prism("validate", "--forecast", *sizes)
    assert ended.code == 0
    told = dict(line.split(": ", 1) for line in ended.out.splitlines() if ": " in line)
    assert told["this machine"].startswith("about ")
    assert told["memory"].endswith("iB")
    assert "on the disk" in told["journal"]
    assert told["forecast from"].startswith("48 ticks of 100 agents")


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


def test_a_column_that_is_read_as_an_attribute_is_not_among_those_that_are_not_read(prism: Prism) -> None:
    Path("people.csv").write_text(PEOPLE)
    Path("study.yaml").write_text(STUDY)
    (line,) = [each for each in prism("validate", "study.yaml").out.splitlines() if "3 profiles from " in each]
    read, _, unread = line.partition("; not read: ")
    assert ("`Age`" in read, "`Age`" in unread, "`ideology`" in unread, "`trust`" in unread) == (True, *[False] * 3)
