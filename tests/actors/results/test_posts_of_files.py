"""Posts of a file as users see them: in tables and explanations, also when the file is gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.actors.tables.exports import Read, exported
from tests.command import prism_alone
from tests.recorded import make_run
from tests.social.test_posts import CHART, POSTS, SETTINGS, rows

COUNT = 30
BREAKING = 7
"""The number of the post that an intervention publishes."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run whose input files were deleted after it. Tests only read it."""
    place = tmp_path_factory.mktemp("posts")
    posts, chart = place / "headlines.json", place / "chart.yaml"
    posts.write_text(json.dumps(rows(COUNT)), encoding="utf-8")
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
def tables(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Return its tables."""
    return exported("parquet", tmp_path_factory.mktemp("tables") / "out", run)[1]


def test_the_table_of_posts_says_what_the_file_says(tables: Read) -> None:
    given, kinds = rows(COUNT), set()
    for row in tables["posts"]:
        post = given[row["file_post"] - 1]
        assert {name: row[f"attribute_{name}"] for name in POSTS["attributes"]} == {
            name: post[name] for name in POSTS["attributes"]
        }
        assert json.loads(row["topics"]) == list(dict.fromkeys(post["topics"]))
        assert row["text"] == post["text"]
        kinds.add((row["kind"], row["text_by"]))
    assert kinds >= {("original", "file"), ("reshare", "file"), ("original", "intervention")}
    (breaking,) = (row for row in tables["posts"] if row["text_by"] == "intervention")
    assert (breaking["author"], breaking["tick"], breaking["file_post"]) == (3, 12, BREAKING)


def test_replay_fork_and_explanations_need_the_run_alone(run: Path, tables: Read) -> None:
    ended = prism_alone("replay", str(run))
    assert ended.code == 0, ended.err
    fork = prism_alone("fork", str(run), "--at", "20", "--prepare", "--out", str(run.parent / "fork"), "-q")
    assert fork.code == 0, fork.err
    most = max(tables["posts"], key=lambda row: row["reshares"])
    told = json.loads(prism_alone("explain", str(run), "--post", str(most["post"]), "--json").out)
    posts = [each for each in told["children"] if each["kind"] == "post" and each["value"]["kind"] != "reply"]
    assert {post["children"][0]["text"] for post in posts} == {most["text"]}
    assert len(posts) > 1
    # A turn has the attribute that its guard read.
    shared = next(row for row in tables["posts"] if row["kind"] == "reshare")
    asked = "explain", str(run), "--agent", str(shared["author"]), "--last", str(shared["tick"]), "--json"
    steps = json.loads(prism_alone(*asked).out)["children"]
    decided = [step["value"]["tick"] for step in steps if step.get("value", {}).get("to_state") == "sharing"][-1]
    words = prism_alone("explain", str(run), "--agent", str(shared["author"]), "--tick", str(decided)).out
    assert 'post.source "red"' in " ".join(words.split())
    # A path says which post of the file was published.
    made = next(row for row in tables["posts"] if row["kind"] == "original" and row["text_by"] == "file")
    ticks = "--first", str(made["tick"]), "--last", str(made["tick"])
    words = " ".join(prism_alone("explain", str(run), "--agent", str(made["author"]), *ticks).out.split())
    assert f"post {made['post']} is post {made['file_post']} of the file" in words
