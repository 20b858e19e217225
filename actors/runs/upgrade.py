"""The proof of an upgrade: other code does recorded ticks again, and must give the same ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from anyio import to_thread

from actors.core.errors import DivergedError, ForeignCheckpointError, ResumeRefusedError
from actors.factory.domains import build_domain
from actors.persistence.disk import RealDisk
from actors.persistence.oracle_log import RecordedAnswers
from actors.persistence.recovery import Recovered, recover
from actors.runs.replay import Part, Replay, parts_of, run_parts
from actors.runs.resume import Proof, ResumePlan
from actors.runtime.simulation import Simulation
from prism.domain import Domain
from prism.errors import PrismError
from prism.statechart import Oracle

SKIP = "go on without the proof with --accept-code"


async def prove(
    plan: ResumePlan, on_begin: Callable[[Simulation], None] = lambda _: None, *, oracle: Oracle[Any] | None = None
) -> Proof:
    """Do the ticks after the second newest checkpoint again, compare each with the journal, and change nothing.

    With only one checkpoint, or if this code cannot start from the second newest one, all ticks are done again.

    Args:
        on_begin: called with each simulation that begins.
        oracle: an oracle of the caller's own.

    Raises:
        ResumeRefusedError: a tick has another result, or the ticks cannot be done again.
    """
    span = await to_thread.run_sync(_span_of, plan)
    try:
        try:
            await _run_again(plan, span, on_begin, oracle)
        except ForeignCheckpointError:
            span = await to_thread.run_sync(_whole_past_of, plan)
            await _run_again(plan, span, on_begin, oracle)
    except DivergedError as error:
        raise _refusal(plan, f"under this code {error}") from None
    except PrismError as error:
        raise _refusal(plan, f"the recorded ticks cannot be done again: {error}") from None
    return Proof(span.first, span.recovered.recorded.ticks)


class _Span(NamedTuple):
    """The recorded ticks that are done again, from a checkpoint or from tick 0 to the end of the journal."""

    recovered: Recovered
    parts: list[Part]
    domain: Domain

    @property
    def first(self) -> int:
        return 0 if self.recovered.checkpoint is None else self.recovered.checkpoint.position.tick


def _span_of(plan: ResumePlan) -> _Span:
    disk = RealDisk(plan.directory.path)
    newest = recover(disk, repair=False, cut_damage=plan.cut_damage).checkpoint
    return _span_before(plan, 0 if newest is None else newest.position.tick - 1)


def _whole_past_of(plan: ResumePlan) -> _Span:
    return _span_before(plan, 0)


def _span_before(plan: ResumePlan, tick: int) -> _Span:
    """Return the ticks from the latest checkpoint that is of this tick or an earlier one."""
    recovered = recover(RealDisk(plan.directory.path), repair=False, before=tick, cut_damage=plan.cut_damage)
    parts = parts_of(plan.directory, plan.config, recovered.recorded.ticks)
    span = _Span(recovered, parts, build_domain(plan.config).domain)
    return span._replace(parts=[part for part in parts if part.until > span.first])


async def _run_again(
    plan: ResumePlan, span: _Span, on_begin: Callable[[Simulation], None], oracle: Oracle[Any] | None
) -> None:
    recorded = span.recovered.recorded
    answers = RecordedAnswers(RealDisk(plan.directory.path), recorded.answers_from, recorded.answers_end)
    await run_parts(
        span.parts,
        plan.config,
        span.domain,
        Replay(recorded, answers),
        on_begin,
        start=span.recovered.checkpoint,
        own_oracle=None if oracle is None or oracle.waits else oracle,
    )


def _refusal(plan: ResumePlan, problem: str) -> ResumeRefusedError:
    return ResumeRefusedError(
        plan.directory.path,
        [*plan.changes, problem],
        f"Resume it with the code that it was run with, or {SKIP}.",
    )


def proof_begins(plan: ResumePlan) -> str:
    """Return what is about to be proved, in words."""
    return f"{'; '.join(plan.changes)}: recorded ticks are done again and compared first (--accept-code leaves it out)"


def proof_ended(plan: ResumePlan, proof: Proof) -> str:
    """Return what was proved, in words."""
    return (
        f"{'; '.join(plan.changes)}: proved, ticks {proof.first:,} to {proof.end - 1:,} come out under this code as "
        "they are in the journal"
    )
