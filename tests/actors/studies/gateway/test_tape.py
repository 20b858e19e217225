"""The tape of an experiment: its order, its totals, full disks, other files, and a second writer."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from actors.studies.gateway import tape as module
from actors.studies.gateway.tape import ExperimentTape, Kept
from prism.llm import TapeError
from tests.catalogue import catalogue


def recorded(path: Path, *kept: Kept) -> Path:
    with closing(ExperimentTape(path, "record")) as tape:
        for each in kept:
            tape.add(each)
    return path


def answered(key: str, body: str = "yes", **more: float) -> Kept:
    return Kept(key=key, status=200, body=body, usd=more.get("usd", 0.0), read=int(more.get("read", 0)))


def test_answers_come_back_in_their_order_and_failures_apart(tmp_path: Path) -> None:
    refused = [Kept(key="k", status=503, body=body) for body in ("busy", "busier")]
    path = recorded(
        tmp_path / "t", refused[0], answered("k", "first"), answered("other"), answered("k", "second"), refused[1]
    )
    with closing(ExperimentTape(path, "replay")) as tape:
        found = [tape.answer("k", number) for number in range(3)]
        assert [each and each.body for each in found] == ["first", "second", None]
        latest = tape.latest("k")
        assert latest is not None
        assert latest.body == "second"
        failures = [tape.failure("k", number) for number in (0, 1, 7)]
        assert [each and each.body for each in failures] == ["busy", "busier", "busier"]
        assert (tape.failure("other", 0), tape.latest("none")) == (None, None)


def test_totals_are_those_of_all_calls_that_reached_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_READ_AT_ONCE", 2)
    path = recorded(
        tmp_path / "t",
        answered("a", usd=0.25, read=10),
        answered("a", usd=0.5, read=30),
        Kept(key="b", failure="timeout"),
        Kept(key="b", failure="connection_error"),
        Kept(key="c", is_call=False, status=200),
    )
    with closing(ExperimentTape(path, "look")) as tape:
        totals = tape.totals
    assert (totals.calls, totals.failed, totals.prompt_tokens, totals.usd) == (3, 1, 40, 0.75)


def test_a_full_disk_keeps_what_was_there(tmp_path: Path) -> None:
    with closing(ExperimentTape(tmp_path / "t", "record")) as tape:
        tape.add(answered("a"))
        tape._execute("PRAGMA max_page_count = 1")
        with pytest.raises(TapeError, match="t: cannot be read or written: database or disk is full"):
            tape.add(answered("a", "x" * 10_000))
        assert (tape.answer("a", 1), tape.totals.calls) == (None, 1)
        tape._execute("PRAGMA max_page_count = 1000")
        tape.add(answered("a", "x" * 10_000))
        assert tape.answer("a", 1) is not None


def test_a_second_writer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOCKED_WAIT_S", 0.0)
    tape = ExperimentTape(tmp_path / "t", "record")
    with pytest.raises(TapeError, match="another process appends to it"):
        ExperimentTape(tmp_path / "t", "record")
    tape.close()
    ExperimentTape(tmp_path / "t", "record").close()


@catalogue("mode", ["record", "replay"])
@catalogue("name", ["none/t", ".", "/dev/zero"])
def test_what_is_no_file_is_no_tape(tmp_path: Path, name: str, mode: str) -> None:
    with pytest.raises(TapeError):
        ExperimentTape(tmp_path / name, mode)  # type: ignore[arg-type]
