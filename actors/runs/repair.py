"""A repair: a fork before the first answer that a run has lost, in which only what failed is asked again.

A lost answer is a choice that was made without the oracle, because the oracle failed. The new run has every answer that
the old one got. Its questions are the same up to the first choice that differs; from then on an answer is used only for
a question that is equal to the old one in every byte.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from actors.core.errors import RepairRefusedError, RunLockedError
from actors.core.messages import Codec, Message, QuestionName, name_of_question
from actors.core.phase import NO_ANSWER
from actors.factory.domains import BuiltDomain, build_domain
from actors.factory.oracle_backends import TAPE, copy_tape_without
from actors.persistence.journal import answers_of
from actors.persistence.oracle_log import LoggedAnswer, question_hash
from actors.record.answers import answers_in
from actors.record.lock import holder_of
from actors.record.manifest import CONFIG, read_manifest
from actors.record.messages import messages_in, whole_ticks
from actors.record.run import header_in, read_resolved
from actors.runs.compatibility import changed_settings, is_safe
from actors.runs.directory import RunDirectory
from actors.runs.fork import Branch, branch_off
from actors.runtime.simulation import Simulation
from prism.agents import FALLBACKS, Question, Update
from prism.config import Config


class Losses(NamedTuple):
    """The answers that a run has lost.

    Args:
        reasons: `{question: the reason why it has no answer}`.
        ticks: whole ticks of the run; `length`: its planned ticks.
        answers: the answers that it got.
        ended_by: the reason of the failure that ended it, in a domain without fallbacks; empty if none did.
    """

    reasons: dict[QuestionName, str]
    ticks: int
    length: int
    answers: int
    ended_by: str = ""

    @property
    def total(self) -> int:
        """The number of lost answers."""
        return len(self.reasons) + bool(self.ended_by)

    @property
    def tick(self) -> int:
        """The tick of the first question without an answer."""
        return min((asked for _, asked, _ in self.reasons), default=self.ticks)

    @property
    def by_reason(self) -> dict[str, int]:
        """`{reason: lost answers}`, the most frequent first."""
        counts = Counter(self.reasons.values())
        if self.ended_by:
            counts[self.ended_by] += 1
        return dict(counts.most_common())


def find_losses(parent: RunDirectory) -> Losses:
    """Return the answers that a run has lost.

    Raises:
        RunDirectoryError: it is no run, or a process works on it.
        JournalError: its journal cannot be used.
    """
    manifest = read_manifest(parent.path)
    if (holder := holder_of(parent.path)) is not None:
        raise RunLockedError(parent.path, holder)
    reasons, answers = dict[QuestionName, str](), 0
    for decided in answers_in(parent.path):
        if decided.source in FALLBACKS:
            reasons[decided.agent, decided.asked, decided.trigger] = decided.reason
        else:
            answers += 1
    ticks, asked_in = 0, dict[int, int]()
    for frame in whole_ticks(parent.path):
        ticks = frame.tick + 1
        for name, reason in _committed_losses(messages_in(frame.payload), asked_in):
            reasons.setdefault(name, reason)
    length = read_resolved(parent.path / CONFIG).simulation.length
    stop = manifest.stopped
    is_ended = stop is not None and (stop.reason, stop.tick) == (NO_ANSWER, ticks)
    return Losses(reasons, ticks, length, answers, stop.detail if stop is not None and is_ended else "")


class Plan(NamedTuple):
    """A repair that may begin.

    Args:
        config: the settings of the new run.
        tape: the parent's tape, on a copy of which the new run goes on; None without one.
    """

    parent: RunDirectory
    losses: Losses
    config: Config
    tape: Path | None


def plan_repair(parent: RunDirectory, losses: Losses, overrides: Sequence[str] = ()) -> Plan:
    """Return the repair of a run, and write nothing.

    Args:
        losses: the answers that the run has lost.
        overrides: `a.b=value` each: settings that change nothing of the past, such as the server's address.

    Raises:
        RepairRefusedError: the same failure would come again, or other settings would change more than the lost
            answers.
        ConfigError: the settings cannot be used.
    """
    before = read_resolved(parent.path / CONFIG)
    config = read_resolved(parent.path / CONFIG, overrides)
    _refuse_useless(parent, losses, before, config)
    if (tape := _tape_of(parent, before, config)) is not None:
        config = msgspec.structs.replace(config, oracle=msgspec.structs.replace(config.oracle, tape_path=None))
    return Plan(parent, losses, config, tape)


async def repair(plan: Plan, child: RunDirectory, on_begin: Callable[[Simulation], None] = lambda _: None) -> list[str]:
    """Write a run with its parent's past up to the first lost answer, and with its answers, into a new directory.

    `prism resume` runs the rest of it, and asks the questions without an answer.

    Args:
        child: an empty directory.
        on_begin: called with the simulation that runs the past again.

    Returns:
        Notes on what the new run lacks, a sentence each.

    Raises:
        ForkRefusedError: an input file has changed, or the new run would end before its past does.
        JournalError: the parent's replay differs.
    """
    parent, losses, config, tape = plan
    built = build_domain(config)
    found = _sort_out(parent, losses, built)
    if tape is not None:
        await copy_tape_without(config, built.domain, tape, child.path / TAPE, found.lost)
    return await branch_off(Branch(parent, child, losses.tick, config, built, found.kept, losses.total), on_begin)


def _refuse_useless(parent: RunDirectory, losses: Losses, before: Config, config: Config) -> None:
    """Refuse a repair that would change more than the lost answers, or that would fail again in the same way."""
    changes = [change for key, change in changed_settings(header_in(parent.path), config) if not is_safe(key)]
    if changes:
        remedy = "A repair asks the same questions again; use `prism fork` for other settings."
        raise RepairRefusedError(parent.path, changes, remedy)
    if config.oracle.backend != "choice" and config.oracle.tape == "replay":
        problem = "its answers come from a tape, which has the same failures"
        raise RepairRefusedError(parent.path, [problem], "Ask a server with --set oracle.tape=record.")
    caps = [(oracle.max_calls, oracle.max_tokens, oracle.max_usd) for oracle in (before.oracle, config.oracle)]
    if "spent" in losses.by_reason and caps[0] == caps[1]:
        remedy = "Raise it with --set oracle.max_calls=..., or max_tokens, or max_usd."
        raise RepairRefusedError(parent.path, ["its spend cap is reached"], remedy)


def _tape_of(parent: RunDirectory, before: Config, config: Config) -> Path | None:
    """Return the parent's tape, if the new run is to go on with it; None without one, or for a tape of its own."""
    if config.oracle.tape != "record" or config.oracle.tape_path != before.oracle.tape_path:
        return None
    path = parent.path / TAPE if before.oracle.tape_path is None else Path(before.oracle.tape_path)
    return path if path.is_file() else None


