"""Attributes and ties that change in a run, and posts of a file, in its tables and explanations."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest

from actors.explain.retrace import OpenRun, Trace, retrace
from actors.runtime.simulation import Simulation
from tests.actors.tables.exports import Read, Row, exported
from tests.catalogue import catalogue
from tests.command import prism_alone
from tests.recorded import CHANGES, make_run
from tests.social.test_posts import CHART, POSTS, SETTINGS
from tests.social.test_posts import rows as posts_of_file

TICKS, PEOPLE = 48, 40


@pytest.fixture(scope="module")
def run(changed_run: Path) -> Path:
    return changed_run


@pytest.fixture(scope="module")
def tables(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Read:
    return exported("parquet", tmp_path_factory.mktemp("tables") / "out", run)[1]


def world_after(run: Path, ticks: int) -> Simulation:
    """Return the simulation after so many ticks of a run, which are done again."""

    async def again() -> Simulation:
        opened = await anyio.to_thread.run_sync(OpenRun, run)
        return await retrace(opened, Trace(frozenset(), 0, 0), ticks)

    return anyio.run(again)


def ties_of(simulation: Simulation) -> set[tuple[int, int]]:
    world: Any = simulation.domain.world
    lists = world.network.state.t.ties.followees
    ends = zip(lists.starts, lists.ends, strict=True)
    return {(one, int(other)) for one, (start, end) in enumerate(ends) for other in lists.values[start:end]}


def value_of(row: Row, when: str = "") -> float | str:
    text: str | None = row[f"text{when}"]
    number: float | None = row[f"number{when}"]
    return number if text is None else text  # type: ignore[return-value]  # one of them is there


def attributes_at(tables: Read, tick: int) -> dict[tuple[int, str], float | str]:
    names = CHANGES["population"]["attributes"]
    now = {(row["agent"], name): row[f"attribute_{name}"] for row in tables["agents"] for name in names}
    for row in tables["attribute_changes"]:
        if row["tick"] < tick:
            assert now[row["agent"], row["name"]] == value_of(row, "_before")
            now[row["agent"], row["name"]] = value_of(row)
    return now


@catalogue("ticks", [12, TICKS])
def test_ties_and_attributes_at_any_tick_are_those_of_the_world(run: Path, tables: Read, ticks: int) -> None:
    simulation = world_after(run, ticks)
    held = [
        (row["follower"], row["followee"])
        for row in tables["edges"]
        if row["from_tick"] <= ticks and (row["until_tick"] is None or ticks < row["until_tick"])
    ]
    assert len(held) == len({*held})
    # An intervention of the tick that comes next has not been carried out yet: there is none in these ticks.
    assert {*held} == ties_of(simulation)
    people = [simulation.domain.agent(number) for number in range(PEOPLE)]
    for (agent, name), value in attributes_at(tables, ticks).items():
        assert people[agent].persona.attributes[name] == value  # type: ignore[attr-defined]


def test_each_tie_that_changes_has_the_post_that_was_in_view(tables: Read) -> None:
    posts = {row["post"]: row for row in tables["posts"]}
    kinds = Counter(row["kind"] for row in tables["ties"])
    assert min(kinds[each] for each in ("follow", "unfollow", "mute")) > 3, kinds
    for row in tables["ties"]:
        seen = posts[row["post"]]
        assert row["whom"] == (posts[seen["root"]]["author"] if row["kind"] == "follow" else seen["author"])
        assert seen["tick"] <= row["tick"]


COUNT = 30
BREAKING = 7
"""The number of the post that an intervention publishes."""


@pytest.fixture(scope="module")
def run_of_posts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run whose input files were deleted after it. Tests only read it."""
    place = tmp_path_factory.mktemp("posts")
    posts, chart = place / "headlines.json", place / "chart.yaml"
    posts.write_text(json.dumps(posts_of_file(COUNT)), encoding="utf-8")
    chart.write_text(CHART, encoding="utf-8")
    settings: dict[str, Any] = {
        **SETTINGS,
        "population": {**SETTINGS["population"], "posts": {**POSTS, "file": str(posts)}},
        "statechart": {"file": str(chart)},
        "interventions": [{"round": 2, "publish": {"author": 3, "post": BREAKING, "quality": 1}}],
        "run": {"checkpoint_every_ticks": 8},
    }
    made = make_run(place, settings)
    posts.unlink()
    chart.unlink()
    return made


@pytest.fixture(scope="module")
def tables_of_posts(run_of_posts: Path, tmp_path_factory: pytest.TempPathFactory) -> Read:
    return exported("parquet", tmp_path_factory.mktemp("tables") / "out", run_of_posts)[1]


def test_the_table_of_posts_says_what_the_file_says(tables_of_posts: Read) -> None:
    given, kinds = posts_of_file(COUNT), set()
    for row in tables_of_posts["posts"]:
        post = given[row["file_post"] - 1]
        assert {name: row[f"attribute_{name}"] for name in POSTS["attributes"]} == {
            name: post[name] for name in POSTS["attributes"]
        }
        assert json.loads(row["topics"]) == list(dict.fromkeys(post["topics"]))
        assert row["text"] == post["text"]
        kinds.add((row["kind"], row["text_by"]))
    assert kinds >= {("original", "file"), ("reshare", "file"), ("original", "intervention")}
    (breaking,) = (row for row in tables_of_posts["posts"] if row["text_by"] == "intervention")
    assert (breaking["author"], breaking["tick"], breaking["file_post"]) == (3, 12, BREAKING)


def test_replay_fork_and_an_explanation_need_the_run_alone(run_of_posts: Path, tables_of_posts: Read) -> None:
    ended = prism_alone("replay", str(run_of_posts))
    assert ended.code == 0, ended.err
    fork = prism_alone(
        "fork", str(run_of_posts), "--at", "20", "--prepare", "--out", str(run_of_posts.parent / "fork"), "-q"
    )
    assert fork.code == 0, fork.err
    # An explanation of a turn has the attribute of the post that its guard read.
    shared = next(row for row in tables_of_posts["posts"] if row["kind"] == "reshare")
    asked = "explain", str(run_of_posts), "--agent", str(shared["author"]), "--last", str(shared["tick"]), "--json"
    steps = json.loads(prism_alone(*asked).out)["children"]
    decided = [step["value"]["tick"] for step in steps if step.get("value", {}).get("to_state") == "sharing"][-1]
    words = prism_alone("explain", str(run_of_posts), "--agent", str(shared["author"]), "--tick", str(decided)).out
    assert 'post.source "red"' in " ".join(words.split())
