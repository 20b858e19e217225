"""The tape of a run: the answers of its language model, and what was decided without them.

The answer returned is always the one on the tape. So a run that records and a run that replays see the same answers,
even if two equal questions were under way at once and the model answered them differently, or failed once.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import anyio
import msgspec
from anyio import to_thread
from msgspec.structs import replace

from prism.errors import OracleUnavailableError
from prism.llm.failure import LLMFailureException, Reason, Usage
from prism.llm.port import (
    ChatRequest,
    ChoiceRequest,
    Completion,
    Distribution,
    Health,
    Identity,
    LanguageModel,
    Message,
    Undecided,
)

FORMAT = 1
"""The version of the table, the records and the keys. Raise it when the meaning of any of them changes."""

HEADER_KEY = b"head"
"""The key of the record on the model that has answered a run."""

_APPLICATION = 0x50525354  # "PRST", in the file's header: tells a tape from any other SQLite file

_TABLE = "answers (key BLOB PRIMARY KEY, asked_by TEXT NOT NULL, answer BLOB NOT NULL) WITHOUT ROWID"

TRIES: Final = 100
PAUSE_S: Final = 0.02
_PASSING: Final = ("SQLITE_CANTOPEN", "SQLITE_READONLY_RECOVERY", "SQLITE_READONLY_CANTINIT")
"""What a look meets while the process that records begins or ends: its log is there, and the index of it is not yet."""

T = TypeVar("T")


class TapeError(OracleUnavailableError):
    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path}: {problem}")


def check_place(path: Path) -> None:
    """Refuse a place without a directory, where no tape can be made. Raises: TapeError."""
    if not path.parent.is_dir():
        raise TapeError(path, "its directory does not exist; make it first")


class TapeFile:
    """A tape. Every method may be called from any thread; each blocks, for a disk write at most.

    It is an SQLite database in write-ahead mode with one table. A kill -9 loses no answer; a closed tape is a single
    file, which may be larger than the memory. A tape may come from anybody: a view or a trigger in its place is
    refused, which could keep a query busy for ever.

    Args:
        mode: `record` to read and write, and to make the file; `replay` to read; `look` to read without a change to any
            file beside it: the run that records it may be going on, or may have been killed.

    Raises:
        TapeError: the file does not exist, is not a tape, or comes from a newer version.
    """

    _forgets = ""
    """What is removed from a tape before it is recorded on."""

    def __init__(self, path: Path, mode: Literal["record", "replay", "look"]) -> None:
        self.path = path
        self.mode = mode
        self._lock = threading.Lock()
        if mode != "record" and not path.is_file():
            raise TapeError(path, "there is no such tape; record it first")
        if mode == "record":
            check_place(path)
            if path.exists() and not path.is_file():
                raise TapeError(path, "is no regular file, and a tape is one")
        # Without write access to the index of the write-ahead log nothing is recovered, and nothing is merged at the
        # end. SQLite keeps an index of its own in memory where there is a log that nobody has open.
        address = f"{path.absolute().as_uri()}?mode=ro&readonly_shm=1" if mode == "look" else str(path)
        for tries_left in reversed(range(TRIES if mode == "look" else 1)):
            try:
                ended = mode == "look" and not Path(f"{path}-wal").exists() and self._asks_for_a_log()
                self._file = sqlite3.connect(
                    address + "&immutable=1" * ended,
                    uri=mode == "look",
                    timeout=10.0,
                    isolation_level=None,
                    check_same_thread=False,
                )
            except (sqlite3.Error, OSError) as error:
                raise TapeError(path, f"cannot be opened: {error}") from error
            try:
                with self._statement("is no tape, or a damaged one"):
                    self._open()
                break
            except BaseException as error:
                self._file.close()
                if not tries_left or getattr(error.__cause__, "sqlite_errorname", "") not in _PASSING:
                    raise
                time.sleep(PAUSE_S)

    def close(self) -> None:
        """Close the file; a recorded one becomes a single file that can be copied and read from a read-only disk."""
        with self._lock:
            if self.mode == "record":
                with suppress(sqlite3.Error):  # another process still has it open, or it is closed already
                    self._file.execute("PRAGMA journal_mode = DELETE")
            self._file.close()

    def _asks_for_a_log(self) -> bool:
        """Return whether the header says write-ahead mode: the end of a recording leaves it so during a look.

        Not while this process has the tape open with its log: closing a file ends all of a process's locks on it.
        """
        with self.path.open("rb") as file:
            return file.read(20)[18:] == b"\2\2"

    def _open(self) -> None:
        # Read before the first write: a file that is not a tape must stay unchanged.
        application, version, pages = (
            self._file.execute(f"PRAGMA {each}").fetchone()[0]
            for each in ("application_id", "user_version", "page_count")
        )
        if application != _APPLICATION and not (pages == 0 and self.mode == "record"):
            raise TapeError(self.path, "is no tape; PRISM would not write into it")
        if pages:
            if version != FORMAT:
                raise TapeError(self.path, f"is a tape of format {version}; this version of PRISM reads {FORMAT}")
            found = self._file.execute("SELECT type, sql FROM sqlite_master LIMIT 2").fetchall()
            if found != [("table", f"CREATE TABLE {_TABLE}")]:
                raise TapeError(self.path, "is no tape: it has something other than the table of answers")
        if self.mode != "record":
            self._file.execute("PRAGMA query_only = ON")
            return
        for statement in (
            "BEGIN IMMEDIATE",
            f"PRAGMA application_id = {_APPLICATION}",
            f"PRAGMA user_version = {FORMAT}",
            f"CREATE TABLE IF NOT EXISTS {_TABLE}",
            self._forgets,
            "COMMIT",
            # Only now: the first page of a write-ahead log is no part of the transaction that makes the file a tape.
            # NORMAL: a commit survives the end of the process at once, and a power cut after the log's next checkpoint.
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = NORMAL",
        ):
            self._file.execute(statement)

    def _row(self, key: bytes) -> bytes | None:
        rows = self._execute("SELECT answer FROM answers WHERE key = ?", key)
        return rows[0][0] if rows else None

    def _execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock, self._statement("cannot be read or written"):
            return self._file.execute(statement, values).fetchall()

    @contextmanager
    def _statement(self, problem: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise TapeError(self.path, f"{problem}: {error}") from error

    def _decode(self, row: bytes, decoder: msgspec.json.Decoder[T]) -> T:
        try:
            return decoder.decode(row)
        except (msgspec.MsgspecError, RecursionError, TypeError, UnicodeDecodeError) as error:
            raise TapeError(self.path, f"is damaged: {error}") from error


PROMPT_CHARS: Final = 200
ENDS_OR_DIFFERS: Final = (
    "its recording was stopped before this, or the configuration, the seed or the version is another than the recorded"
)
REMEDY: Final = "oracle.tape=record with the original oracle.tape_path asks what is missing and adds it"

WRONG_KIND: Final = "is damaged: an answer stands under the key of another kind of question"

Request = ChatRequest | ChoiceRequest


class NotOffered(msgspec.Struct, frozen=True, tag="not_offered"):
    """The record that the model offers no probabilities for this question."""


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    reason: Reason
    attempts: int
    component: str
    status_code: int | None
    detail: str
    latency_s: float
    retry_after_s: float = 0.0
    usage: Usage = Usage()
    advice: str = ""

    @classmethod
    def of(cls, error: LLMFailureException) -> Failed:
        return cls(**{name: getattr(error, name) for name in cls.__struct_fields__})

    def error(self) -> LLMFailureException:
        return LLMFailureException(**msgspec.structs.asdict(self))


class RecordedFallback(msgspec.Struct, frozen=True, tag="forgone"):
    """The record that a question was decided without the model: it was too late, or the model could not be asked."""

    source: str
    reason: str


Answer = Completion | Distribution | Undecided | NotOffered | Failed | RecordedFallback


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The model that answered: its identity and health. The keys of a replay are made from it."""

    identity: Identity
    health: Health

    def differences(self, asked: Identity) -> tuple[str, ...]:
        """Return the settings in which a question asked now differs from the recorded ones, as "llm.model a, not b".

        Dialect and method are not among them: a replay uses the recorded ones.
        """
        was = self.identity
        pairs: list[tuple[str, object, object]] = [
            ("oracle.backend", was.backend, asked.backend),
            ("llm.model", was.model, asked.model),
        ]
        shared = sorted(was.options.keys() & asked.options.keys())
        pairs += [(f"llm.{name}", f"{was.options[name]:.10g}", f"{asked.options[name]:.10g}") for name in shared]
        pairs.append(("llm.request.extra_body", was.extra_body or "{}", asked.extra_body or "{}"))
        return tuple(f"{key} {recorded}, not {now}" for key, recorded, now in pairs if recorded != now)


