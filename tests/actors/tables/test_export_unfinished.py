"""Exports of runs that are going on, were killed, forked or damaged: a part of a run has the first rows of it."""

import shutil
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from actors.core.errors import DamagedError, JournalError
from actors.store.journal import JOURNAL
from actors.store.lock import locked
from actors.store.manifest import SUMMARY
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS
from tests.actors.store.independent_reader import frames, read_run
from tests.actors.tables.exports import Read, exported

HAPPENED = ("transitions", "engagements", "feeds")
GROWING = {
    "posts": {"likes", "replies", "reshares"},
    "questions": {"answer", "source", "reason", "method", "decided_tick", "content", "latency_s", "calls"},
}
"""The columns of a row that may change after it was made."""


def ends_of_ticks(run: Path) -> list[int]:
    """Return the offset after the header, and after each tick."""
    payloads = [payload for payload, _ in frames(run / JOURNAL, b"PRISMJ\r\n")]
    return [*accumulate((40 + len(payload) for payload in payloads), initial=8)][1:]


def cut(run: Path, to: Path, size: int) -> Path:
    """Return a copy of a run whose journal has only its first bytes, as a crash leaves it."""
    shutil.copytree(run, to)
    (to / SUMMARY).unlink()
    with (to / JOURNAL).open("r+b") as journal:
        journal.truncate(size)
    return to


def without(rows: Sequence[dict[str, Any]], names: set[str]) -> list[dict[str, Any]]:
    """Return rows without the columns that change."""
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def check_begins(part: Read, whole: Read) -> None:
    """Check that the tables of a part of a run are the beginning of those of the whole run."""
    for name in HAPPENED:
        if name in whole:
            assert part[name] == whole[name][: len(part[name])], name
    for name, changing in GROWING.items():
        ours, theirs = part[name], whole[name][: len(part[name])]
        assert without(ours, changing) == without(theirs, changing)
    for our, their in zip(part["questions"], whole["questions"], strict=False):
        if our["answer"] is not None:
            assert our == their
    assert part["rounds"] == whole["rounds"][: len(part["rounds"])]
    ticks = part["runs"][0]["ticks"]
    assert len(part["transitions"]) == sum(row["tick"] < ticks for row in whole["transitions"])
    assert len(part["posts"]) == sum(row["tick"] < ticks for row in whole["posts"])


def test_a_run_that_is_cut_anywhere_has_the_first_rows_of_the_whole_run(few_run: Path, tmp_path: Path) -> None:
    whole = exported("csv", tmp_path / "whole", few_run)[1]
    for ticks, torn in ((0, 0), (31, 200)):
        end = ends_of_ticks(few_run)[ticks]
        (tmp_path / str(ticks)).mkdir()
        run = cut(few_run, tmp_path / str(ticks) / "run", end + torn)
        part = exported("csv", tmp_path / f"part-{ticks}", run)[1]
        check_begins(part, whole)
        (row,) = part["runs"]
        assert (row["ticks"], row["status"]) == (ticks, "crashed")
        assert len(part["rounds"]) == ticks // 12
        assert len(part["feeds"]) == sum(row["tick"] < ticks for row in whole["feeds"])
        with (run / JOURNAL).open("r+b") as journal:
            journal.truncate(end)
        assert row["digest"] == read_run(run).digest


def test_a_run_under_way_says_so_and_is_not_disturbed(embedded: Path, tmp_path: Path) -> None:
    run = cut(embedded, tmp_path / "run", ends_of_ticks(embedded)[20] + 7)
    with locked(run):
        before = {path.name: path.read_bytes() for path in run.iterdir()}
        part = exported("csv", tmp_path / "part", run)[1]
        assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    assert (part["runs"][0]["status"], part["runs"][0]["ticks"]) == ("running", 20)


def test_damage_that_no_crash_explains_is_refused_and_nothing_is_written(embedded: Path, tmp_path: Path) -> None:
    run = shutil.copytree(embedded, tmp_path / "run")
    content = bytearray((run / JOURNAL).read_bytes())
    at = ends_of_ticks(run)[10] + 45
    content[at] ^= 1
    (run / JOURNAL).write_bytes(content)
    with pytest.raises(
        DamagedError,
        match=rf"run/{JOURNAL}: damaged at byte {at - 45}: .*CRC32.*shows the 10 ticks before.*prism verify",
    ):
        exported("csv", tmp_path / "out", run)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_answers_that_the_log_has_lost_are_counted_and_their_cost_is_empty(live: Path, tmp_path: Path) -> None:
    whole = exported("csv", tmp_path / "whole", live)
    assert whole[0].notes == []
    run = shutil.copytree(live, tmp_path / "run")
    with (run / ANSWERS).open("r+b") as log:
        log.truncate(log.seek(0, 2) // 2)
    done, read = exported("csv", tmp_path / "out", run)
    lost = [row for row in read["questions"] if row["source"] == "llm" and row["latency_s"] is None]
    assert done.notes == [f"run: oracle.log lacks {len(lost)} answers, whose latency and cost are not known"]
    assert 0.3 < len(lost) / len(read["questions"]) < 0.7
    measured = {"latency_s", "calls", "failed_calls", "prompt_tokens", "cached_tokens", "completion_tokens"}
    changing = measured | {"content", "method"}
    assert without(read["questions"], changing) == without(whole[1]["questions"], changing)


def test_rounds_that_are_missing_are_said_and_rounds_that_are_no_numbers_are_refused(
    embedded: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(embedded, tmp_path / "run")
    rows = (run / ROUNDS).read_bytes()
    (run / ROUNDS).unlink()
    done, read = exported("csv", tmp_path / "out", run)
    assert done.notes == ["run: rounds.csv has no rows; `prism resume` writes them again"]
    assert read["rounds"] == []
    assert len(read["transitions"]) > 500
    (run / ROUNDS).write_bytes(rows.replace(b"\n1,12,", b"\n1,12,x", 1))
    with pytest.raises(JournalError, match=r"run/rounds.csv: cannot be read as rounds: activations: .*prism verify"):
        exported("csv", tmp_path / "other", run)
