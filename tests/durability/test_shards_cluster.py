"""Runs in shards on real Ray clusters of several nodes have the bytes of one process, whatever is killed."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from actors.runs.ray_shards import ENDED
from tests.actors.studies.experiments.cluster import in_namespace, why_not
from tests.durability.process_runs import assert_same

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

RESUME = "`prism resume` goes on from the latest checkpoint"


def played(scene: str, whole: Path, place: Path) -> dict[str, Any]:
    if reason := why_not("ray"):
        pytest.skip(reason)
    shutil.copy(whole.parent / "config.yaml", place)
    return in_namespace(place, f"tests.durability.shards_cluster {scene}")


def assert_line(found: dict[str, Any]) -> None:
    """Check that a command has ended soon, and with a line: its own, or the last words if Ray ended it."""
    assert found["said"].partition("(")[0] in {"prism: shard 1 is lost ", f"prism: {ENDED}"}
    assert found["said"].endswith(RESUME)
    assert found["seconds"] < 30


def test_a_run_goes_on_by_itself_when_a_node_is_killed(short: Path, whole: Path) -> None:
    found = played("a_node_is_killed", whole, short)
    assert found["is_spread"], "each shard on a node of its own"
    assert found["lost"] == 1
    assert_same(short / "run", whole)


def test_a_killed_cluster_ends_the_run_with_a_line_and_another_cluster_goes_on(short: Path, whole: Path) -> None:
    found = played("the_cluster_is_killed", whole, short)
    assert_line(found)
    assert found["again"].startswith("prism: run.shards, RAY_ADDRESS=127.0.0.1:6399: nobody answers there")
    assert_same(short / "run", whole)


def test_a_run_waits_for_room_says_so_and_can_be_stopped_meanwhile(short: Path, whole: Path) -> None:
    found = played("there_is_little_room", whole, short)
    assert (found["begun"], found["of"]) == (1, 2)
    assert found["said"] == f"prism: {ENDED}"
    assert found["seconds"] < 30
    assert_same(short / "run", whole)
