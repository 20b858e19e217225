"""The tape of a run: the answers of its language model, and what was decided without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Sequence
from pathlib import Path

import msgspec

from prism.llm.failure import LLMFailureException, Reason, Usage
from prism.llm.port import Completion, Distribution, Health, Identity, Undecided
from prism.llm.tape_file import HEADER_KEY, TapeError, TapeFile

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
    retry_after_s: float = 0.0
    usage: Usage = Usage()
    advice: str = ""

    @classmethod
    def of(cls, error: LLMFailureException) -> Failed:
        return cls(**{name: getattr(error, name) for name in cls.__struct_fields__})

    def error(self) -> LLMFailureException:
        return LLMFailureException(**msgspec.structs.asdict(self))


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
        self._file.execute("DELETE FROM answers WHERE json_extract(CAST(answer AS TEXT), '$.type') = 'forgone'")

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
        statement = (
            "DELETE FROM answers WHERE asked_by = ? AND json_extract(CAST(answer AS TEXT), '$.type') IN ('failed', ?)"
        )
        self._execute(statement, asked_by, "completion" if answers else "failed")

    def statistics(self) -> TapeStatistics:
        """Return the number of records by kind; every record is read.

        Raises:
            TapeError: the file is damaged.
        """
        kinds = "SELECT json_extract(CAST(answer AS TEXT), '$.type'), count(*) FROM answers WHERE key != ? GROUP BY 1"
        found = Counter[str](dict(self._execute(kinds, HEADER_KEY)))
        answers = found["completion"] + found["distribution"]
        return TapeStatistics(answers=answers, failures=found["failed"], fallbacks=found["forgone"])

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
