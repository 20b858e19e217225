"""Causes in a run's directory: they are read as they were kept, each outcome in a file of its own."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from actors.studies.causes.record import Cause, Causes, keep, kept_causes
from tests.catalogue import catalogue

LIKES = Causes(
    run="/some/place/run",
    of="likes",
    value=10.0,
    ticks=24,
    since=0,
    tried=(),
    causes=(Cause(kind="people", what="Ada (1)", tick=0, agent=1, chance=1.0, value=7.0, effect=3.0),),
    futures=1,
    kept=0,
    computed=0,
)


def test_causes_are_read_as_they_were_kept_without_the_place_of_the_run(tmp_path: Path) -> None:
    keep(tmp_path, LIKES)
    keep(tmp_path, replace(LIKES, of="cascade:12"))
    assert [each.of for each in kept_causes(tmp_path).found] == ["cascade:12", "likes"]
    assert kept_causes(tmp_path).found[1] == replace(LIKES, run=tmp_path.name)


@catalogue("of", ["../likes", "%2e"])
def test_the_name_of_an_outcome_leads_nowhere_else(tmp_path: Path, of: str) -> None:
    file = keep(tmp_path, replace(LIKES, of=of))
    assert file.parent == tmp_path / "causes"
    assert [each.of for each in kept_causes(tmp_path).found] == [of]


def test_files_that_cannot_be_read_are_named_beside_the_others(tmp_path: Path) -> None:
    keep(tmp_path, LIKES)
    (tmp_path / "causes" / "a.json").write_bytes(b'{"run": "\xff"}')
    (tmp_path / "causes" / "b.json").write_text('{"of": "likes"}')
    (tmp_path / "causes" / "c.json").mkdir()
    kept = kept_causes(tmp_path)
    assert [each.of for each in kept.found] == ["likes"]
    assert [problem.partition(":")[0] for problem in kept.problems] == [f"causes/{name}.json" for name in "abc"]
