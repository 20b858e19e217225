"""Causes on the local page: their sections, and what each agent has added."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.studies.causes.record import keep
from tests.actors.studies.causes.test_kept import LIKES
from tests.actors.view.asking import Asked, copied


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: they read the disk."""


def test_causes_are_shown_as_in_the_report_and_by_agent_and_new_ones_too(embedded: Path, tmp_path: Path) -> None:
    run = copied(embedded, tmp_path, "own")
    asked = Asked(run, "own")
    before = asked.json("runs/own")["version"]
    assert "What made likes" not in asked.part("runs/own/sections")
    keep(run, LIKES)
    assert asked.json("runs/own")["version"] != before
    assert "What made likes" in asked.part("runs/own/sections")
    words = "likes: its presence from tick 0 on: +3, 7 without it"
    assert words in asked.part("runs/own/agent?agent=1&tick=20")
    assert words not in asked.part("runs/own/agent?agent=2&tick=20")
