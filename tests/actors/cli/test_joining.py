"""People and ties of a user's files: the words about them, and runs, replays, forks and packs with them."""

import csv
import json
import re
from pathlib import Path

import pytest

from tests.command import Prism

PEOPLE = "user_id,name,party\n" + "".join(
    f"p{number},Person {number},{('left', 'right')[number % 2]}\n" for number in range(12)
)
TIES = "source,target\n" + "".join(
    f"p{(number * 5) % 12},p{(number * 5 + step) % 12}\n" for number in range(12) for step in (1, 2, 5)
)
STUDY = """\
simulation: {rounds: 2, ticks_per_round: 12}
population:
  profiles: people.csv
  attributes: {party: {type: text, values: [left, right]}}
  graph: {path: ties.csv, directed: true}
  measures: [ei_index_party]
  posts: {file: posts.csv}
interventions:
  - {round: 1, publish: {author: p7, text: News}}
  - {round: 2, silence: [p3, Person 4]}
"""
POSTS = "text,author\n" + "".join(f"News {number},p{number % 5}\n" for number in range(20))
SAID = "population.join: id: 12 people in ties.csv and people.csv (`user_id`); first: p0 is Person 0, p1 is Person 1, "


@pytest.fixture(autouse=True)
def _study(prism: Prism) -> None:  # it makes the directory
    Path("people.csv").write_text(PEOPLE)
    Path("ties.csv").write_text(TIES)
    Path("posts.csv").write_text(POSTS)
    Path("study.yaml").write_text(STUDY)


def shuffled(text: str) -> str:
    head, *rows = text.splitlines()
    return "\n".join([head, *rows[5:][::-1], *rows[:5]])


def test_the_joins_are_said_and_every_way_of_a_run_keeps_them(prism: Prism) -> None:
    said = prism("validate", "study.yaml").out
    assert SAID in said
    assert "posts.csv: `author`: 20 posts of 5 people, which nobody else publishes; first: post 1 is p0's" in said
    ran = prism("run", "study.yaml", "--out", "run")
    assert (ran.code, SAID in ran.err) == (0, True)
    assert "first people of interventions: interventions[0].publish.author p7 is Person 7, interventions[1]" in ran.err
    assert prism("export", "run", "--to", "csv", "--out", "tables", "--quiet") == (0, "", "")
    people = {
        row["name"]: row["external_id"] for row in csv.DictReader(Path("tables/agents.csv").read_text().splitlines())
    }
    assert people == {f"Person {number}": f"p{number}" for number in range(12)}
    digest = json.loads(Path("run/summary.json").read_text())["digest"]

    # The order of people's rows changes nothing at all; the inputs that the run keeps are what counts from now on.
    Path("people.csv").write_text(shuffled(PEOPLE))
    assert prism("run", "study.yaml", "--out", "other", "--quiet").out.strip() == digest
    Path("people.csv").unlink()
    assert prism("replay", "run").code == 0
    assert prism("pack", "run", "--out", "run.prism").code == 0
    assert prism("unpack", "run.prism", "--out", "unpacked").code == 0
    assert prism("replay", "unpacked").code == 0
    assert "Person 7 (person 5)" in prism("explain", "unpacked", "--agent", "p7").out
    Path("more.yaml").write_text("- {round: 2, follow: [[p7, p0]]}\n")
    forked = prism("fork", "run", "--at", "12", "--intervene", "more.yaml", "--out", "forked")
    assert forked.code == 0, forked.err


def test_a_whole_number_is_an_agents_number_and_else_an_id(prism: Prism) -> None:
    for name, text in (("people.csv", PEOPLE), ("ties.csv", TIES)):
        Path(name).write_text(re.sub(r"\bp(\d+)\b", lambda found: str(int(found[1]) + 5), text))
    study = STUDY.partition("interventions:")[0].replace("posts: {file: posts.csv}", "deliberation_minutes: 2")
    Path("study.yaml").write_text(study)
    ran = prism("run", "study.yaml", "--out", "run", "--quiet")
    assert ran.code == 0, ran.err
    assert "person 5:" in prism("explain", "run", "--agent", "5").out
    assert "person 11:" in prism("explain", "run", "--agent", "16").out, "no agent has the number 16"
    assert "there is no agent 17" in prism("explain", "run", "--agent", "17").err


def test_an_intervention_publishes_nobody_elses_post(prism: Prism) -> None:
    Path("study.yaml").write_text(STUDY.replace("text: News", "post: 6"))
    ended = prism("run", "study.yaml", "--out", "none")
    problem = "interventions[0].publish.post: expected a post that p7 may publish, got 6, which is somebody else's"
    assert (ended.code, problem in ended.err) == (3, True)
    assert prism("validate", "study.yaml", "--set", "population.posts.author=null").code == 0