class TapeMissError(TapeError):
    """A question in a replay that was never recorded: its first 200 characters are shown."""

    def __init__(self, path: Path, asked_by: str, prompt: str, differences: Sequence[str] = ()) -> None:
        self.asked_by, self.prompt, self.differences = asked_by, prompt, tuple(differences)
        who = f" from {asked_by}" if asked_by else ""
        # A tape cannot distinguish the two other causes: it does not know the next question of the recorded run.
        cause = f"it was recorded with {' and '.join(differences)}" if differences else ENDS_OR_DIFFERS
        super().__init__(path, f"no answer to the question{who}: {prompt[:PROMPT_CHARS]!r}; {cause}: {REMEDY}")


_answers: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)
_headers = msgspec.json.Decoder(Header)


class Tape(TapeFile):
    """The answers of a run's model by key. Each method raises a `TapeError` if the file cannot be read or written."""

    # Fallbacks belong to the run that took them. This run may get an answer where that one did not wait.
    _forgets = "DELETE FROM answers WHERE json_extract(CAST(answer AS TEXT), '$.type') = 'forgone'"

    def read(self, key: bytes) -> Answer | None:
        row = self._row(key)
        return None if row is None else self._decode(row, _answers)

    def write(self, key: bytes, answer: Answer, asked_by: str) -> Answer:
        """Return the answer that is on the tape now: the given one, unless the key already had an answer."""
        self._execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", key, asked_by, msgspec.json.encode(answer))
        return self.read(key) or answer

    def forget(self, asked_by: str, answers: bool) -> None:  # `to_thread.run_sync` passes no names
        """Remove the failed calls of this asker from the tape, and with `answers` the texts, too."""
        statement = (
            "DELETE FROM answers WHERE asked_by = ? AND json_extract(CAST(answer AS TEXT), '$.type') IN ('failed', ?)"
        )
        self._execute(statement, asked_by, "completion" if answers else "failed")

    def statistics(self) -> Counter[str]:
        """Return the number of records by kind: `completion`, `distribution`, `failed`, `forgone` for fallbacks, ..."""
        kinds = "SELECT json_extract(CAST(answer AS TEXT), '$.type'), count(*) FROM answers WHERE key != ? GROUP BY 1"
        return Counter(dict(self._execute(kinds, HEADER_KEY)))

    def header(self) -> Header | None:
        """Return the header; None on a tape on which nothing was recorded."""
        row = self._row(HEADER_KEY)
        return None if row is None else self._decode(row, _headers)

    def required_header(self) -> Header:
        header = self.header()
        if header is None:
            raise TapeError(self.path, "nothing was recorded on it; record it again")
        return header

    def write_header(self, header: Header) -> None:
        self._execute("INSERT OR REPLACE INTO answers VALUES (?, '', ?)", HEADER_KEY, msgspec.json.encode(header))


