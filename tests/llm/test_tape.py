"""The tape: its records and keys, what a kill leaves of it, what is no tape, and the answers of a taped model."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any, Literal

import anyio
import msgspec
import pytest

from prism.errors import OracleUnavailableError
from prism.llm import (
    ChatRequest,
    Completion,
    Distribution,
    Identity,
    LanguageModel,
    LLMFailureException,
    OllamaChatClient,
    OpenAICompatClient,
    Tape,
    TapedModel,
    TapeError,
    TapeMissError,
)
from prism.llm.tape import FORMAT, Failed, RecordedFallback, key_of
from tests.blocking import nothing_blocks
from tests.catalogue import catalogue
from tests.llm.support import CHOICE, asking, config_for, failing, serving
from tests.standin import Fault, FaultPlan, Latency, ModelServer, ServerSettings, SystemOne


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a tape that does not exist yet."""
    return tmp_path / "run.tape"


NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
ENDLESS = f"{NUMBERS} SELECT i AS key FROM n"
STRANGE = (
    f"DROP TABLE answers; CREATE VIEW answers AS {ENDLESS}",
    f"CREATE VIEW more AS {ENDLESS}",
    f"CREATE TRIGGER more BEFORE INSERT ON answers BEGIN DELETE FROM answers WHERE key IN ({ENDLESS}); END",
    "ALTER TABLE answers ADD COLUMN more AS (hex(zeroblob(100000000)))",
    "DROP TABLE answers; CREATE VIRTUAL TABLE answers USING fts5(key, asked_by, answer)",
)


def database(script: str, *, is_tape: bool = True) -> Callable[[Path], None]:
    """Return what makes a database by a script, by default out of a tape."""

    def make(path: Path) -> None:
        if is_tape:
            Tape(path, "record").close()
        with closing(sqlite3.connect(path)) as file:
            file.executescript(script)

    return make


NO_FILE, ABSENT = "is no regular file, and a tape is one", "there is no such tape; record it first"
TEXT, OTHER = "is no tape, or a damaged one: file is not a database", "is no tape; PRISM would not write into it"
NEWER = "is a tape of format 2; this version of PRISM reads 1"
MORE = "is no tape: it has something other than the table of answers"
OTHERS: list[tuple[Callable[[Path], object], str, str]] = [
    (lambda path: path.write_text("This is no tape, and longer than the header of a database. " * 20), TEXT, TEXT),
    (database("CREATE TABLE answers (x)", is_tape=False), OTHER, OTHER),
    (database(f"PRAGMA user_version = {FORMAT + 1}"), NEWER, NEWER),
    (os.mkfifo, NO_FILE, ABSENT),  # and it is not waited for
    (Path.mkdir, NO_FILE, ABSENT),
    (Path.touch, "", OTHER),
    (lambda _: None, "", ABSENT),
    *((database(each), MORE, MORE) for each in STRANGE),
]
"""`(what makes the file, why it is not recorded on, why it is not replayed)`; an empty text if it is."""


@pytest.mark.parametrize("mode", ["record", "replay"])
def test_what_is_no_tape_is_refused_before_it_is_read_and_left_alone(
    tmp_path: Path, mode: Literal["record", "replay"]
) -> None:
    for number, (make, recorded, replayed) in enumerate(OTHERS):
        path = tmp_path / f"{number}.tape"
        make(path)
        before = path.read_bytes() if path.is_file() else b""
        if problem := recorded if mode == "record" else replayed:
            with pytest.raises(TapeError) as caught:
                Tape(path, mode)
            assert str(caught.value) == f"{path}: {problem}"
            assert before == (path.read_bytes() if path.is_file() else b"")
        else:
            Tape(path, mode).close()
    with pytest.raises(TapeError, match=r"its directory does not exist; make it first$"):
        Tape(tmp_path / "none" / "deeper", "record")


def test_a_tape_without_a_recording_cannot_be_replayed(path: Path) -> None:
    Tape(path, "record").close()
    with pytest.raises(TapeError, match="nothing was recorded on it"):
        TapedModel(None, Tape(path, "replay"), "replay")


