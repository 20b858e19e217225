"""A language model with a tape: its answers are recorded, or read from the record.

The answer returned is always the one on the tape. So a run that records and a run that replays see the same answers,
even if two equal questions were under way at once and the model answered them differently, or failed once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from typing import Literal

import anyio
import msgspec
from anyio import to_thread

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
from prism.llm.tape import (
    UNCHECKED,
    Answer,
    Failed,
    Header,
    NotOffered,
    RecordedFallback,
    Tape,
    TapeMissError,
    outcome_of,
)
from prism.llm.tape_file import FORMAT, TapeError

Mode = Literal["record", "replay", "off"]
_Request = ChatRequest | ChoiceRequest


def key_of(request: _Request, identity: Identity) -> bytes:
    """Return the key of a request's answer: equal requests whose answers have the same distribution have the same key.

    Host, deadlines and the asker are not part of it.
    """
    match request:
        case ChatRequest():
            asked: tuple[object, ...] = (
                "chat",
                _texts(request.messages),
                request.schema,
                request.seed,
                request.max_tokens,
            )
        case ChoiceRequest():
            # As pairs: the order of the options is part of the question.
            asked = ("choice", request.state, request.instructions, list(request.options.items()))
            asked += (_texts(request.lettered),) if request.lettered else ()
            if identity.method:
                asked += (identity.method,)
    options = sorted((name, float(value)) for name, value in identity.options.items())
    parts: tuple[object, ...] = (
        FORMAT,
        identity.dialect,
        request.model or identity.model,
        options,
        asked,
        request.sample,
    )
    if identity.extra_body:
        parts = (*parts, [], identity.extra_body)
    return blake2b(msgspec.json.encode(parts), digest_size=16).digest()


def _texts(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages]


class TapedModel:
    """A language model whose answers, failures included, are on a tape.

    Args:
        model: the model that is asked. A replay asks no model: there it may be None, and the tape's header names the
            model; or an adapter, so that a question asked with other settings than the recorded ones is a miss.
        tape: the tape; None only if `mode` is off.
        mode: `record` answers from the tape if it can, asks for the other answers and records them; `replay` answers
            from the tape only; `off` always asks.
    """

    def __init__(self, model: LanguageModel | None, tape: Tape | None, mode: Mode) -> None:
        if (model is None and mode != "replay") or (tape is None and mode != "off"):
            raise ValueError(f"mode {mode} needs {'a model' if model is None else 'a tape'}")
        self.model = model
        self._tape = tape
        self.mode: Mode = mode
        try:
            self._header = None if tape is None else _header(tape, model, mode)
        except TapeError:
            if tape is not None:
                tape.close()  # the caller gets no object that it could close
            raise
        # One thread: SQLite runs one statement at a time, so more threads would only wait for each other.
        self._thread = anyio.CapacityLimiter(1)

    @property
    def name(self) -> str:
        if self.model is None:
            return f"tape {self._required_tape.path}"
        return self.model.name if self.mode == "off" else f"{self.model.name} ({self.mode})"

    @property
    def identity(self) -> Identity:
        """The model's identity, with the dialect and the method that the tape was recorded with."""
        recorded = self._header.identity if self._header is not None and self.mode == "replay" else None
        asked = recorded if self.model is None else self.model.identity
        if asked is None:
            raise AssertionError("only a replay has no model, and it has a header")
        if recorded is None or recorded.backend != asked.backend:
            return asked
        return msgspec.structs.replace(asked, dialect=recorded.dialect, method=recorded.method)

    @property
    def _required_model(self) -> LanguageModel:
        if self.model is None:
            raise AssertionError("a replay asks no model")
        return self.model

    @property
    def _required_tape(self) -> Tape:
        if self._tape is None:
            raise AssertionError("only `off` has no tape")
        return self._tape

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the answer on the tape; ask for it first if it is missing and the mode allows it."""
        if self.mode == "off":
            return await self._required_model.complete(request)
        answer = await self._answer(request, lambda: self._required_model.complete(request))
        if not isinstance(answer, Completion):
            raise self._wrong_kind()
        return answer

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:
        """Return the answer on the tape; ask for it first if it is missing and the mode allows it."""
        if self.mode == "off":
            return await self._required_model.choose(request)
        answer = await self._answer(request, lambda: self._required_model.choose(request))
        if isinstance(answer, NotOffered):
            return None
        if not isinstance(answer, Distribution | Undecided):
            raise self._wrong_kind()
        return answer

    async def _answer(
        self, request: _Request, ask: Callable[[], Awaitable[Completion | Distribution | Undecided | None]]
    ) -> Completion | Distribution | Undecided | NotOffered | RecordedFallback:
        tape, key = self._required_tape, key_of(request, self.identity)
        answer = await to_thread.run_sync(tape.read, key, limiter=self._thread)
        if answer is None:
            if self.mode == "replay":
                raise TapeMissError(tape.path, request.asked_by, _question_text(request), self._differences())
            answer = await self._write(key, await outcome_of(ask()), request.asked_by)
        if isinstance(answer, Failed):
            raise answer.error()
        return answer

    def _differences(self) -> tuple[str, ...]:
        """Return the settings in which the given model differs from the recorded one."""
        return () if self._header is None or self.model is None else self._header.differences(self.model.identity)

    async def _write(self, key: bytes, answer: Answer, asked_by: str) -> Answer:
        """Return the answer on the tape after this write.

        Shielded: an answer is kept even if the asker is cancelled.
        """
        written = answer
        with anyio.CancelScope(shield=True):
            written = await to_thread.run_sync(self._required_tape.write, key, answer, asked_by, limiter=self._thread)
        return written  # noqa: RET504 - mypy assumes that a scope may end early

    async def record_fallback(self, question: bytes, fallback: RecordedFallback) -> None:
        """Record that a question was decided without the model, so that a replay decides it in the same way."""
        if self.mode == "record":
            await self._write(_fallback_key(question), fallback, "")

    async def recorded_fallback(self, question: bytes) -> RecordedFallback | None:
        """Return the recorded fallback of a question; None if the model was asked."""
        if self.mode != "replay":
            return None
        found = await to_thread.run_sync(self._required_tape.read, _fallback_key(question), limiter=self._thread)
        return found if isinstance(found, RecordedFallback) else None

    async def forget(self, asked_by: str, *, answers: bool = False) -> None:
        """Remove the failed calls of one asker from a tape that is being recorded, so that they are made again.

        It is for a question that is asked again, now or by a resumed run: nothing followed from its failure.

        Args:
            answers: remove the texts that the asker got, too, because they cannot be read.
        """
        if self.mode == "record":
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._required_tape.forget, asked_by, answers, limiter=self._thread)

    def _wrong_kind(self) -> TapeError:
        return TapeError(
            self._required_tape.path, "is damaged: an answer stands under the key of another kind of question"
        )

    async def check(self) -> Health:
        """Return the model's health; in a replay, the result of the check when the tape was recorded."""
        if self.mode == "replay" and self._header is not None:
            health = self._header.health
            return msgspec.structs.replace(health, note=f"from the tape; {health.note}")
        health = await self._required_model.check()
        if self.mode == "record":
            now, before = self._required_model.identity, self._header
            if before is not None and before.health.note != UNCHECKED:  # else it was only assumed
                health = _noted(health, before.identity, now)
            self._header = Header(identity=now, health=health)
            await to_thread.run_sync(self._required_tape.write_header, self._header, limiter=self._thread)
        return health

    async def aclose(self) -> None:
        """Close the model's connections and the tape."""
        if self.model is not None:
            await self.model.aclose()
        if self._tape is not None:
            await to_thread.run_sync(self._tape.close, limiter=self._thread)


