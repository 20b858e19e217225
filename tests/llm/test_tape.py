"""The tape as a file: its records, what a kill leaves of it, and files that are not tapes or damaged."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from prism.llm import Distribution, LLMFailureException, Tape, TapedModel, TapeError
from prism.llm.tape import Failed, RecordedFallback, TapeStatistics
from prism.llm.tape_file import FORMAT
from tests.llm.support import CHOICE, asking, failing, serving
from tests.standin import Fault, ModelServer, ServerSettings, SystemOne

RECORDER = """
import sys, anyio
from pathlib import Path
from prism.llm import LLMConfig, OllamaChatClient, Tape, TapedModel
from tests.llm.support import asking

async def main(host, path):
    model = TapedModel(OllamaChatClient(LLMConfig(host=host), {}), Tape(Path(path), "record"), "record")
    async def ask(start):
        for number in range(start, 100_000, 4):
            said = await model.complete(asking(sample=number))
            print(number, said.text, flush=True)
    async with anyio.create_task_group() as tasks:
        for start in range(4):
            tasks.start_soon(ask, start)

anyio.run(main, *sys.argv[1:])
"""


@pytest.mark.slow
def test_a_kill_loses_no_answer_that_was_given(path: Path) -> None:
    with ModelServer(ServerSettings(live=True)) as server:
        process = subprocess.Popen(
            [sys.executable, "-c", RECORDER, server.url, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        seen = [process.stdout.readline() for _ in range(100)]
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
    seen += [line for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    assert all(seen)

    async def replay() -> None:
        model = TapedModel(None, Tape(path, "replay"), "replay")
        for line in seen:
            number, _, text = line.rstrip("\n").partition(" ")
            assert (await model.complete(asking(sample=int(number)))).text == text
        await model.aclose()

    anyio.run(replay)


def written_text(path: Path) -> None:
    path.write_text("This is no tape, and it is longer than the header of a database would be. " * 20)


def other_database(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE answers (x)")
    file.close()


def newer_tape(path: Path) -> None:
    Tape(path, "record").close()
    with sqlite3.connect(path) as file:
        file.execute(f"PRAGMA user_version = {FORMAT + 1}")
    file.close()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (written_text, "is no tape, or a damaged one: file is not a database"),
        (other_database, "is no tape; PRISM would not write into it"),
        (newer_tape, "is a tape of format 2; this version of PRISM reads 1"),
    ],
)
@pytest.mark.parametrize("mode", ["record", "replay"])
def test_another_file_is_refused_and_left_alone(
    path: Path, make: Callable[[Path], None], problem: str, mode: Any
) -> None:
    make(path)
    before = path.read_bytes()
    with pytest.raises(TapeError) as caught:
        Tape(path, mode)
    assert str(caught.value) == f"{path}: {problem}"
    assert path.read_bytes() == before


@pytest.mark.parametrize("mode", ["record", "replay"])
def test_a_pipe_in_place_of_a_tape_is_refused_and_not_waited_for(
    mode: Literal["record", "replay"], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "run.tape")
    with pytest.raises(TapeError, match="is no regular file" if mode == "record" else "there is no such tape"):
        Tape(tmp_path / "run.tape", mode)


def test_a_tape_that_is_not_there_is_one_line(path: Path) -> None:
    with pytest.raises(TapeError, match=r"run\.tape: there is no such tape; record it first$"):
        Tape(path, "replay")
    with pytest.raises(TapeError, match=r"its directory does not exist; make it first$"):
        Tape(path / "deeper", "record")
    path.touch()
    with pytest.raises(TapeError, match="is no tape"):
        Tape(path, "replay")
    path.unlink()
    path.mkdir()
    with pytest.raises(TapeError, match="is no regular file"):
        Tape(path, "record")


def test_a_tape_without_a_recording_cannot_be_replayed(path: Path) -> None:
    Tape(path, "record").close()
    with pytest.raises(TapeError, match="nothing was recorded on it"):
        TapedModel(None, Tape(path, "replay"), "replay")


def overwrite_after_the_first_page(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))


async def test_a_damaged_tape_is_one_line(path: Path) -> None:
    async with serving("ollama") as (_, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        for sample in range(200):
            await taped.complete(asking(sample=sample))
        await taped.aclose()
    overwrite_after_the_first_page(path)
    with pytest.raises(TapeError, match=r"run\.tape: cannot be read or written: database disk image is malformed"):
        TapedModel(None, Tape(path, "replay"), "replay")


def test_an_answer_that_makes_no_sense_is_damage(path: Path) -> None:
    tape = Tape(path, "record")
    with sqlite3.connect(path) as file:
        file.execute("INSERT INTO answers VALUES (x'01', '', '{}')")
    file.close()
    with pytest.raises(TapeError, match=r"run\.tape: is damaged: "):
        tape.read(b"\x01")
    tape.close()


NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
ENDLESS = f"{NUMBERS} SELECT i AS key FROM n"
STRANGE = (
    f"DROP TABLE answers; CREATE VIEW answers AS {ENDLESS}",
    f"CREATE VIEW more AS {ENDLESS}",
    f"CREATE TRIGGER more BEFORE INSERT ON answers BEGIN DELETE FROM answers WHERE key IN ({ENDLESS}); END",
    "ALTER TABLE answers ADD COLUMN more AS (hex(zeroblob(100000000)))",
    "DROP TABLE answers; CREATE VIRTUAL TABLE answers USING fts5(key, asked_by, answer)",
)


@pytest.mark.parametrize("mode", ["record", "replay", "look"])
def test_a_tape_with_anything_but_its_table_is_refused_before_it_is_read(
    tmp_path: Path, mode: Literal["record", "replay", "look"]
) -> None:
    for number, script in enumerate(STRANGE):
        path = tmp_path / f"{number}.sqlite"
        Tape(path, "record").close()
        with closing(sqlite3.connect(path)) as file:
            file.executescript(script)
        before = path.read_bytes()
        with pytest.raises(TapeError, match="something other than the table of answers"):
            Tape(path, mode)
        assert path.read_bytes() == before


def test_the_first_answer_under_a_key_stays(path: Path) -> None:
    tape = Tape(path, "record")
    first = Failed.of(LLMFailureException("timeout", 1, "ollama", None, "slow", 2.0))
    second = Distribution(probabilities={"a": 1.0}, model="m", prompt_tokens=1, completion_tokens=1, latency_s=0.1)
    assert [tape.write(b"k", answer, "") for answer in (first, second)] == [first, first]
    assert len(tape) == 1
    tape.close()
    tape.close()


async def test_a_tape_tells_answers_failures_and_fallbacks_apart(path: Path) -> None:
    async with serving("ollama", failing(Fault.RESET, systemone=SystemOne.OFF)) as (_, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        with pytest.raises(LLMFailureException):
            await taped.complete(asking())
        await taped.complete(asking(sample=1))
        assert await taped.choose(CHOICE) is None
        await taped.record_fallback(b"a question", RecordedFallback("timeout", "deadline"))
        await taped.aclose()
    tape = Tape(path, "replay")
    assert len(tape) == 4
    assert tape.statistics() == TapeStatistics(answers=1, failures=1, fallbacks=1)
    assert tape.required_header().identity == model.identity
    tape.close()


def test_a_look_at_a_tape_that_is_being_recorded_changes_no_file_and_sees_every_answer(path: Path) -> None:
    failure = RecordedFallback("fallback", "timeout")
    tape = Tape(path, "record")
    tape.write(b"one", failure, "agent 1 in tick 2")
    before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    assert f"{path.name}-wal" in before, "its answers are in the write-ahead log so far"
    look = Tape(path, "look")
    assert look.read(b"one") == failure
    tape.write(b"two", failure, "agent 1 in tick 3")
    assert look.read(b"two") == failure
    with pytest.raises(TapeError, match="cannot be read or written"):
        look.write(b"three", failure, "")
    between = path.read_bytes()
    look.close()
    assert path.read_bytes() == between == before[path.name], "the log is not merged at its end"
    tape.close()


def test_a_replay_writes_nothing(path: Path) -> None:
    Tape(path, "record").close()
    before = path.read_bytes()
    tape = Tape(path, "replay")
    with pytest.raises(TapeError, match="attempt to write a readonly database"):
        tape.write(b"k", Failed.of(LLMFailureException("timeout")), "")
    tape.close()
    assert path.read_bytes() == before
