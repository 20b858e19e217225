"""The tape of an experiment: its latest replies, its totals, full disks, and other files."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from actors.studies.gateway.tape import ExperimentTape, Totals
from prism.llm import Tape, TapeError
from prism.llm.gateway import Replied
from tests.catalogue import catalogue


def said(text: str = "yes") -> Replied:
    return Replied(body=text, is_answer=True)


def test_the_latest_reply_stays_and_the_totals_are_those_of_all_calls(tmp_path: Path) -> None:
    with closing(ExperimentTape(tmp_path / "t", "record")) as tape:
        for text in ("first", "second"):
            tape.write(b"k", said(text), "1-2-abc", Totals(calls=1, prompt_tokens=10, usd=0.25))
        with closing(ExperimentTape(tmp_path / "t", "look")) as looked:
            assert looked.totals == tape.totals
    with closing(ExperimentTape(tmp_path / "t", "replay")) as again:
        assert (again.read(b"k"), again.read(b"other")) == (said("second"), None)
        assert again.totals == Totals(calls=2, prompt_tokens=20, usd=0.5)


def test_a_full_disk_keeps_what_was_there(tmp_path: Path) -> None:
    with closing(ExperimentTape(tmp_path / "t", "record")) as tape:
        tape.write(b"a", said(), "", Totals(calls=1))
        tape._execute("PRAGMA max_page_count = 1")
        with pytest.raises(TapeError, match="t: cannot be read or written: database or disk is full"):
            tape.write(b"a", said("x" * 10_000), "", Totals(calls=1))
        assert (tape.read(b"a"), tape.totals.calls) == (said(), 1)


def test_the_tape_of_a_run_is_refused(tmp_path: Path) -> None:
    with closing(Tape(tmp_path / "t", "record")) as tape:
        tape._execute("INSERT INTO answers VALUES (?, '', '{}')", b"head")
    with pytest.raises(TapeError, match="is the tape of a run, and not of an experiment"):
        ExperimentTape(tmp_path / "t", "record")


@catalogue("mode", ["record", "replay"])
@catalogue("name", ["none/t", ".", "/dev/zero"])
def test_what_is_no_file_is_no_tape(tmp_path: Path, name: str, mode: str) -> None:
    with pytest.raises(TapeError):
        ExperimentTape(tmp_path / name, mode)  # type: ignore[arg-type]
