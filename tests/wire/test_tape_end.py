"""Where a tape ends: questions that no tick could use an answer to, and runs that were stopped, and then went on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from actors.core.errors import first_error
from prism.errors import OracleSpentError
from prism.llm import Tape, TapeMissError
from tests.standin import Latency, ModelServer, ServerSettings
from tests.wire.support import config, run

ASKS_TO_THE_END: dict[str, dict[str, Any]] = {
    "simulation": {"rounds": 1, "ticks_per_round": 24},
    "population": {"posts_per_session": 0.8},
    "feed": {"size": 5},
}


SHORT: dict[str, dict[str, Any]] = {"simulation": {"rounds": 1}, "population": {"posts_per_session": 0.8}}


@pytest.mark.slow
async def test_a_replay_does_not_miss_what_the_recorded_run_did_not_wait_for(tmp_path: Path) -> None:
    with ModelServer(ServerSettings(latency=Latency(mean_s=0.05))) as server:
        recorded = await run(config(server.url, **ASKS_TO_THE_END, oracle={"tape": "record"}), tmp_path)
    tape = {"tape": "replay", "tape_path": str(tmp_path / "tape.sqlite")}
    slowly = config(server.url, **ASKS_TO_THE_END, oracle=tape, run={"tick_s": 0.02})
    replayed = await run(slowly, tmp_path)
    assert replayed.digest == recorded.digest


CHECKS = 3
"""Questions by which a start finds out whether the server can be asked."""


def on_tape(tape: Path, mode: str, **limits: Any) -> dict[str, dict[str, Any]]:
    """The sections of three rounds that are recorded on this tape, or replayed from it."""
    return {"simulation": {"rounds": 3}, "oracle": {"tape": mode, "tape_path": str(tape), **limits}}


def answers_on(tape: Path) -> int:
    with closing(Tape(tape, "replay")) as opened:
        return opened.statistics().answers


async def expect_a_miss(host: str, tape: Path) -> None:
    """A replay goes as far as the tape does, and then says that the tape may have ended and how to go on."""
    with pytest.raises(BaseExceptionGroup) as caught:
        await run(config(host, **on_tape(tape, "replay")), tape.parent)
    miss = first_error(caught.value, TapeMissError)
    assert miss is not None
    assert "; its recording was stopped before this, or the configuration, the seed" in str(miss)
    assert str(miss).endswith(": oracle.tape=record with this oracle.tape_path asks what is missing and adds it")


async def expect_it_goes_on(server: ModelServer, tape: Path) -> None:
    """Recorded again, the tape asks what it has not and nothing else, and is then as if it had never been stopped."""
    kept, before = answers_on(tape), len(server.calls)
    summary = await run(config(server.url, **on_tape(tape, "record")), tape.parent)
    assert kept > 0
    assert len(server.calls) - before - CHECKS == summary.oracle_questions - kept > 0
    whole = await run(config(server.url, **on_tape(tape.with_name("whole.sqlite"), "record")), tape.parent)
    replayed = await run(config(server.url, **on_tape(tape, "replay")), tape.parent)
    assert summary.digest == whole.digest == replayed.digest


@pytest.mark.slow
async def test_the_tape_of_a_run_that_was_stopped_by_its_cap_goes_on_without_the_cap(tmp_path: Path) -> None:
    tape = tmp_path / "tape.sqlite"
    with ModelServer() as server:
        for _ in range(2):  # recorded answers count towards the cap as well
            try:
                await run(config(server.url, **on_tape(tape, "record", max_calls=40, when_spent="stop")), tmp_path)
            except* OracleSpentError:
                pass  # the tick under way could not end without an answer
            assert answers_on(tape) == 40
        await expect_a_miss(server.url, tape)
        await expect_it_goes_on(server, tape)