class TapedModel:
    """A language model whose answers, failures included, are on a tape.

    Args:
        model: the model that is asked. A replay asks none: there it may be None, and the header names the model; or an
            adapter, so that a question asked with other settings than the recorded ones is a miss.
        mode: `record` answers from the tape if it can, and records the other answers; `replay` asks for none.
    """

    def __init__(self, model: LanguageModel | None, tape: Tape, mode: Literal["record", "replay"]) -> None:
        self.model, self.mode = model, mode
        self._tape = tape
        # One thread: SQLite runs one statement at a time, so more threads would only wait for each other.
        self._thread = anyio.CapacityLimiter(1)
        if model is None:
            if mode == "record":
                raise ValueError("mode record needs a model")
        elif mode == "record" and tape.header() is None:  # without one, an unchecked model would leave an unnamed tape
            name = model.identity
            health = Health(backend=name.backend, model=name.model, dialect=name.dialect, note="not checked")
            tape.write_header(Header(identity=name, health=health))
        try:
            self._header = tape.required_header()
        except TapeError:
            tape.close()  # the caller gets no object that it could close
            raise

    @property
    def name(self) -> str:
        return f"tape {self._tape.path}" if self.model is None else f"{self.model.name} ({self.mode})"

    @property
    def identity(self) -> Identity:
        """The model's identity; in a replay, with the dialect and the method that the tape was recorded with."""
        recorded = self._header.identity
        asked = recorded if self.model is None else self.model.identity
        if self.mode == "record" or recorded.backend != asked.backend:
            return asked
        return replace(asked, dialect=recorded.dialect, method=recorded.method)

    async def complete(self, request: ChatRequest) -> Completion:
        answer = await self._answer(request)
        if isinstance(answer, Completion):
            return answer
        raise TapeError(self._tape.path, WRONG_KIND)

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:
        answer = await self._answer(request)
        if isinstance(answer, Distribution | Undecided | NotOffered):
            return None if isinstance(answer, NotOffered) else answer
        raise TapeError(self._tape.path, WRONG_KIND)

    async def _answer(self, request: Request) -> Answer:
        tape, key, model = self._tape, key_of(request, self.identity), self.model
        answer = await to_thread.run_sync(tape.read, key, limiter=self._thread)
        if answer is None:
            if model is None or self.mode == "replay":
                text = request.messages[-1].content if isinstance(request, ChatRequest) else request.state
                differences = () if model is None else self._header.differences(model.identity)
                raise TapeMissError(tape.path, request.asked_by, text, differences)
            outcome: Answer | None
            try:
                outcome = await (model.complete(request) if isinstance(request, ChatRequest) else model.choose(request))
            except LLMFailureException as error:
                outcome = Failed.of(error)
            answer = await self._write(key, outcome or NotOffered(), request.asked_by)
        if isinstance(answer, Failed):
            raise answer.error()
        return answer

    async def _write(self, key: bytes, answer: Answer, asked_by: str) -> Answer:
        """Return the answer on the tape after this write. Shielded: it is kept even if the asker is cancelled."""
        written = answer
        with anyio.CancelScope(shield=True):
            written = await to_thread.run_sync(self._tape.write, key, answer, asked_by, limiter=self._thread)
        return written  # noqa: RET504 - mypy assumes that a scope may end early

    async def record_fallback(self, question: bytes, fallback: RecordedFallback) -> None:
        """Record that a question was decided without the model, so that a replay decides it in the same way."""
        if self.mode == "record":
            await self._write(_fallback_key(question), fallback, "")

    async def recorded_fallback(self, question: bytes) -> RecordedFallback | None:
        """Return the recorded fallback of a question; None if the model was asked."""
        if self.mode != "replay":
            return None
        found = await to_thread.run_sync(self._tape.read, _fallback_key(question), limiter=self._thread)
        return found if isinstance(found, RecordedFallback) else None

    async def forget(self, asked_by: str, *, answers: bool = False) -> None:
        """Remove the failed calls of one asker from a tape that is being recorded, so that they are made again.

        It is for a question that is asked again, now or by a resumed run: nothing followed from its failure. With
        `answers`, the texts that the asker got go too, because they cannot be read.
        """
        if self.mode == "record":
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._tape.forget, asked_by, answers, limiter=self._thread)

    async def check(self) -> Health:
        """Return the model's health; in a replay, the result of the check when the tape was recorded."""
        if self.mode == "replay" or self.model is None:
            return replace(self._header.health, note=f"from the tape; {self._header.health.note}")
        health = await self.model.check()
        self._header = Header(identity=self.model.identity, health=health)
        await to_thread.run_sync(self._tape.write_header, self._header, limiter=self._thread)
        return health

    async def aclose(self) -> None:
        """Close the model's connections and the tape, also if the caller is cancelled: a closed tape is one file."""
        try:
            if self.model is not None:
                await self.model.aclose()
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._tape.close, limiter=self._thread)


def key_of(request: Request, identity: Identity) -> bytes:
    """Return the key of a request's answer: equal requests whose answers have the same distribution have the same key.

    Host, deadlines and the asker are not part of it.
    """
    if isinstance(request, ChatRequest):
        asked: tuple[object, ...] = "chat", _texts(request.messages), request.schema, request.seed, request.max_tokens
    else:  # as pairs: the order of the options is part of the question
        asked = "choice", request.state, request.instructions, list(request.options.items())
        asked += (_texts(request.lettered),) if request.lettered else ()
        asked += (identity.method,) if identity.method else ()
    options = sorted((name, float(value)) for name, value in identity.options.items())
    parts = (FORMAT, identity.dialect, request.model or identity.model, options, asked, request.sample)
    extra: tuple[object, ...] = ([], identity.extra_body) if identity.extra_body else ()
    return blake2b(msgspec.json.encode((*parts, *extra)), digest_size=16).digest()


def _texts(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages]


def _fallback_key(question: bytes) -> bytes:
    return blake2b(question, digest_size=16, person=b"forgone").digest()
