"""A whole simulation: its actors, and the order in which they start and stop.

Start: the oracle, the agents, then the engine. Stop, in reverse: the engine finishes its tick, the agents' mailboxes
are closed and each agent ends when it has read its last message, then the oracle is cancelled. Agents are not
cancelled, because cancelled tasks stay in reference cycles until the garbage collector finds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import anyio
import msgspec
import structlog

from actors.core.events import Event, PhaseChanged, emit
from actors.core.mailbox import Mailbox, MailboxStatistics
from actors.core.messages import Codec, Decided
from actors.core.phase import FALLBACK_SHARE, SPEND_CAP, Phase
from actors.core.ports import Observer, Record
from actors.core.snapshot import CALL_OUTCOMES, FAILURES, FALLBACK_REASONS, Pairs, RunSnapshot, Tokens, state_pairs
from actors.core.state import RoundsTable, RunState
from actors.oracle.actor import OracleActor
from actors.oracle.sharing import Sharing
from actors.runtime.activation import activation_of
from actors.runtime.counters import Counters, round_of
from actors.runtime.engine import EngineActor, do_nothing
from actors.runtime.gc_pause import agents_frozen, collector_paused
from actors.runtime.supervisor import Supervisor
from prism.agents import MOVED, Question
from prism.agents.waves import Answered, Questions
from prism.columns import Bundles, Columns, Ints
from prism.config import Config
from prism.domain import Domain, HasTurns, Measure, Stretch
from prism.llm.spending import cost_usd, wasted
from prism.sharing.archetypes import Role, sharing_table
from prism.statechart import Oracle, Statechart

EVERY_S = 0.25
"""The time between two looks at the phase."""
DISK_S = 2.0
"""A write that takes longer than this means that the run waits for the disk."""
ORACLE_S = 10.0
"""A tick that waits longer for an answer means that the run waits for the oracle, even if no outage is known."""


class Standing(NamedTuple):
    """The phase of a simulation now, and why it waits."""

    phase: Phase
    reason: str = ""


def standing_of(
    now: float,
    *,
    is_recovering: bool,
    is_stopping: bool,
    outage: str | None,
    asks_since: float | None,
    writes_since: float | None,
) -> Standing:
    """Return the phase of a simulation, by why the server is away, and since when the tick and a write have waited."""
    waits = Standing(Phase.RUNNING)
    if writes_since is not None and now - writes_since >= DISK_S:
        waits = Standing(Phase.WAITING_FOR_DISK, "a write takes long")
    elif outage is not None:
        waits = Standing(Phase.WAITING_FOR_ORACLE, outage)
    elif asks_since is not None and now - asks_since >= ORACLE_S:
        waits = Standing(Phase.WAITING_FOR_ORACLE, "an answer takes long")
    if is_stopping:
        return Standing(Phase.STOPPING, waits.reason)
    return Standing(Phase.RECOVERING, waits.reason) if is_recovering else waits


class PhaseWatch:
    def __init__(self) -> None:
        self.phase = Phase.STARTING
        self._since = anyio.current_time()

    def enter(self, phase: Phase, reason: str = "", say: Callable[[Event], None] = emit) -> None:
        """Note the phase now, and say if it has changed."""
        if phase is self.phase:
            return
        before, since, now = self.phase, self._since, anyio.current_time()
        self.phase, self._since = phase, now
        say(PhaseChanged(phase=phase, before=before, after_s=round(now - since, 3), reason=reason))

    async def run(self, standing: Callable[[], Standing]) -> None:
        while True:
            self.enter(*standing())
            await anyio.sleep(EVERY_S)


log = structlog.get_logger(__name__)
N = TypeVar("N", int, float)


class Progress(msgspec.Struct, frozen=True):
    tick: int
    ticks: int
    agents_by_state: dict[str, int]
    transitions: int
    oracle_queue: int
    oracle_in_flight: int
    oracle_latency_s_p50: float
    oracle_latency_s_p95: float
    fallbacks: int
    quarantined: int
    phase: Phase = Phase.RUNNING
    phase_reason: str = ""
    """The reason why the run waits; empty if it does not."""
    waiting_for_oracle_s: float | None = None
    """The seconds for which questions have been held, because the server is away; None if it is not."""
    outage_reason: str = ""
    cost_usd: float | None = None
    """The cost of the model in the whole run so far; None without prices."""
    is_replaying: bool = False
    """True while a resumed run does ticks again that are in its journal, before new ones. A replay has no new ones."""
    to_redo: int = 0
    """The recorded ticks that are still to be done again."""
    highlights: Callable[[], Sequence[str]] = tuple
    """Returns a few lines about the world; it is called only if they are shown."""


class Simulation:
    """The actors of one run, by default with the domain's embedded oracle, and with nothing recorded."""

    def __init__(  # each of its neighbours once
        self,
        config: Config,
        domain: Domain,
        oracle: Oracle[Any] | None = None,
        record: Record | None = None,
        observer: Observer | None = None,
        engine: Callable[..., EngineActor] = EngineActor,
    ) -> None:
        if isinstance(domain, HasTurns):
            domain.prepare(domain.size * config.simulation.length)
        self.config = config
        self.domain = domain
        self.ticks = config.simulation.length
        self._codec = Codec(domain.context_type, domain.effect_type)
        self._record = record or Record()
        self._observer = observer or Observer()
        self._questions = Mailbox[bytes]("oracle", config.oracle.queue_size)
        self.counters = Counters(domain.chart, domain.size)
        oracle = oracle or domain.oracle()
        inbox = Mailbox[bytes]("engine", config.run.mailbox_capacity)
        limits = config.run.restart_intensity, config.run.restart_period_ticks
        self.supervisor = Supervisor(domain, self._codec, inbox, *limits, ask=config.statechart.oracle_enabled)
        self.agents = activation_of(config.run, self._codec, self.supervisor)
        """The way in which the agents take their turns."""
        self.engine = engine(
            domain.world,
            self._codec,
            self.agents,
            self._questions,
            config=config,
            counters=self.counters,
            recorder=self._record,
            observer=self._observer,
            answer_now=self._answer_now,
            choose_now=self._choose_now,
            stretch=self._stretch,
        )
        table = sharing_table(config, domain, oracle)
        self.oracle = OracleActor(
            oracle,
            domain.asker,
            self._codec,
            self.engine.decisions,
            config.oracle,
            answers=self._record,
            on_spent=partial(self._stop_for, SPEND_CAP),
            on_spoilt=partial(self._stop_for, FALLBACK_SHARE),
            prices=config.llm.prices,
            ticks=lambda: self.engine.tick,
            is_awaited=lambda: self.engine.waits_since is not None,
            observer=self._observer,
            seed=config.simulation.seed,
            sharing=None if table is None else Sharing(table, oracle, domain.asker),
        )
        self.engine.may_be_spent = self.oracle.admission.may_be_spent
        self.engine.on_computed = partial(self.oracle.count_chosen, each_s=0.0)
        self.stopped_for: str | None = None
        """The reason for which the oracle has ended the run early: the spend cap, or too many fallbacks."""
        self._guards_at_start = self._chart_guard_errors()
        """The counts of the chart, which an earlier run of this process may have used."""
        self._guards_logged: set[str] = set()
        self._guards_before: dict[str, int] = {}
        self._rounds: RoundsTable = {}
        self._has_columns = False
        """True once the rounds have all columns of this run."""
        self._observer.run_built(self)

    def _answer_now(self, questions: Sequence[Question[Any]]) -> Sequence[Decided] | None:
        # In `realtime` the clock decides which answers are in time.
        return None if self.config.oracle.mode == "realtime" else self.oracle.answer_now(questions)

    def _choose_now(self, questions: Questions[Any]) -> Ints | None:
        return self.oracle.choose_now(questions) if self._answers_now else None

    def _stretch(self, ticks: range, pending: Sequence[Answered]) -> Stretch | None:
        if not (self._answers_now and self.oracle.may_choose):
            return None
        begun, first, ticks_per_round = perf_counter(), ticks.start, self.config.simulation.ticks_per_round
        ticks = range(first, min(ticks.stop, first - first % ticks_per_round + ticks_per_round))
        found = self.agents.stretch(ticks, self.config.deliberation_ticks, self.oracle.oracle, pending)
        if found is not None and (number := found.asked):  # an answer takes no longer than any other turn
            self.oracle.count_chosen(number, (perf_counter() - begun) / found.triggers)
        return found

    @property
    def _answers_now(self) -> bool:
        return not self.agents.mailboxes and self.config.oracle.mode != "realtime"

    def restore(self, state: RunState, columns: Columns) -> None:
        self.domain.world.restore(columns)
        self.engine.restore(state.engine)
        self.counters.restore(state.counters)
        self.supervisor.restore(state.supervisor)
        self.oracle.statistics.restore(state.oracle)
        self._guards_before = dict(state.guards)
        self._rounds = {name: [*values] for name, values in state.rounds.items()}

    def state(self) -> RunState:
        return RunState(
            engine=self.engine.state(),
            counters=self.counters.state(),
            supervisor=self.supervisor.state(),
            oracle=self.oracle.state(self.engine.open_questions.is_open),
            guards=self.guard_errors(),
            rounds={name: [*values] for name, values in self.rounds.items()},
        )

    @property
    def rounds(self) -> RoundsTable:
        """The numbers of the rounds that have ended. A column that a fork has added is 0 before."""
        if not self._has_columns:
            self._with_columns(self.round_now())
            self._has_columns = True
        return self._rounds

    def round_now(self) -> dict[str, int | float]:
        return round_of(self.counters, self.domain, self.engine.tick, self.config.simulation.ticks_per_round)

    def _with_columns(self, names: Iterable[str]) -> RoundsTable:
        ended = len(self._rounds.get("round", ()))
        for name in names:
            self._rounds.setdefault(name, [0] * ended)
        return self._rounds

    async def checkpoint(self) -> tuple[RunState, Bundles]:
        """Return everything that `restore` needs, between two ticks."""
        await self.engine.gather()
        return self.state(), Bundles.of([piece async for piece in self.engine.columns()])

    def mailbox_statistics(self) -> Mapping[str, MailboxStatistics]:
        boxes = {"engine": self.supervisor.engine, "decisions": self.engine.decisions, "oracle": self._questions}
        return {name: box.statistics() for name, box in boxes.items()}

    def snapshot(self) -> RunSnapshot:
        """Return the state of the run now. It costs about 0.1 ms, whatever the number of agents."""
        engine, counters, oracle = self.engine, self.counters, self.oracle
        written = oracle.statistics.spent_written
        return RunSnapshot(
            is_in_tick=engine.is_in_tick,
            tick=engine.tick,
            ticks=self.ticks,
            round=engine.tick // self.config.simulation.ticks_per_round,
            population=self.domain.size,
            agents=counters.agents_by_state(),
            transitions=transitions_by_pair(self.domain.chart, counters.rows),
            decisions=counters.decisions_by_source(),
            unmoved=counters.unmoved_by_source(),
            updates=self.updates,
            questions=counters.questions,
            unanswered=self.agents.unanswered,
            quarantined=self.supervisor.quarantined,
            oracle_restarts=self.supervisor.service_restarts,
            guard_errors=sum(self.guard_errors().values()),
            waiting=oracle.queue_depth,
            in_flight=oracle.in_flight,
            concurrency_limit=oracle.admission.pace.limit,
            concurrency_max=self.config.oracle.max_concurrency,
            breaker=oracle.admission.breaker.state.value,
            outage_s=among(FAILURES, [oracle.outage] if oracle.outage else [], 0.0),
            retries=among(FAILURES, oracle.statistics.retries_written.items(), 0),
            fallbacks=among(FALLBACK_REASONS, engine.open_questions.fallbacks.items(), 0),
            calls=among(CALL_OUTCOMES, ((each.outcome, each.calls) for each in written), 0),
            tokens=Tokens(
                prompt=sum(each.prompt_tokens for each in written),
                completion=sum(each.completion_tokens for each in written),
                cached=sum(each.cached_tokens for each in written),
                wasted=sum(each.tokens for each in wasted(written)),
            ),
            cost_usd=cost_usd(written, self.config.llm.prices) or 0.0,
            wasted_usd=cost_usd(wasted(written), self.config.llm.prices) or 0.0,
            budgets=oracle.budgets,
            tick_s=self.config.run.tick_s,
            sharing={role.value: oracle.statistics.roles[role] for role in Role},
            sharing_bits=0.0 if oracle.sharing is None else oracle.sharing.bits,
            exchange=deepcopy(engine.exchange),
            mailboxes=self.mailbox_statistics(),
        )

    @property
    def mailboxes(self) -> Sequence[Mailbox[bytes]]:
        return self.agents.mailboxes

    @property
    def tick(self) -> int:
        return self.engine.tick

    @property
    def updates(self) -> int:
        return sum(self.counters.rows.values())

    def measures(self) -> Sequence[Measure]:
        """Return the world's measures. Only between two ticks."""
        return self.domain.world.measures()

    def guard_errors(self) -> dict[str, int]:
        return dict(Counter(self._guards_before) + (self._chart_guard_errors() - self._guards_at_start))

    def _chart_guard_errors(self) -> Counter[str]:
        return Counter({seen.row.name: seen.count for seen in self.domain.chart.guard_errors})

    async def run(
        self,
        on_tick: Callable[[int], None] | None = None,
        between: Callable[[], Awaitable[None]] = do_nothing,
        every: int = 1,
    ) -> None:
        """Run to the last tick. After a `stop`, end with the tick, or the ticks run together, under way.

        Args:
            on_tick: called with the number of ticks committed, after each.
            between: awaited after `on_tick`, while nothing changes.
            every: these two look at the run only after multiples of this number of ticks, and at ends of rounds.

        Raises:
            ExceptionGroup: the engine failed, or the oracle failed for good.
        """
        if on_tick is None and between is do_nothing:
            every = self.config.simulation.ticks_per_round

        def after_tick(tick: int) -> None:
            for seen in self.domain.chart.guard_errors:
                row = seen.row.name
                if row not in self._guards_logged and seen.count > self._guards_at_start[row]:
                    self._guards_logged.add(row)
                    log.warning("guard_raised", row=row, error=seen.first, tick=tick)
            if tick % self.config.simulation.ticks_per_round == 0:
                now = self.round_now()
                for name, values in self._with_columns(now).items():
                    values.append(now.get(name, 0))
            if on_tick is not None:
                on_tick(tick)

        async with anyio.create_task_group() as services:
            service = partial(self.oracle.run, self._questions)
            services.start_soon(self.supervisor.run_service, "oracle", service, lambda: self.engine.tick)
            services.start_soon(self._observer.run)
            async with anyio.create_task_group() as agents:
                with collector_paused():
                    self.agents.begin(agents)
                    await anyio.lowlevel.checkpoint()
                with agents_frozen(len(self.agents.mailboxes)), structlog.contextvars.bound_contextvars(actor="engine"):
                    await self.engine.run(self.ticks, after_tick, between, every)
                    await self.engine.gather()
                self.engine.stop()
                self.agents.end()
            services.cancel_scope.cancel()

    def stop(self) -> None:
        """Finish the tick, or those that are run together, then end.

        If that would wait for a server that is away, the tick is given up.
        """
        self.oracle.stop_waiting()
        self.engine.stop()

    def _stop_for(self, reason: str) -> None:
        self.stopped_for = reason
        self.stop()

    def standing(self) -> Standing:
        outage = self.oracle.outage
        return standing_of(
            anyio.current_time(),
            is_recovering=self._record.is_recorded(self.engine.tick),
            is_stopping=self.engine.is_stopping,
            outage=None if outage is None else outage[0],
            asks_since=self.engine.waits_since,
            writes_since=self._record.stands_since(),
        )

    def progress(self) -> Progress:
        latencies, outage = self.oracle.statistics.latencies, self.oracle.outage
        phase, reason = self.standing()
        return Progress(
            phase=phase,
            phase_reason=reason,
            tick=self.engine.tick,
            ticks=self.ticks,
            agents_by_state=self.counters.agents_by_state(),
            transitions=self.counters.transitions,
            oracle_queue=self.oracle.queue_depth,
            oracle_in_flight=self.oracle.in_flight,
            oracle_latency_s_p50=latencies.percentile(0.50),
            oracle_latency_s_p95=latencies.percentile(0.95),
            fallbacks=sum(self.oracle.statistics.fallbacks.values()) + self.engine.open_questions.late,
            quarantined=self.supervisor.quarantined,
            waiting_for_oracle_s=None if outage is None else outage[1],
            outage_reason="" if outage is None else outage[0],
            cost_usd=self.oracle.cost_usd,
            is_replaying=self.engine.is_replaying and not self._record.is_recorded(self.ticks - 1),
            to_redo=max(0, min(self._record.recorded_ticks(), self.ticks) - self.engine.tick),
            highlights=self.domain.world.highlights,
        )


def transitions_by_pair(chart: Statechart[Any], rows: Mapping[tuple[str, str, str, str], int]) -> Pairs:
    counts = dict.fromkeys(state_pairs(chart), 0)
    for (before, after, _, source), count in rows.items():
        if source in MOVED:
            counts[before, after] = counts.get((before, after), 0) + count
    return counts


def among(names: Iterable[str], numbers: Iterable[tuple[str, N]], zero: N) -> dict[str, N]:
    """Return the sums of the numbers by name, for every name; any other name, as of a custom oracle, is `error`."""
    sums = dict.fromkeys(names, zero)
    for name, number in numbers:
        sums[name if name in sums else "error"] += number
    return sums
