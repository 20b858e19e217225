"""All metrics of a run: the fields of its snapshot, in `actors/core/snapshot.py`, and what follows from them.

Labels are from closed sets, and every series exists from the start, so the number of series does not depend on the
number of agents. The world adds its own measures: see `prism.domain`. `docs/operations.md` explains all of them.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_type_hints

import msgspec

from actors.core.mailbox import MailboxStatistics
from actors.core.snapshot import FAILURES, Exchange, OfTicks, RunSnapshot
from actors.oracle.limits import BreakerState
from prism.agents import Source
from prism.config import Config
from prism.domain import Measure


class Counts(NamedTuple):
    """The counts of a histogram at one instant, not accumulated, one more than its bounds; `total` sums the values."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float


class Histogram:
    """A histogram of durations: one thread counts in plain numbers, and other threads get copies.

    Measured, an observation costs 0.3 us, and one of a labelled histogram of the Prometheus client 2 us. A copy is
    consistent: a scrape never sees a sum without its count. A value equal to an upper bound belongs to its bucket.
    """

    __slots__ = ("_bounds", "_counts", "_total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self._total = 0.0

    def observe(self, value: float, number: int = 1) -> None:
        self._counts[bisect_left(self._bounds, value)] += number
        self._total += value * number

    def counts(self) -> Counts:
        return Counts(self._bounds, tuple(self._counts), self._total)


class TickEnd(NamedTuple):
    """A run at the end of a tick: its state by its journal, without any part of the next tick, and its measures."""

    run: RunSnapshot
    measures: tuple[Measure, ...]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a scrape, without the event loop's lag. It never changes.

    Args:
        run: the state now, for waiting and running work, and for the calls to a model.
        committed: the latest tick end that the journal has on disk; None while recorded ticks are done again. All
            counts of ticks and of events in them come from it, so no crash can take back a number that was shown.
        before: counts of the mailboxes after the last recorded tick, to be subtracted.
        journal_bytes, journal_ticks: the size of the journal on disk.
        timings: `{metric: {label values: counts}}`.
    """

    config: Config
    run_id: str
    run: RunSnapshot
    committed: TickEnd | None
    ticks_replayed: int
    before: Mapping[str, MailboxStatistics]
    journal_bytes: int
    journal_ticks: int
    checkpoint_s: float
    tasks: int | None
    timings: Mapping[str, Mapping[tuple[str, ...], Counts]]

    @property
    def done(self) -> RunSnapshot | None:
        """The run at the end of the latest tick on disk; None while recorded ticks are done again."""
        return None if self.committed is None else self.committed.run


OUTCOMES = ("ok", *FAILURES)

Series = Mapping[tuple[str, ...], float]
"""`{label values: number}`."""


class Timing(NamedTuple):
    """A histogram of durations. Limits of a run are further bounds, so that no quantile is interpolated across one."""

    name: str
    labels: tuple[str, ...]
    bounds_s: tuple[float, ...]
    help: str
    limits: tuple[Literal["timeout_s", "deadline_s"], ...] = ()

    def bounds_in(self, config: Config) -> tuple[float, ...]:
        """Return the upper bounds of the buckets in a run of this configuration, ascending."""
        limits = {"timeout_s": config.llm.timeout_s, "deadline_s": config.oracle.deadline_s}
        return tuple(sorted({*self.bounds_s, *(float(limits[name]) for name in self.limits)}))


TICK = Timing(
    "prism_tick_duration_seconds",
    (),
    (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
    "Duration of ticks, with the wait for late answers.",
    ("deadline_s",),
)
COMMIT = Timing(
    "prism_commit_duration_seconds",
    (),
    (0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0),
    "Duration of writing and syncing frames of the journal.",
)
QUEUE_WAIT = Timing(
    "prism_oracle_queue_wait_seconds",
    (),
    (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0),
    "Wait of questions before they were put to the oracle.",
    ("deadline_s",),
)
CALL = Timing(
    "prism_llm_request_duration_seconds",
    ("model", "outcome"),
    (
        *(0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0),
        *(3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0),
    ),
    "Duration of calls to the oracle, by their outcome.",
    ("timeout_s", "deadline_s"),
)
TIMINGS = (TICK, COMMIT, QUEUE_WAIT, CALL)


class Instrument(NamedTuple):
    """A counter or a gauge.

    Args:
        name: with its labels; a counter ends with `_total`.
        read: returns its number in a snapshot, or its numbers by the value of its label, or by those of its labels: the
            same ones each time. None for no series.
    """

    named: str
    help: str
    read: Callable[[Snapshot], float | Mapping[Any, float] | None]

    @property
    def name(self) -> str:
        return self.named.partition("{")[0]

    @property
    def labels(self) -> tuple[str, ...]:
        inside = self.named.partition("{")[2].rstrip("}")
        return tuple(inside.split(",")) if inside else ()

    @property
    def kind(self) -> Literal["counter", "gauge"]:
        return "counter" if self.name.endswith("_total") else "gauge"

    def series(self, now: Snapshot) -> Series | None:
        found = self.read(now)
        if isinstance(found, Mapping):
            return {key if isinstance(key, tuple) else (key,): value for key, value in found.items()}
        return None if found is None else {(): found}


def _of_fields() -> Iterator[Instrument]:
    def reader(field: str, *, is_of_ticks: bool) -> Callable[[Snapshot], Any]:
        return lambda now: getattr(now.done if is_of_ticks else now.run, field, None)

    for field, kind in get_type_hints(RunSnapshot, include_extras=True).items():
        for metric in getattr(kind, "__metadata__", ()):
            yield Instrument(metric.name, metric.help, reader(field, is_of_ticks=isinstance(metric, OfTicks)))


def model_of(config: Config) -> str:
    """Return the model that the oracle asks; `embedded` if it asks none."""
    return "embedded" if config.oracle.backend == "choice" else config.llm.model


def _messages(now: Snapshot) -> Series | None:
    if now.done is None:
        return None
    accepted, refused = (
        {name: getattr(counts, field) - getattr(now.before.get(name), field, 0) for name, counts in boxes.items()}
        for boxes, field in ((now.run.mailboxes, field) for field in ("accepted", "refused"))
    )
    counts = {
        # Every trigger has been answered once, by an update or by a question.
        "trigger": (now.done.updates + now.done.questions, 0),  # none is refused: agents get one at a time
        "update": (now.done.updates, refused["engine"]),
        "question": (accepted["oracle"], refused["oracle"]),
        "decided": (accepted["decisions"], refused["decisions"]),
    }
    outcomes = ("delivered", "refused")
    return {(kind, outcome): row[index] for kind, row in counts.items() for index, outcome in enumerate(outcomes)}


def _depths(now: Snapshot) -> Mapping[str, float]:
    boxes = now.run.mailboxes
    # A trigger without an answer waits in an agent's mailbox, or its answer waits in the engine's.
    answers = boxes["engine"].depth + boxes["engine"].waiting_senders
    return {"agents": max(0, now.run.unanswered - answers), **{name: box.depth for name, box in boxes.items()}}


def _restarts(now: Snapshot) -> Series | None:
    if now.done is None:
        return None
    return {
        ("agent", "crash"): now.done.unmoved[Source.CRASH],
        ("agent", "quarantine"): now.done.unmoved[Source.QUARANTINE],
        ("oracle", "crash"): now.run.oracle_restarts,
        ("oracle", "quarantine"): 0,  # at its limit the run ends instead
    }


def _fallback_limit(now: Snapshot) -> float | None:
    oracle = now.config.oracle
    # A run that takes fallbacks by choice has no limit on their share.
    return oracle.max_fallback_share if oracle.mode == "pace" and oracle.on_outage != "fallback" else None


def _run(now: Snapshot) -> Series:
    simulation = now.config.simulation
    return {(now.run_id, simulation.domain, now.config.oracle.backend, str(simulation.seed)): 1}


def _of_model(read: Callable[[RunSnapshot], float]) -> Callable[[Snapshot], Mapping[str, float]]:
    return lambda now: {model_of(now.config): read(now.run)}


def _of_shards(read: Callable[[Exchange], float | Mapping[str, float]]) -> Callable[[Snapshot], Any]:
    return lambda now: None if now.run.exchange is None else read(now.run.exchange)


INSTRUMENTS: tuple[Instrument, ...] = (
    *_of_fields(),
    Instrument("prism_run_info{run_id,scenario,backend,seed}", "Always 1.", _run),
    Instrument(
        "prism_ticks_replayed_total",
        "Ticks that this process did again, because they were in the journal but in no checkpoint.",
        lambda now: now.ticks_replayed,
    ),
    Instrument("prism_messages_total{kind,outcome}", "Messages between actors.", _messages),
    Instrument("prism_mailbox_messages{mailbox}", "Messages waiting.", _depths),
    Instrument("prism_actor_restarts_total{kind,reason}", "Crashes, by their consequence.", _restarts),
    Instrument(
        "prism_llm_calls_total{model,outcome}",
        "Calls to the model, by outcome.",
        lambda now: {(model_of(now.config), outcome): count for outcome, count in now.run.calls.items()},
    ),
    Instrument(
        "prism_llm_tokens_total{model,type}",
        "Tokens read and written by the model.",
        lambda now: {
            (model_of(now.config), "prompt"): now.run.tokens.prompt,
            (model_of(now.config), "completion"): now.run.tokens.completion,
        },
    ),
    Instrument(
        "prism_llm_cached_tokens_total{model}",
        "Tokens of prompts that the server had in its cache.",
        _of_model(lambda run: run.tokens.cached),
    ),
    Instrument(
        "prism_llm_wasted_tokens_total{model}",
        "Tokens of calls whose answer was not used.",
        _of_model(lambda run: run.tokens.wasted),
    ),
    Instrument(
        "prism_llm_cost_usd_total{model}",
        "Cost of the model in US dollars, by llm.prices; 0 without prices.",
        _of_model(lambda run: run.cost_usd),
    ),
    Instrument(
        "prism_llm_wasted_cost_usd_total{model}",
        "Cost of calls whose answer was not used, in US dollars, by llm.prices; 0 without prices.",
        _of_model(lambda run: run.wasted_usd),
    ),
    Instrument(
        "prism_llm_timeout_seconds",
        "The longest time of a call to a model: llm.timeout_s.",
        lambda now: now.config.llm.timeout_s,
    ),
    Instrument(
        "prism_oracle_deadline_seconds",
        "The longest time from a question to its answer: oracle.deadline_s.",
        lambda now: now.config.oracle.deadline_s,
    ),
    Instrument(
        "prism_fallback_share_limit",
        "The share of fallbacks above which the run stops; only where it stops.",
        _fallback_limit,
    ),
    Instrument(
        "prism_llm_budget{cap}",
        "Spend cap of the whole run; only caps that are set.",
        lambda now: {cap: most for cap, (_, most) in now.run.budgets.items()},
    ),
    Instrument(
        "prism_llm_budget_used{cap}",
        "Use of a spend cap in the whole run; only caps that are set.",
        lambda now: {cap: used for cap, (used, _) in now.run.budgets.items()},
    ),
    Instrument(
        "prism_oracle_breaker_state{state}",
        "1 for the state that the circuit breaker is in.",
        lambda now: {state.value: state == now.run.breaker for state in BreakerState},
    ),
    Instrument(
        "prism_shard_busy_seconds_total{shard}",
        "Seconds in which each shard has worked; only with run.shards.",
        _of_shards(lambda exchange: exchange.busy_s),
    ),
    Instrument(
        "prism_shard_bytes_total{direction}",
        "Bytes exchanged with shards; only with run.shards.",
        _of_shards(lambda exchange: {"to_shards": exchange.sent, "from_shards": exchange.received}),
    ),
    Instrument(
        "prism_shard_wait_seconds_total",
        "Seconds for which the engine has waited for shards; only with run.shards.",
        _of_shards(lambda exchange: exchange.waited_s),
    ),
    Instrument("prism_journal_bytes_total", "Bytes of the journal on disk.", lambda now: now.journal_bytes),
    Instrument("prism_journal_ticks_total", "Ticks of the journal on disk.", lambda now: now.journal_ticks),
    Instrument(
        "prism_checkpoint_timestamp_seconds",
        "Unix time of the latest checkpoint; 0 before the first.",
        lambda now: now.checkpoint_s,
    ),
    Instrument(
        "prism_event_loop_tasks",
        "Tasks of the event loop; NaN if they are not counted.",
        lambda now: math.nan if now.tasks is None else now.tasks,
    ),
)