def test_a_damaged_tape_is_one_line(path: Path) -> None:
    tape = Tape(path, "record")
    for number in range(200):
        tape.write(b"%d" % number, RecordedFallback("fallback", "timeout" * 20), "agent 1 in tick 2")
    tape.close()
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
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


def test_the_first_answer_under_a_key_stays(path: Path) -> None:
    tape = Tape(path, "record")
    first = Failed.of(LLMFailureException("timeout", 1, "ollama", None, "slow", 2.0))
    second = Distribution(probabilities={"a": 1.0}, model="m", prompt_tokens=1, completion_tokens=1, latency_s=0.1)
    assert [tape.write(b"k", answer, "") for answer in (first, second)] == [first, first]
    assert tape.statistics().total() == 1
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
    assert tape.statistics() == {"completion": 1, "failed": 1, "not_offered": 1, "forgone": 1}
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
    for mode in ("look", "replay"):
        with closing(Tape(path, mode)) as reader, pytest.raises(TapeError, match="a readonly database"):
            reader.write(b"three", failure, "")
    between = path.read_bytes()
    look.close()
    assert path.read_bytes() == between == before[path.name], "the log is not merged at its end"
    tape.close()


def test_a_look_waits_while_another_process_begins_and_ends_to_record(path: Path) -> None:
    Tape(path, "record").close()
    script = """
import sys
from pathlib import Path
from prism.llm import Tape
from prism.llm.tape import RecordedFallback
for number in range(80):
    tape = Tape(Path(sys.argv[1]), "record")
    tape.write(b"%d" % number, RecordedFallback("fallback", "timeout"), "agent 1 in tick 2")
    tape.close()
"""
    with subprocess.Popen([sys.executable, "-c", script, str(path)]) as recorder:
        while recorder.poll() is None:
            Tape(path, "look").close()
    assert recorder.returncode == 0


def test_a_tape_whose_recording_ended_during_a_look_can_be_looked_at(path: Path) -> None:
    database("PRAGMA journal_mode = WAL")(path)  # the end of a recording cannot undo this while a look is open
    before = path.read_bytes()
    with closing(Tape(path, "look")) as look:
        assert not look.statistics()
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def ask_all(model: LanguageModel) -> list[object]:
    """Chats, choices and failures, in an order of their own."""
    said: list[object] = []
    for number in range(12):
        try:
            said.append(await model.complete(asking(f"Question {number}", sample=number)))
            said.append(await model.choose(msgspec.structs.replace(CHOICE, state=f"State {number}")))
        except LLMFailureException as error:
            said.append((str(error), error.reason, error.status_code, error.attempts, error.latency_s))
    return said