def _noted(health: Health, before: Identity, now: Identity) -> Health:
    """Return the health, with a note if the tape's answers were asked for in another way than those to come."""
    if before.backend != now.backend or before.dialect == now.dialect:
        return health
    way = f"dialect {before.dialect}, not {now.dialect}"
    note = f"the tape has answers asked for otherwise ({way}), which are asked for again"
    return msgspec.structs.replace(health, note=f"{health.note}; {note}" if health.note else note)


def _fallback_key(question: bytes) -> bytes:
    return blake2b(question, digest_size=16, person=b"forgone").digest()


def _header(tape: Tape, model: LanguageModel | None, mode: Mode) -> Header | None:
    """Return the tape's header.

    A recording writes one at once: without it an unchecked model would leave an unnamed tape.

    Raises:
        TapeError: a replay of a tape on which nothing was recorded.
    """
    if mode == "replay":
        return tape.required_header()
    header = tape.header()
    if header is None and mode == "record" and model is not None:
        identity = model.identity
        unchecked = Health(
            backend=identity.backend,
            version="",
            model=identity.model,
            latency_s=0.0,
            dialect=identity.dialect,
            note=UNCHECKED,
        )
        header = Header(identity=identity, health=unchecked)
        tape.write_header(header)
    return header


def _question_text(request: _Request) -> str:
    return request.messages[-1].content if isinstance(request, ChatRequest) else request.state