class _Sorted(NamedTuple):
    """The answers that stay, and the questions whose answers were lost, each with the reason."""

    kept: list[LoggedAnswer]
    lost: list[tuple[Question[Any], str]]


def _sort_out(parent: RunDirectory, losses: Losses, built: BuiltDomain) -> _Sorted:
    """Return the answers that stay and the questions that were lost."""
    asked, lost = dict[QuestionName, deque[bytes]](), list[tuple[Question[Any], str]]()
    for question in _questions(parent, losses.tick, Codec(built.domain.context_type, built.domain.effect_type)):
        name = name_of_question(question)
        asked.setdefault(name, deque()).append(question_hash(question))
        if (reason := losses.reasons.get(name)) is not None:
            lost.append((question, reason))
    return _Sorted(list(kept_answers(answers_in(parent.path), losses, asked)), lost)


def kept_answers(
    logged: Iterable[LoggedAnswer], losses: Losses, asked: dict[QuestionName, deque[bytes]]
) -> Iterator[LoggedAnswer]:
    """Yield the answers that the new run may use.

    From the first lost question on, each answer gets the hash of its question. Questions of a tick that is not in the
    journal are not known: the new run has the same ones only if nothing was lost before they were answered.

    Args:
        asked: `{name: hashes of the questions of that name}`, in order, from the tick of the first lost one on.
    """
    is_spoilt = losses.tick < losses.ticks
    for answer in logged:
        hashes = asked.get((answer.agent, answer.asked, answer.trigger), deque())
        question = _take(hashes, answer.question)
        if answer.source in FALLBACKS:
            is_spoilt = True
        elif answer.asked < losses.tick or answer.question:
            yield answer
        elif question:
            yield msgspec.structs.replace(answer, question=question)
        elif not is_spoilt:
            yield answer


def _take(hashes: deque[bytes], question: bytes) -> bytes:
    """Remove and return the hash of the question that an answer is to; empty if it is not known.

    Args:
        hashes: those of the questions of its name, in order; they are answered in that order.
        question: the hash that the answer itself has, if it has one.
    """
    if not hashes or (question and question not in hashes):
        return b""
    index = hashes.index(question) if question else 0
    found = hashes[index]
    del hashes[index]
    return found


def _committed_losses(messages: Sequence[Message], asked_in: dict[int, int]) -> Iterator[tuple[QuestionName, str]]:
    """Yield the questions that a fallback has decided in a tick, with the reason: also those that were late.

    An agent that deliberates gets no trigger, so the next update of an agent that has asked is its decision.

    Args:
        asked_in: `{agent: the tick of its open question}`, which is kept up to date.
    """
    for message in messages:
        if isinstance(message, Question):
            asked_in[message.agent] = message.tick
        elif isinstance(message, Update):
            asked = asked_in.pop(message.agent, None)
            if asked is not None and message.source in FALLBACKS:
                yield (message.agent, asked, message.trigger), message.reason


def _questions(parent: RunDirectory, tick: int, codec: Codec) -> Iterator[Question[Any]]:
    """Yield the questions of a tick and of those after it."""
    for frame in whole_ticks(parent.path):
        if frame.tick >= tick:
            for answer in codec.array(answers_of(frame.payload)):
                if isinstance(answer, Question):
                    yield answer