async def test_a_replay_is_identical_and_asks_nobody(path: Path) -> None:
    faults = FaultPlan(at={3: Fault.BUSY, 6: Fault.EMPTY, 9: Fault.RESET})
    async with serving("ollama", ServerSettings(live=True)) as (server, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        health = await taped.check()
        server.settings = ServerSettings(live=True, faults=FaultPlan(at={n + 3: f for n, f in faults.at.items()}))
        recorded = await ask_all(taped)
        await taped.aclose()
    reasons = [said[1] for said in recorded if isinstance(said, tuple)]
    assert sorted(reasons) == ["connection_error", "overloaded", "refused"]
    replay = TapedModel(None, Tape(path, "replay"), "replay")
    assert await ask_all(replay) == recorded
    assert msgspec.structs.replace(await replay.check(), note=health.note) == health
    assert replay.identity == model.identity
    await replay.aclose()
    # With the adapter at hand, its server long stopped: the same.
    replay = TapedModel(OllamaChatClient(config_for(server), {}), Tape(path, "replay"), "replay")
    assert await ask_all(replay) == recorded
    await replay.aclose()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_equal_questions_under_way_at_once_get_the_one_answer_on_the_tape(path: Path) -> None:
    said: list[Completion] = []
    async with serving("ollama", ServerSettings(live=True, slots=8, latency=Latency(mean_s=0.02))) as (server, model):
        taped = TapedModel(model, Tape(path, "record"), "record")

        async def ask() -> None:
            said.append(await taped.complete(asking()))

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(ask)
        assert server.statistics().calls == 8
        await taped.aclose()
    assert said == [said[0]] * 8


async def test_the_event_loop_is_never_blocked_by_the_disk(path: Path) -> None:
    async with serving("ollama") as (_, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        with nothing_blocks("prism.llm"):
            await ask_all(taped)
        await taped.aclose()
    replay = TapedModel(None, Tape(path, "replay"), "replay")
    with nothing_blocks("prism.llm"):
        await ask_all(replay)
    await replay.aclose()


OLLAMA = Identity(backend="ollama", model="llama3.2", dialect="ollama", options={"temperature": 0.7})


async def test_a_miss_names_who_asked_what_and_the_settings_that_differ_or_else_both_causes(path: Path) -> None:
    async with serving("ollama") as (server, model):
        taped = TapedModel(model, Tape(path, "record"), "record")
        await taped.complete(asking())
        await taped.aclose()
        other = OllamaChatClient(config_for(server, temperature=0.1, model="qwen3"), {})
    differences = "llm.model llama3.2, not qwen3", "llm.temperature 0.7, not 0.1"
    cause = "its recording was stopped before this, or the configuration, the seed or the version is another than the "
    cases: tuple[tuple[str, LanguageModel | None, tuple[str, ...], str], ...] = (
        ("agent 12 in tick 340", None, (), f"{cause}recorded"),
        ("", other, differences, f"it was recorded with {' and '.join(differences)}"),
    )
    for asked_by, asked, differs, why in cases:
        async with aclosing(TapedModel(asked, Tape(path, "replay"), "replay")) as replay:
            with pytest.raises(TapeMissError) as caught:
                await replay.complete(asking("x" * 300, asked_by=asked_by))
        assert isinstance(caught.value, OracleUnavailableError)
        assert caught.value.differences == differs
        who = f" from {asked_by}" if asked_by else ""
        assert str(caught.value) == (
            f"{path}: no answer to the question{who}: '{'x' * 200}'; {why}: oracle.tape=record with "
            "the original oracle.tape_path asks what is missing and adds it"
        )


async def test_a_recording_that_goes_on_with_another_way_asks_again(path: Path) -> None:
    async with ModelServer() as server:
        config = config_for(server)
        for quirks in ((), (), ("no_schema",)):
            server.settings = ServerSettings(quirks=quirks)
            taped = TapedModel(OpenAICompatClient(config, {}), Tape(path, "record"), "record")
            is_new = bool(quirks) or not server.calls
            await taped.check()
            asked = len(server.calls)
            await taped.complete(asking())
            await taped.aclose()
            assert len(server.calls) == asked + is_new


def changed(**fields: Any) -> tuple[ChatRequest, Identity]:
    return asking(**fields), OLLAMA


@catalogue(
    ("request_", "identity"),
    [
        changed(text="other"),
        changed(seed=1),
        changed(sample=1),
        changed(max_tokens=9),
        (msgspec.structs.replace(asking(), schema=None), OLLAMA),
        (msgspec.structs.replace(asking(), messages=(*asking().messages, *asking().messages)), OLLAMA),
        (asking(), msgspec.structs.replace(OLLAMA, model="qwen3")),
        (asking(), msgspec.structs.replace(OLLAMA, dialect="none")),
        (asking(), msgspec.structs.replace(OLLAMA, options={"temperature": 0.8})),
        (asking(), msgspec.structs.replace(OLLAMA, extra_body='{"top_k": 3}')),
    ],
)
def test_whatever_changes_the_answer_changes_the_key(request_: ChatRequest, identity: Identity) -> None:
    assert key_of(request_, identity) != key_of(asking(), OLLAMA)


def test_who_asks_is_no_part_of_the_key() -> None:
    assert key_of(asking(asked_by="x"), OLLAMA) == key_of(asking(), OLLAMA)
    assert key_of(asking(), msgspec.structs.replace(OLLAMA, backend="other")) == key_of(asking(), OLLAMA)


def test_keys_are_the_same_in_every_version() -> None:
    assert FORMAT == 1
    assert key_of(asking(), OLLAMA).hex() == "179aee0ba47a5e31937e09240c4f3b1f"
    assert key_of(asking(), OLLAMA) != key_of(CHOICE, OLLAMA)
