"""What the actors hold between two ticks: the records that a checkpoint keeps, the world aside."""

from __future__ import annotations

import msgspec

from actors.core.frames import ORIGIN


class EngineState(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine holds between two ticks, the world aside.

    Args:
        tick: ticks committed.
        link: the digest's link after them.
        late: decisions that were not there in time.
        asked: `(tick in which the decision takes effect, the question)`, in the order in which they take effect.
        decided: the answers that are there already.
    """

    tick: int = 0
    link: bytes = ORIGIN
    late: int = 0
    asked: tuple[tuple[int, bytes], ...] = ()
    decided: tuple[bytes, ...] = ()


class CountersState(msgspec.Struct, frozen=True, kw_only=True):
    """The counts that a checkpoint keeps."""

    rows: tuple[tuple[tuple[str, str, str, str], int], ...] = ()
    activations: int = 0
    questions: int = 0


class SupervisorState(msgspec.Struct, frozen=True, kw_only=True):
    """What a checkpoint keeps: all crashes, `{actor: ticks of the recent ones}`, and who is out for good."""

    crashes: int = 0
    ticks: dict[str, list[int]] = {}
    quarantined: tuple[int, ...] = ()


class OracleState(msgspec.Struct, frozen=True, kw_only=True):
    """The counts that a checkpoint keeps. Latencies are of one process, and are not among them."""

    answered: int = 0
    calls: int = 0
    coalesced: int = 0
    fallbacks: dict[str, int] = {}
    tokens: int = 0


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """What the actors hold between two ticks, the world aside.

    Args:
        guards: `{row: how often its guard raised}`.
    """

    engine: EngineState = EngineState()
    counters: CountersState = msgspec.field(default=CountersState(), name="tally")  # as checkpoints have it
    supervisor: SupervisorState = SupervisorState()
    oracle: OracleState = OracleState()
    guards: dict[str, int] = {}
