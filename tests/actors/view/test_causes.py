"""Causes on the local page: their pictures, the way to them, and what each agent has added."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from actors.store.course import read_course
from actors.studies.causes.record import keep
from tests.actors.studies.causes.test_kept import LIKES
from tests.actors.view.asking import Asked, copied


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: they read the disk."""


def test_causes_are_shown_with_their_places_and_by_agent_and_new_ones_too(embedded: Path, tmp_path: Path) -> None:
    run = copied(embedded, tmp_path, "own")
    keep(run, LIKES)
    asked = Asked(run, "own")
    page = asked.json("runs/own")
    assert page["path"] == str(run)
    before = page["causes"]
    shown = asked.json("runs/own/causes")
    assert shown["places"] == {"likes": "cause-of-likes"}
    assert [part[1]["id"] for part in shown["parts"]] == ["cause-of-likes"]
    words = "its presence from tick 0 on: +3, 7 without it"
    assert shown["added"] == [{"agent": 1, "of": "likes", "words": words}]
    course = read_course(run, "posts")
    [(original, _)] = course.posts.largest(1)
    root, author = original.post, original.author
    keep(run, replace(LIKES, of=f"cascade:{root}", causes=(replace(LIKES.causes[0], agent=author),)))
    assert asked.json("runs/own")["causes"] != before
    tree, likes = asked.json("runs/own/causes")["parts"]
    assert "The cascade by effect" in str(tree)
    assert "The cascade by effect" not in str(likes)
