"""The events of a run: what happens to it as a whole, each of a type of its own. `docs/runs.md` explains them.

An event goes to the run's log, and to every listener of the run: its metrics, its display, its phase file. Decisions of
agents are no events: they are in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar, Literal

import msgspec
import structlog

from actors.core.phase import Phase

Level = Literal["debug", "info", "warning", "error"]


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event"):
    """An event. Its tag is its name in the log."""

    level: ClassVar[Level] = "info"
    actor: ClassVar[str] = "run"

    @classmethod
    def name(cls) -> str:
        return str(cls.__struct_config__.tag)


class RunStarted(Event, frozen=True, kw_only=True, tag="run_started"):
    """A run begins, or goes on where its files end.

    Args:
        from_tick: ticks in its journal.
        recovered: ticks since its checkpoint, which are done again.
        parent: the directory of the run that it has branched off, with these ticks in common; empty at a resume.
    """

    agents: int
    ticks: int
    seed: int
    oracle: str
    version: str
    from_tick: int = 0
    recovered: int = 0
    parent: str = ""


class PhaseChanged(Event, frozen=True, kw_only=True, tag="phase_changed"):
    """The run has another phase; `reason`: why it waits, `after_s`: how long the phase before has lasted."""

    phase: Phase
    before: Phase
    after_s: float
    reason: str = ""


class BreakerOpened(Event, frozen=True, kw_only=True, tag="breaker_opened"):
    """The circuit breaker has opened: the server no longer answers; `latest`: details of the latest failure."""

    actor: ClassVar[str] = "oracle"
    reason: str
    latest: str = ""


class BreakerClosed(Event, frozen=True, kw_only=True, tag="breaker_closed"):
    actor: ClassVar[str] = "oracle"
    after_s: float


class LimitChanged(Event, frozen=True, kw_only=True, tag="limit_changed"):
    """The limit on calls was halved or won back: an event at 1 and at its ceiling, and for each doubling."""

    actor: ClassVar[str] = "oracle"
    limit: int
    before: int
    most: int


class CheckpointWritten(Event, frozen=True, kw_only=True, tag="checkpoint_written"):
    """A checkpoint of so many ticks and bytes is on the medium."""

    actor: ClassVar[str] = "store"
    at_tick: int
    size: int
    duration_s: float


class InterventionMade(Event, frozen=True, kw_only=True, tag="intervention_made"):
    """An intervention was carried out at the beginning of a tick, after `number` others. No resume repeats it."""

    actor: ClassVar[str] = "engine"
    kind: str
    at_tick: int
    number: int


class SpendWarning(Event, frozen=True, kw_only=True, tag="spend_warning"):
    """A spend cap, named by its setting, comes near; `share`: used so far, 0 to 1."""

    level: ClassVar[Level] = "warning"
    actor: ClassVar[str] = "oracle"
    cap: str
    share: float
    used: float
    most: float


class RunEnded(Event, frozen=True, kw_only=True, tag="run_ended"):
    """The run has ended, for this process, by one of `actors.core.phase.ENDS`; without a digest after an error."""

    reason: str
    ticks: int
    digest: str = ""
    detail: str = ""


EVENTS: tuple[type[Event], ...] = tuple(Event.__subclasses__())
"""All kinds of events."""

SHARDS_READY = "shards_ready"
"""The line of the log with the machine and the process of each shard."""

CAPPED = "probability_capped"
"""The line of the log about people whose probability is 1 because it cannot be more."""

FILE_ONLY = frozenset((CAPPED, SHARDS_READY, *(event.name() for event in EVENTS if event.level in {"debug", "info"})))
"""The events that are in the run's log, and not on standard error: the display shows what they say."""

Listener = Callable[[Event], None]
_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("_listeners", default=())


def tell(event: Event) -> None:
    """Tell the listeners of the current run and its tasks of an event. They must not raise or wait."""
    for listener in _listeners.get():
        listener(event)


def emit(event: Event) -> None:
    """Tell the listeners of the current run of an event, and log it."""
    tell(event)
    fields = msgspec.to_builtins(event)
    name = fields.pop("event")
    getattr(structlog.get_logger(), event.level)(name, actor=event.actor, **fields)


@contextmanager
def heard_by(*listeners: Listener) -> Iterator[None]:
    """Tell these listeners, too, of the events of the block and of the tasks that it starts."""
    token = _listeners.set((*_listeners.get(), *listeners))
    try:
        yield
    finally:
        _listeners.reset(token)
