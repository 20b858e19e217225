"""The state of the actors between two ticks, as a checkpoint keeps it. The world's columns are kept beside it."""

from __future__ import annotations

import msgspec

from actors.core.frames import ORIGIN
from prism.llm.spending import Spending


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """The calls to a model by outcome, and `{reason: retries}`, that a run has cost so far, used or not."""

    spent: Spending = ()
    retries: dict[str, int] = {}


class EngineState(msgspec.Struct, frozen=True, kw_only=True):
    """The engine's state between two ticks, without the world.

    Args:
        kinds: the kinds of updates and questions so far, in the order of their numbers.
        fallbacks: `{reason: decisions that took effect and were not the oracle's}`.
        asked: `(tick in which the decision takes effect, the question)`, in the order in which they take effect.
        decided: the answers that have arrived already.
        reactions: `(post, number of the intervention that published it, reactions to it)`.
    """

    tick: int = 0
    link: bytes = ORIGIN
    kinds: tuple[tuple[str, ...], ...] = ()
    late: int = 0
    fallbacks: dict[str, int] = {}
    asked: tuple[tuple[int, bytes], ...] = ()
    decided: tuple[bytes, ...] = ()
    reactions: tuple[tuple[int, int, int], ...] = ()


class CountersState(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[tuple[tuple[str, str, str, str], int], ...] = ()
    activations: int = 0
    questions: int = 0


class SupervisorState(msgspec.Struct, frozen=True, kw_only=True):
    """The supervisor's state: all crashes, `{actor: ticks of its recent crashes}`, and the quarantined agents."""

    crashes: int = 0
    ticks: dict[str, list[int]] = {}
    quarantined: tuple[int, ...] = ()


class SharingState(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of questions that share judgements, by their part, and the sums of the shared distributions.

    `shared`: `((trigger, state, *options), the sum in units of 2**-40)`.
    """

    roles: dict[str, int] = {}
    shared: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...] = ()


class OracleState(msgspec.Struct, frozen=True, kw_only=True):
    """The oracle's counts, without the latencies of single calls, which belong to one process."""

    answered: int = 0
    calls: int = 0
    fallbacks: dict[str, int] = {}
    retries: dict[str, int] = {}
    methods: dict[str, int] = {}
    spent: Spending = ()
    sharing: SharingState = SharingState()


RoundsTable = dict[str, list[int | float]]
"""`{column: its value in each round}`."""


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of all actors between two ticks, without the world; `guards`: `{row: times its guard raised}`."""

    engine: EngineState = EngineState()
    counters: CountersState = CountersState()
    supervisor: SupervisorState = SupervisorState()
    oracle: OracleState = OracleState()
    guards: dict[str, int] = {}
    rounds: RoundsTable = {}
