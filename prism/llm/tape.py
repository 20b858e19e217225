"""The tape of a run: the answers of its language model, and what was decided without them."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from pathlib import Path

import msgspec

from prism.llm.failure import LLMFailureException, Reason, Usage
from prism.llm.port import Completion, Distribution, Health, Identity, Undecided
from prism.llm.tape_file import HEADER_KEY, TapeError, TapeFile

_FAILED, _FALLBACK, _NOT_OFFERED = b'{"type":"failed"', b'{"type":"forgone"', b'{"type":"not_offered"'
_UNDECIDED = b'{"type":"undecided"'
"""The first bytes of the records that decide nothing by a model."""
_COMPLETION = b'{"type":"completion"'
_PROMPT_CHARS = 200
UNCHECKED = "not checked"
"""The note of a health that no check has found."""

_ENDS_OR_DIFFERS = (
    "its recording was stopped before this, or the configuration, the seed or the version is another than the recorded"
)
_REMEDY = "oracle.tape=record with this oracle.tape_path asks what is missing and adds it"


class NotOffered(msgspec.Struct, frozen=True, tag="not_offered"):
    """The record that the model offers no probabilities for this question."""


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """The record of a failed call."""

    reason: Reason
    attempts: int
    component: str
    status_code: int | None
    detail: str
    latency_s: float
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    retry_after_s: float = 0.0
    advice: str = ""

    @classmethod
    def of(cls, error: LLMFailureException) -> Failed:
        return cls(
            reason=error.reason,
            attempts=error.attempts,
            component=error.component,
            status_code=error.status_code,
            detail=error.detail,
            latency_s=error.latency_s,
            prompt_tokens=error.usage.prompt_tokens,
            completion_tokens=error.usage.completion_tokens,
            cached_tokens=error.usage.cached_tokens,
            retry_after_s=error.retry_after_s,
            advice=error.advice,
        )

    @property
    def usage(self) -> Usage:
        """The tokens of the call, as far as the server said."""
        return Usage(self.prompt_tokens, self.completion_tokens, self.cached_tokens)

    def error(self) -> LLMFailureException:
        return LLMFailureException(
            self.reason,
            self.attempts,
            self.component,
            self.status_code,
            self.detail,
            self.latency_s,
            retry_after_s=self.retry_after_s,
            advice=self.advice,
            usage=self.usage,
        )


Outcome = Completion | Distribution | Undecided | NotOffered | Failed


async def outcome_of(asked: Awaitable[Completion | Distribution | Undecided | None]) -> Outcome:
    """Return what came of a call, as it stands on a tape."""
    try:
        return await asked or NotOffered()
    except LLMFailureException as error:
        return Failed.of(error)


class RecordedFallback(msgspec.Struct, frozen=True, tag="forgone"):
    """The record that a question was decided without the model: it was too late, or the model could not be asked."""

    source: str
    reason: str


Answer = Outcome | RecordedFallback


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


class TapeStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The number of records on a tape, by kind.

    Args:
        fallbacks: questions that took their first option, because a call failed or none was made.
    """

    answers: int
    failures: int
    fallbacks: int


_answers: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)
_headers = msgspec.json.Decoder(Header)


class TapeMissError(TapeError):
    """A question in a replay that was never recorded.

    Args:
        asked_by: the asker: "agent 12 in tick 340".
        prompt: the question; the message shows its first 200 characters.
        differences: the settings in which the question differs from the recorded ones: "llm.model a, not b".
    """

    def __init__(self, path: Path, asked_by: str, prompt: str, differences: Sequence[str] = ()) -> None:
        self.asked_by = asked_by
        self.prompt = prompt
        self.differences = tuple(differences)
        who = f" from {asked_by}" if asked_by else ""
        # A tape cannot distinguish the two other causes: it does not know the next question of the recorded run.
        cause = f"it was recorded with {' and '.join(differences)}" if differences else _ENDS_OR_DIFFERS
        super().__init__(path, f"no answer to the question{who}: {prompt[:_PROMPT_CHARS]!r}; {cause}: {_REMEDY}")


class Tape(TapeFile):
    """The answers of a run's model by key."""

    def _begin(self) -> None:
        # Fallbacks belong to the run that took them. This run may get an answer where that one did not wait.
        self._file.execute("DELETE FROM answers WHERE substr(answer, 1, ?) = ?", (len(_FALLBACK), _FALLBACK))

    def __len__(self) -> int:
        return int(self._execute("SELECT count(*) FROM answers WHERE key != ?", HEADER_KEY)[0][0])

    def read(self, key: bytes) -> Answer | None:
        """Return the answer under a key, or None.

        Raises:
            TapeError: the file is damaged.
        """
        row = self._row(key)
        return None if row is None else self._decode(row, _answers)

    def write(self, key: bytes, answer: Answer, asked_by: str) -> Answer:
        """Return the answer that is on the tape now: the given one, unless the key already had an answer.

        Raises:
            TapeError: the file cannot be written.
        """
        self._execute(
            "INSERT INTO answers VALUES (?, ?, ?) ON CONFLICT DO NOTHING", key, asked_by, msgspec.json.encode(answer)
        )
        return self.read(key) or answer

    def forget(self, asked_by: str, answers: bool) -> None:  # `to_thread.run_sync` passes no names
        """Remove the failed calls of this asker from the tape, and with `answers` the texts, too.

        Raises:
            TapeError: the file cannot be written.
        """
        for begin in (_FAILED, _COMPLETION) if answers else (_FAILED,):
            self._execute(
                "DELETE FROM answers WHERE asked_by = ? AND substr(answer, 1, ?) = ?", asked_by, len(begin), begin
            )

    def statistics(self) -> TapeStatistics:
        """Return the number of records by kind; every record is read.

        Raises:
            TapeError: the file is damaged.
        """
        begins = "SELECT substr(answer, 1, ?), count(*) FROM answers WHERE key != ? GROUP BY 1"
        others = (_FAILED, _FALLBACK, _NOT_OFFERED, _UNDECIDED)
        longest = max(map(len, others))
        answers = failures = fallbacks = 0
        for begin, count in self._execute(begins, longest, HEADER_KEY):
            failures += count * begin.startswith(_FAILED)
            fallbacks += count * begin.startswith(_FALLBACK)
            answers += count * (not begin.startswith(others))
        return TapeStatistics(answers=answers, failures=failures, fallbacks=fallbacks)

    def required_header(self) -> Header:
        """Return the header.

        Raises:
            TapeError: nothing was recorded on this tape.
        """
        header = self.header()
        if header is None:
            raise TapeError(self.path, "nothing was recorded on it; record it again")
        return header

    def header(self) -> Header | None:
        """Return the header; None on a tape on which no model has been checked."""
        row = self._row(HEADER_KEY)
        return None if row is None else self._decode(row, _headers)

    def write_header(self, header: Header) -> None:
        """Store the model that answers from now on.

        Raises:
            TapeError: the file cannot be written.
        """
        self._execute("INSERT OR REPLACE INTO answers VALUES (?, '', ?)", HEADER_KEY, msgspec.json.encode(header))
