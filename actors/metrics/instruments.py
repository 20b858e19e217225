"""The table of all metrics of a run: name, kind, labels, help text, and the source of the numbers.

Labels are from closed sets, and every series exists from the start, so the number of series does not depend on the
number of agents. The world adds its own measures: see `prism.measure`. `docs/operations.md` explains all of them.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Literal, NamedTuple

from actors.core.snapshot import FAILURES, Exchange, RunSnapshot
from actors.metrics.snapshot import Snapshot
from actors.oracle.circuit_breaker import BreakerState
from prism.agents import Source
from prism.config import Config

TIMED = ("engine", "decisions", "oracle")
"""The mailboxes with many senders, whose waits are timed."""
OUTCOMES = ("ok", *FAILURES)

Series = Mapping[tuple[str, ...], float]
"""`{label values: number}`."""


Read = Callable[[Snapshot], Series | None]
"""Returns the series in a snapshot; None for no series."""


class Timing(NamedTuple):
    """A histogram of durations.

    Args:
        bounds_s: upper bounds of its buckets, in every run.
        limits: the limits of a run that are further bounds, so that no quantile is interpolated across a limit.
    """

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
MAILBOX_WAIT = Timing(
    "prism_mailbox_wait_seconds",
    ("mailbox",),
    (0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0),
    "Wait of the oldest message of a batch for its reader.",
)
TIMINGS = (TICK, COMMIT, QUEUE_WAIT, CALL, MAILBOX_WAIT)


class Instrument(NamedTuple):
    """A counter or a gauge, and its series in a snapshot: the same label values each time, or None for no series."""

    name: str
    kind: Literal["counter", "gauge"]
    labels: tuple[str, ...]
    help: str
    series: Read


def _one(read: Callable[[Snapshot], float]) -> Callable[[Snapshot], Series]:
    return lambda now: {(): read(now)}


def _each(read: Callable[[Snapshot], Mapping[str, float]]) -> Callable[[Snapshot], Series]:
    return lambda now: {(label,): value for label, value in read(now).items()}


def _committed(read: Callable[[RunSnapshot], Series]) -> Read:
    """Return the series at the end of the latest tick on disk; None while recorded ticks are done again."""
    return lambda now: None if now.committed is None else read(now.committed.run)


def _one_committed(read: Callable[[RunSnapshot], float]) -> Read:
    return _committed(lambda run: {(): read(run)})


def _each_committed(read: Callable[[RunSnapshot], Mapping[str, float]]) -> Read:
    return _committed(lambda run: {(label,): value for label, value in read(run).items()})


def _transitions(run: RunSnapshot) -> Series:
    return {(before, after): count for (before, after), count in run.transitions.items()}


def _messages(now: Snapshot) -> Series | None:
    if now.committed is None:
        return None
    run = now.committed.run
    accepted, refused = (
        {name: getattr(counts, field) - getattr(now.before.get(name), field, 0) for name, counts in boxes.items()}
        for boxes, field in ((now.run.mailboxes, field) for field in ("accepted", "refused"))
    )
    counts = {
        # Every trigger has been answered once, by an update or by a question.
        "trigger": (run.updates + run.questions, now.triggers_refused),
        "update": (run.updates, refused["engine"]),
        "question": (accepted["oracle"], refused["oracle"]),
        "decided": (accepted["decisions"], refused["decisions"]),
    }
    outcomes = ("delivered", "refused")
    return {(kind, outcome): row[index] for kind, row in counts.items() for index, outcome in enumerate(outcomes)}


def _depths(now: Snapshot) -> Series:
    boxes = now.run.mailboxes
    # A trigger without an answer waits in an agent's mailbox, or its answer waits in the engine's.
    answers = boxes["engine"].depth + boxes["engine"].waiting_senders
    return {("agents",): max(0, now.run.unanswered - answers), **{(name,): boxes[name].depth for name in TIMED}}


def _depths_max(now: Snapshot) -> Series:
    return {("agents",): now.agents_depth_max, **{(name,): now.run.mailboxes[name].depth_max for name in TIMED}}


def _restarts(now: Snapshot) -> Series | None:
    if now.committed is None:
        return None
    return {
        ("agent", "crash"): now.committed.run.unmoved[Source.CRASH],
        ("agent", "quarantine"): now.committed.run.unmoved[Source.QUARANTINE],
        ("oracle", "crash"): now.run.oracle_restarts,
        ("oracle", "quarantine"): 0,  # at its limit the run ends instead
    }


def model_of(config: Config) -> str:
    """Return the model that the oracle asks; `embedded` if it asks none."""
    return "embedded" if config.oracle.backend == "choice" else config.llm.model


def _tokens(now: Snapshot) -> Series:
    model, tokens = model_of(now.config), now.run.tokens
    return {(model, "prompt"): tokens.prompt, (model, "completion"): tokens.completion}


def _of_model(read: Callable[[RunSnapshot], float]) -> Callable[[Snapshot], Series]:
    return lambda now: {(model_of(now.config),): read(now.run)}


def _fallback_limit(now: Snapshot) -> Series:
    oracle = now.config.oracle
    # A run that takes fallbacks by choice has no limit on their share.
    stops = oracle.mode == "pace" and oracle.on_outage != "fallback"
    share = oracle.max_fallback_share if stops else None
    return {} if share is None else {(): share}


def _calls(now: Snapshot) -> Series:
    return {(model_of(now.config), outcome): count for outcome, count in now.run.calls.items()}


def _breaker(now: Snapshot) -> Series:
    return {(state.value,): state == now.run.breaker for state in BreakerState}


def _build(_: Snapshot) -> Series:
    return {(version("prism-sim"), platform.python_version()): 1}


def _run(now: Snapshot) -> Series:
    simulation = now.config.simulation
    return {(now.run_id, simulation.domain, now.config.oracle.backend, str(simulation.seed)): 1}


def _counter(name: str, series: Read, text: str, labels: tuple[str, ...] = ()) -> Instrument:
    return Instrument(name, "counter", labels, text, series)


def _gauge(name: str, series: Read, text: str, labels: tuple[str, ...] = ()) -> Instrument:
    return Instrument(name, "gauge", labels, text, series)


def _of_shards(read: Callable[[Exchange], Series]) -> Read:
    return lambda now: None if now.run.exchange is None else read(now.run.exchange)


INSTRUMENTS: tuple[Instrument, ...] = (
    _gauge("prism_build_info", _build, "Always 1.", ("version", "python")),
    _gauge("prism_run_info", _run, "Always 1.", ("run_id", "scenario", "backend", "seed")),
    _gauge("prism_run_active", _one(lambda now: now.active), "1 while the run is under way, else 0."),
    _gauge("prism_population", _one(lambda now: now.run.population), "Agents in the run."),
    _gauge("prism_agents", _each_committed(lambda run: run.agents), "Agents in each state.", ("state",)),
    _counter(
        "prism_agent_transitions_total",
        _committed(_transitions),
        "Changes of state, for each pair that the chart allows.",
        ("from_state", "to_state"),
    ),
    _counter("prism_ticks_total", _one_committed(lambda run: run.tick), "Ticks committed."),
    _counter(
        "prism_ticks_replayed_total",
        _one(lambda now: now.ticks_replayed),
        "Ticks that this process did again, because they were in the journal but in no checkpoint.",
    ),
    _gauge("prism_ticks_planned", _one(lambda now: now.run.ticks), "Ticks of the whole run."),
    _gauge(
        "prism_tick_interval_seconds",
        _one(lambda now: now.run.tick_s),
        "The least seconds between the beginnings of two ticks: run.tick_s.",
    ),
    _gauge("prism_round", _one_committed(lambda run: run.round), "Rounds committed."),
    _counter("prism_messages_total", _messages, "Messages between actors.", ("kind", "outcome")),
    _gauge("prism_mailbox_messages", _depths, "Messages waiting.", ("mailbox",)),
    _gauge("prism_mailbox_depth_max", _depths_max, "The most messages that have waited at once.", ("mailbox",)),
    _counter("prism_actor_restarts_total", _restarts, "Crashes, by their consequence.", ("kind", "reason")),
    _gauge("prism_agents_quarantined", _one_committed(lambda run: run.quarantined), "Quarantined agents."),
    _counter("prism_llm_calls_total", _calls, "Calls to the model, by outcome.", ("model", "outcome")),
    _counter("prism_llm_tokens_total", _tokens, "Tokens read and written by the model.", ("model", "type")),
    _counter(
        "prism_llm_cached_tokens_total",
        _of_model(lambda run: run.tokens.cached),
        "Tokens of prompts that the server had in its cache.",
        ("model",),
    ),
    _counter(
        "prism_llm_wasted_tokens_total",
        _of_model(lambda run: run.tokens.wasted),
        "Tokens of calls whose answer was not used.",
        ("model",),
    ),
    _counter(
        "prism_llm_cost_usd_total",
        _of_model(lambda run: run.cost_usd),
        "Cost of the model in US dollars, by llm.prices; 0 without prices.",
        ("model",),
    ),
    _counter(
        "prism_llm_wasted_cost_usd_total",
        _of_model(lambda run: run.wasted_usd),
        "Cost of calls whose answer was not used, in US dollars, by llm.prices; 0 without prices.",
        ("model",),
    ),
    _gauge(
        "prism_llm_timeout_seconds",
        _one(lambda now: now.config.llm.timeout_s),
        "The longest time of a call to a model: llm.timeout_s.",
    ),
    _gauge(
        "prism_oracle_deadline_seconds",
        _one(lambda now: now.config.oracle.deadline_s),
        "The longest time from a question to its answer: oracle.deadline_s.",
    ),
    _gauge(
        "prism_fallback_share_limit",
        _fallback_limit,
        "The share of fallbacks above which the run stops; only where it stops.",
    ),
    _gauge(
        "prism_llm_budget",
        lambda now: {(cap,): most for cap, (_, most) in now.run.budgets.items()},
        "Spend cap of the whole run; only caps that are set.",
        ("cap",),
    ),
    _gauge(
        "prism_llm_budget_used",
        lambda now: {(cap,): used for cap, (used, _) in now.run.budgets.items()},
        "Use of a spend cap in the whole run; only caps that are set.",
        ("cap",),
    ),
    _gauge("prism_llm_requests_in_flight", _one(lambda now: now.run.in_flight), "Calls to the oracle under way."),
    _gauge(
        "prism_llm_concurrency_limit",
        _one(lambda now: now.run.concurrency_limit),
        "The most calls that may be under way now.",
    ),
    _gauge(
        "prism_llm_concurrency_limit_max",
        _one(lambda now: now.run.concurrency_max),
        "The most that the limit on calls may become.",
    ),
    _counter(
        "prism_llm_answers_total",
        _each(lambda now: now.run.models),
        "Answers of each model, from its server or a tape; only with llm.by.",
        ("model",),
    ),
    _gauge("prism_oracle_queue_depth", _one(lambda now: now.run.waiting), "Questions in the queue of the oracle."),
    _counter(
        "prism_decisions_total",
        _each_committed(lambda run: run.decisions),
        "Transitions, by what decided them.",
        ("source",),
    ),
    _counter(
        "prism_fallbacks_total",
        _each_committed(lambda run: run.fallbacks),
        "Decisions that the oracle did not make, by the reason.",
        ("reason",),
    ),
    _counter(
        "prism_repaired_decisions_total",
        _one_committed(lambda run: run.repaired),
        "Decisions of a model that were read in spite of a loose wording.",
    ),
    _counter(
        "prism_interventions_total",
        _each_committed(lambda run: run.interventions),
        "Interventions carried out, by what they did.",
        ("kind",),
    ),
    _counter(
        "prism_oracle_retries_total",
        _each(lambda now: now.run.retries),
        "Questions asked again, by why the call before failed.",
        ("reason",),
    ),
    _counter(
        "prism_oracle_shared_questions_total",
        _each(lambda now: now.run.sharing),
        "Questions that share judgements and have an answer, by their part.",
        ("part",),
    ),
    _gauge(
        "prism_oracle_sharing_divergence",
        _one(lambda now: now.run.sharing_bits),
        "Jensen-Shannon divergence of shared from individual judgements, by audits; 0 before the first.",
    ),
    _counter(
        "prism_shard_busy_seconds_total",
        _of_shards(lambda exchange: {(shard,): busy_s for shard, busy_s in exchange.busy_s.items()}),
        "Seconds in which each shard has worked; only with run.shards.",
        ("shard",),
    ),
    _counter(
        "prism_shard_bytes_total",
        _of_shards(lambda exchange: {("to_shards",): exchange.sent, ("from_shards",): exchange.received}),
        "Bytes exchanged with shards; only with run.shards.",
        ("direction",),
    ),
    _counter(
        "prism_shard_wait_seconds_total",
        _of_shards(lambda exchange: {(): exchange.waited_s}),
        "Seconds for which the engine has waited for shards; only with run.shards.",
    ),
    _gauge(
        "prism_oracle_outage_seconds",
        _each(lambda now: now.run.outage_s),
        "Seconds for which questions have been held because the server is away, by why; 0 when it is not.",
        ("reason",),
    ),
    _gauge("prism_oracle_breaker_state", _breaker, "1 for the state that the circuit breaker is in.", ("state",)),
    _counter("prism_guard_errors_total", _one_committed(lambda run: run.guard_errors), "Guards that raised."),
    _counter("prism_journal_bytes_total", _one(lambda now: now.journal_bytes), "Bytes of the journal on disk."),
    _counter("prism_journal_ticks_total", _one(lambda now: now.journal_ticks), "Ticks of the journal on disk."),
    _gauge(
        "prism_checkpoint_timestamp_seconds",
        _one(lambda now: now.checkpoint_s),
        "Unix time of the latest checkpoint; 0 before the first.",
    ),
    _gauge(
        "prism_event_loop_tasks",
        _one(lambda now: math.nan if now.tasks is None else now.tasks),
        "Tasks of the event loop; NaN if they are not counted.",
    ),
)
