"""A language model on tape: its answers are recorded, or taken from the record.

What is returned is always what is on the tape. So a run that records and a run that replays see the same answers, even
where two equal questions were under way at once and the model answered them differently, or failed once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import blake2b
from typing import Literal

import anyio
import msgspec
from anyio import to_thread

from prism.llm.failure import LLMFailureException
from prism.llm.port import ChatRequest, ChoiceRequest, Completion, Distribution, Health, Identity, LanguageModel
from prism.llm.tape import FORMAT, Answer, Failed, Forgone, Head, NotOffered, Tape, TapeError, TapeMissError

Mode = Literal["record", "replay", "off"]
_Request = ChatRequest | ChoiceRequest


def key_of(request: _Request, identity: Identity) -> bytes:
    """The name of a request's answer on a tape: equal wherever the answer would be drawn from the same distribution.

    Host, deadlines and who asks are no part of it.
    """
    match request:
        case ChatRequest():
            messages = [(message.role, message.content) for message in request.messages]
            asked: tuple[object, ...] = ("chat", messages, request.schema, request.seed, request.max_tokens)
        case ChoiceRequest():
            # As pairs: the order of the options is part of the question.
            asked = ("choice", request.state, request.instructions, list(request.options.items()))
    options = sorted((name, float(value)) for name, value in identity.options.items())
    parts = (FORMAT, identity.dialect, identity.model, options, asked, request.sample)
    return blake2b(msgspec.json.encode(parts), digest_size=16).digest()


class TapedModel:
    """A language model whose answers, failures included, are on a tape.

    Args:
        model: who is asked. A replay asks nobody: there it may be None, and the tape says who answered; or an adapter,
            so that a question asked with other settings than the recorded ones is a miss.
        tape: where the answers are; None only if `mode` is off.
        mode: `record` answers from the tape what it has, asks the rest and writes it down; `replay` answers from the
            tape alone; `off` asks.
    """

    def __init__(self, model: LanguageModel | None, tape: Tape | None, mode: Mode) -> None:
        if (model is None and mode != "replay") or (tape is None and mode != "off"):
            raise ValueError(f"mode {mode} needs {'a model' if model is None else 'a tape'}")
        self.model = model
        self._tape = tape
        self.mode: Mode = mode
        try:
            self._head = None if tape is None else _head(tape, model, mode)
        except TapeError:
            if tape is not None:
                tape.close()  # it is ours from here on, and nobody will get to close us
            raise
        # One thread: SQLite runs one statement at a time, and more of them would only wait for each other.
        self._thread = anyio.CapacityLimiter(1)

    @property
    def name(self) -> str:
        """What it is, for people."""
        if self.model is None:
            return f"tape {self._where.path}"
        return self.model.name if self.mode == "off" else f"{self.model.name} ({self.mode})"

    @property
    def identity(self) -> Identity:
        """Whose answers these are: the model's, in the dialect the tape was recorded in."""
        recorded = self._head.identity if self._head is not None and self.mode == "replay" else None
        asked = recorded if self.model is None else self.model.identity
        if asked is None:
            raise AssertionError("only a replay has no model, and it has a head")
        if recorded is None or recorded.backend != asked.backend:
            return asked
        return msgspec.structs.replace(asked, dialect=recorded.dialect)

    @property
    def _who(self) -> LanguageModel:
        if self.model is None:
            raise AssertionError("a replay asks nobody")
        return self.model

    @property
    def _where(self) -> Tape:
        if self._tape is None:
            raise AssertionError("only `off` has no tape")
        return self._tape

    async def complete(self, request: ChatRequest) -> Completion:
        """The answer on the tape, asked for before if need be and allowed."""
        if self.mode == "off":
            return await self._who.complete(request)
        answer = await self._answer(request, lambda: self._who.complete(request))
        if not isinstance(answer, Completion):
            raise self._misplaced()
        return answer

    async def choose(self, request: ChoiceRequest) -> Distribution | None:
        """The answer on the tape, asked for before if need be and allowed."""
        if self.mode == "off":
            return await self._who.choose(request)
        answer = await self._answer(request, lambda: self._who.choose(request))
        if isinstance(answer, NotOffered):
            return None
        if not isinstance(answer, Distribution):
            raise self._misplaced()
        return answer

    async def _answer(
        self, request: _Request, ask: Callable[[], Awaitable[Completion | Distribution | None]]
    ) -> Completion | Distribution | NotOffered | Forgone:
        tape, key = self._where, key_of(request, self.identity)
        answer = await to_thread.run_sync(tape.read, key, limiter=self._thread)
        if answer is None:
            if self.mode == "replay":
                raise TapeMissError(tape.path, request.asked_by, _text(request), self._differences())
            answer = await self._write(key, await _outcome(ask), request.asked_by)
        if isinstance(answer, Failed):
            raise answer.error()
        return answer

    def _differences(self) -> tuple[str, ...]:
        """The settings in which the model at hand differs from the recorded one."""
        return () if self._head is None or self.model is None else self._head.differences(self.model.identity)

    async def _write(self, key: bytes, answer: Answer, asked_by: str) -> Answer:
        """What is on the tape after this. Shielded: an answer that came is kept, even if nobody waits for it."""
        written = answer
        with anyio.CancelScope(shield=True):
            written = await to_thread.run_sync(self._where.write, key, answer, asked_by, limiter=self._thread)
        return written  # noqa: RET504 - a scope may end early in theory, and mypy holds us to it

    async def forgo(self, question: bytes, forgone: Forgone) -> None:
        """Note that a question was settled without the model, so that a replay settles it in the same way."""
        if self.mode == "record":
            await self._write(_forgone_key(question), forgone, "")

    async def forgone(self, question: bytes) -> Forgone | None:
        """How a question was settled without the model when the tape was recorded; None if the model was asked."""
        if self.mode != "replay":
            return None
        found = await to_thread.run_sync(self._where.read, _forgone_key(question), limiter=self._thread)
        return found if isinstance(found, Forgone) else None

    async def forget_failures(self, asked_by: str) -> None:
        """Take the failed calls of one asker off a tape that is being recorded, so that they are made again.

        For a question whose failure ended the run: nothing followed from it, and a resumed run has to ask it anew.
        """
        if self.mode == "record":
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._where.forget_failures, asked_by, limiter=self._thread)

    def _misplaced(self) -> TapeError:
        return TapeError(self._where.path, "is damaged: an answer stands under the key of another kind of question")

    async def check(self) -> Health:
        """That the model can be asked; in a replay, what the check said when the tape was recorded."""
        if self.mode == "replay" and self._head is not None:
            health = self._head.health
            return msgspec.structs.replace(health, note=f"from the tape; {health.note}")
        health = await self._who.check()
        if self.mode == "record":
            self._head = Head(identity=self._who.identity, health=health)
            await to_thread.run_sync(self._where.write_head, self._head, limiter=self._thread)
        return health

    async def aclose(self) -> None:
        """Close the model's connections and the tape."""
        if self.model is not None:
            await self.model.aclose()
        if self._tape is not None:
            await to_thread.run_sync(self._tape.close, limiter=self._thread)


def _forgone_key(question: bytes) -> bytes:
    return blake2b(question, digest_size=16, person=b"forgone").digest()


def _head(tape: Tape, model: LanguageModel | None, mode: Mode) -> Head | None:
    """The tape's head; to record, one is written at once, or an unchecked model would leave a nameless tape.

    Raises:
        TapeError: a replay of a tape on which nothing was recorded.
    """
    if mode == "replay":
        return tape.recorded_by()
    head = tape.head()
    if head is None and mode == "record" and model is not None:
        who = model.identity
        unchecked = Health(
            backend=who.backend, version="", model=who.model, latency_s=0.0, dialect=who.dialect, note="not checked"
        )
        head = Head(identity=who, health=unchecked)
        tape.write_head(head)
    return head


async def _outcome(ask: Callable[[], Awaitable[Completion | Distribution | None]]) -> Answer:
    """What came of a question, failures included."""
    try:
        return await ask() or NotOffered()
    except LLMFailureException as error:
        return Failed.of(error)


def _text(request: _Request) -> str:
    """What was asked, the part first that differs from question to question."""
    return request.messages[-1].content if isinstance(request, ChatRequest) else request.state
