"""The oracle actor: it decides when a question is asked, and records a fallback when no answer comes.

    mailbox -> waiting questions -> breaker, spend cap, rate, concurrency -> the oracle -> answer, or recorded fallback
    -> counted, recorded, sent to the engine

Model servers queue without limit and refuse nothing, so admission is done here. A question has a deadline, counted from
its arrival, while it waits and while it is asked. Past it, the first option is taken and recorded as `timeout`. It is
open until its answer is sent: a crash of the actor forgets no open question, and no answer that is recorded.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import anyio
import anyio.abc
import structlog

from actors.core.errors import JournalError, first_error
from actors.core.mailbox import Mailbox
from actors.core.messages import Codec, Decided, QuestionName, Retried, name_of_question
from actors.core.ports import Observer, Record
from actors.core.state import OracleState
from actors.oracle.admission import Admission, Answer, Call, FairQueue, WaitingQuestion, caps_of, fallback
from actors.oracle.call import call_oracle
from actors.oracle.oracle_counters import FallbackShare, OracleCounters
from actors.oracle.sharing import Sharing
from prism.agents import FALLBACKS, Question, Source, StatefulAgent
from prism.agents.waves import Questions
from prism.columns import Ints
from prism.config import OracleConfig, PricesConfig
from prism.errors import OracleFailedError, OracleOutageError, OracleRefusedError, OracleUnavailableError
from prism.llm.headers import ASKED, Asked, question_id
from prism.llm.spending import cost_usd, metered, tokens_of
from prism.statechart import ATTEMPT, Oracle

COMPUTED_AT_ONCE: Final = 64
"""Answers that are computed before the event loop gets a turn: about 5 ms."""
SENT_AT_ONCE: Final = 512
"""Answers that are sent before the event loop gets a turn."""
AWAITED_EVERY_S: Final = 0.1
"""The time between two looks at whether the tick can end, while a run is to stop."""


class OracleActor:
    """An actor that answers questions within the limits of the configuration.

    Args:
        asker: returns the agent that a question is about, as the oracle may see it.
        answers: keeps every answer, and has those that were recorded before a resume.
        on_spent: called once when a spend cap is reached at which the run stops, and no call is under way any more.
        on_spoilt: called once when too many of the latest choices are fallbacks.
        ticks: returns the whole ticks of the run so far, for an error message.
        is_awaited: returns whether the tick under way cannot end without an answer.
        seed: of the run, for the ids of questions.
    """

    def __init__(  # noqa: PLR0913  # each of its neighbours once
        self,
        oracle: Oracle[Any],
        asker: Callable[[Question[Any]], StatefulAgent[Any]],
        codec: Codec,
        engine: Mailbox[bytes],
        config: OracleConfig,
        *,
        answers: Record | None = None,
        on_spent: Callable[[], None] = lambda: None,
        on_spoilt: Callable[[], None] = lambda: None,
        prices: PricesConfig | None = None,
        ticks: Callable[[], int] = lambda: 0,
        is_awaited: Callable[[], bool] = lambda: True,
        observer: Observer | None = None,
        seed: int = 0,
        sharing: Sharing | None = None,
    ) -> None:
        self.oracle, self.sharing = oracle, sharing
        self.statistics = OracleCounters()
        self.admission = Admission(config, oracle, self._used, ticks)
        self._asker, self._codec, self._engine = asker, codec, engine
        self._config = config
        self._answers = answers or Record()
        self._on_spent, self._is_spent = on_spent, False
        self._prices = prices or PricesConfig()
        self._ticks, self._is_awaited = ticks, is_awaited
        self._observer = observer or Observer()
        self._seed = seed
        is_unlimited = config.rate_per_s is None and not caps_of(config) and sharing is None
        self._computes = is_unlimited and not (oracle.waits or oracle.replays)
        """True if many questions may be answered at once: the oracle computes its answers, and there is no limit."""
        # A built-in choice fails only at a spend cap: without one, its answers are not counted one by one.
        is_bound = self.admission.holds or (not oracle.waits and bool(caps_of(config)))
        self._share = FallbackShare(config.max_fallback_share if is_bound else None, on_spoilt)
        self._process = secrets.token_hex(3)
        """A name of this process: it keeps the requests of two processes apart, and nothing else depends on it."""
        self._open: dict[QuestionName, WaitingQuestion] = {}
        """`{name: question}` from its arrival until its answer is sent; it survives a crash of the actor."""
        self._waiting = FairQueue()
        self._calling = 0
        self._begun: set[QuestionName] = set()
        """Questions whose call has begun, and whose answer has not been sent."""
        self._is_running = self._is_stopping = False
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: anyio.abc.TaskGroup
        self._room = asyncio.Event()

    @property
    def queue_depth(self) -> int:
        return len(self._waiting)

    @property
    def in_flight(self) -> int:
        return self._calling

    @property
    def outage(self) -> tuple[str, float] | None:
        """The reason why the server is away, and the seconds for which questions were held; None if it is there."""
        if not self.admission.is_holding:
            return None
        return self.admission.outages.reason, self.admission.outage_s(anyio.current_time()) or 0.0

    @property
    def tokens(self) -> int:
        return tokens_of(self.statistics.spent)

    @property
    def cost_usd(self) -> float | None:
        return cost_usd(self.statistics.spent, self._prices)

    @property
    def budgets(self) -> dict[str, tuple[float, float]]:
        """`{cap: (used in the whole run, the most)}`, for each spend cap that is set: `calls`, `tokens`, `usd`."""
        used = self._used()
        return {name: (used[name], most) for name, most in caps_of(self._config).items()}

    def _used(self) -> Mapping[str, float]:
        return {"calls": self.statistics.calls, "tokens": self.tokens, "usd": self.cost_usd or 0.0}

    def state(self, is_open: Callable[[QuestionName], bool]) -> OracleState:
        """Return its counts. After a resume, a question without an answer yet is asked, and counted, again."""
        return self.statistics.state(is_open, has_ended=not self._is_running)

    # Answers that are computed in the turn of the engine

    def answer_now(self, questions: Sequence[Question[Any]]) -> list[Decided] | None:
        """Return the answers to questions at once; None if they must be put into the mailbox.

        An oracle that waits, has limits, or computes each answer by itself needs the mailbox. The engine takes the
        answers in the same turn, so they are counted, and no question is open.
        """
        begun = anyio.current_time()
        states = None
        if self._computes:
            with suppress(Exception):  # of foreign code: asked by itself, only the question at fault gets a fallback
                states = self.oracle.answer_all(questions)
        if states is None:
            return None
        lasted_s, found, computed = anyio.current_time() - begun, list[Decided](), 0
        source, method = self.oracle.source, self.oracle.method
        for question, state in zip(questions, states, strict=True):
            decided = self._answers.recorded_answer(question)
            if decided is not None:
                self.statistics.count_recorded(decided)
                self.statistics.close(name_of_question(question))
            else:
                tick, agent, trigger = question.tick, question.agent, question.trigger
                decided = Decided(tick, agent, trigger, state, source, "", "", lasted_s, (), method)
                computed += 1
            found.append(decided)
        if computed:
            self.count_chosen(computed, lasted_s / len(questions))
        return found

    @property
    def may_choose(self) -> bool:
        """True if it computes its answers, and no recorded answer may exist."""
        return self._computes and not self._answers.has_answers()

    def choose_now(self, questions: Questions[Any]) -> Ints | None:
        """Return the answers to questions in columns; None if they must be made one by one, for `answer_now`."""
        begun, found = anyio.current_time(), None
        if self.may_choose:
            with suppress(Exception):
                found = self.oracle.choose(questions)
        if found is not None:
            self.count_chosen(len(questions), (anyio.current_time() - begun) / len(questions))
        return found

    def count_chosen(self, number: int, each_s: float) -> None:
        """Count answers that an embedded choice has given without this actor."""
        self._observer.computed(number, each_s)
        self.statistics.count_computed(self.oracle.method, each_s, number)

    # The life of the actor

    def stop_waiting(self) -> None:
        """Stop waiting for a server that is away, or that is found to be away later.

        A probe under way may take as long as any call. So the actor ends without the probe's outcome.
        """
        if self._is_running and not self._is_stopping:
            self._tasks.start_soon(self._give_up_waiting)
        self._is_stopping = True

    async def _give_up_waiting(self) -> None:
        """End the actor as soon as the tick under way waits for a server that is away, or at a spend cap."""
        since = now = anyio.current_time()
        while not (self._is_awaited() and (self._is_spent or self.admission.is_vain(since, now))):
            await anyio.sleep(AWAITED_EVERY_S)
            now = anyio.current_time()
        raise self.admission.spent_error() if self._is_spent else self.admission.outage_error(now)

    async def run(self, mailbox: Mailbox[bytes]) -> None:
        """Answer questions until the mailbox closes.

        Raises:
            OracleUnavailableError: there is no oracle to ask, now or later.
            JournalError: an answer cannot be recorded.
        """
        self._waiting, self._calling, self._begun = FairQueue(), 0, set()
        self.admission.breaker.abandoned()
        if self.sharing is not None:
            self.sharing.load(self._answers.judgements(), self._ticks())
            self.sharing.begin()
        try:
            async with anyio.create_task_group() as self._tasks:
                self._is_running = True
                if self._is_stopping:
                    self._tasks.start_soon(self._give_up_waiting)
                self._accept(list(self._open.values()))
                while batch := await mailbox.receive_all():
                    now = anyio.current_time()
                    arrived = [self.admission.arrived(self._codec.question(encoded), now) for encoded in batch]
                    # They count as open before the domain or the oracle sees any of them: a crash at one question must
                    # not lose the others.
                    self._open.update({waiting.name: waiting for waiting in arrived})
                    self._accept(arrived)
                    while len(self._waiting) >= self._config.queue_size:  # the mailbox fills, and refuses
                        self._room = asyncio.Event()
                        await self._room.wait()
        except BaseExceptionGroup as group:
            for kind in (OracleUnavailableError, JournalError):
                if (error := first_error(group, kind)) is not None:
                    raise error from None
            raise
        finally:
            self._is_running = False
            if self._timer is not None:
                self._timer.cancel()
            self.statistics.report(anyio.current_time())

    def _accept(self, arrived: list[WaitingQuestion]) -> None:
        """Send recorded answers again and answers from known judgements, replay a tape, and queue the other questions.

        A decided answer comes from an actor that crashed before it sent it; it is in the log, so it stays valid.
        """
        recorded, shared, answers = list[WaitingQuestion](), list[WaitingQuestion](), list[Answer]()
        sharing, upcoming = self.sharing, deque(arrived)
        while upcoming:
            waiting = upcoming.popleft()
            if sharing is not None:
                waiting = sharing.placed(waiting)
            is_new = waiting.decided is None  # otherwise it was counted and settled before the actor crashed
            if is_new and (known := self._answers.recorded_answer(waiting.question)) is not None:
                self.statistics.count_recorded(known)
                waiting = waiting._replace(decided=known)
            self._open[waiting.name] = waiting
            if (decided := waiting.decided) is not None:
                recorded.append(waiting)
                if is_new:
                    if not decided.reason:
                        self.statistics.count_shared(waiting)
                    upcoming.extendleft(reversed(self._settle(waiting, None, failed=bool(decided.reason))))
            elif sharing is not None and sharing.must_wait(waiting):
                continue
            elif sharing is not None and (answer := sharing.known(waiting)) is not None:
                shared.append(waiting)
                answers.append(answer)
                upcoming.extendleft(reversed(self._settle(waiting, None, failed=False)))
            elif self.oracle.replays:
                self._tasks.start_soon(self._replay, waiting)
            else:
                self._waiting.put(waiting)
        if recorded:
            records = [self._codec.encode(waiting.decided) for waiting in recorded]
            self._tasks.start_soon(self._send, recorded, records)
        if shared:
            self._tasks.start_soon(self._decide, shared, answers)
        self._start_calls()

    async def _replay(self, waiting: WaitingQuestion) -> None:
        recorded = await self.oracle.recorded_fallback(self._codec.encode(waiting.question))
        if recorded is None:
            answer = await self._ask(waiting, math.inf)
        else:
            answer = fallback(waiting.question, Source(recorded[0]), recorded[1])
        await self._deliver(waiting, answer)

    # Calls

    def _start_calls(self) -> None:
        now, admission, begun = anyio.current_time(), self.admission, list[tuple[WaitingQuestion, Call]]()
        is_spent = False
        while (waiting := self._waiting.first()) is not None:
            if is_spent := admission.stops_spent():
                break  # the question stays open: a resumed run asks it
            if self.oracle.waits and (delay := admission.room_delay(waiting, self._calling, now)) > 0.0:
                self._wake_after(delay)
                break
            if (refusal := admission.refusal(waiting, now)) is not None:
                self._tasks.start_soon(self._deliver, self._waiting.pop(), refusal)
                continue
            if (delay := admission.delay(now)) > 0.0:
                self._wake_after(admission.wake_s(waiting, delay, now))
                break
            if admission.is_to_test:
                self._tasks.start_soon(self._test, waiting, admission.begin_test(now))
                continue
            self._waiting.pop()
            self._begun.add(waiting.name)
            call = admission.begin(waiting, now)
            self.statistics.count_call(waiting.name)
            self.statistics.concurrency_max = max(self.statistics.concurrency_max, self._calling + 1)
            self._calling += self.oracle.waits  # answers that are computed come one after the other
            begun.append((waiting, call))
        if begun and not self.oracle.waits:
            self._tasks.start_soon(self._compute, begun)
        else:
            for each in begun:
                self._tasks.start_soon(self._call, *each)
        if is_spent and not (self._begun or self._is_spent):
            self._is_spent = True
            self._on_spent()
        if len(self._waiting) < self._config.queue_size:
            self._room.set()

    def _wake_after(self, delay_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if delay_s < math.inf:  # else the end of a call comes first
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._start_calls)

    async def _compute(self, begun: list[tuple[WaitingQuestion, Call]]) -> None:
        """Ask an oracle that computes its answers one question after the other: a task for each would cost as much."""
        for number, (waiting, call) in enumerate(begun, 1):
            self._calling += 1
            await self._call(waiting, call)
            if number % COMPUTED_AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _call(self, waiting: WaitingQuestion, call: Call) -> None:
        self._observer.asked(call.begun - waiting.arrived)
        ATTEMPT.set(waiting.unreadable)  # of this task alone
        if self.oracle.waits:  # the requests and the log lines of this task carry the id of its question
            question = waiting.question
            asked = Asked(self._id_of(question), waiting.tries + 1, self._process)
            ASKED.set(asked)
            structlog.contextvars.bind_contextvars(question=asked.question)
        answer = await self._ask(waiting, call.within_s)
        now = anyio.current_time()
        self._observer.answered(answer.reason, now - call.begun)
        self._calling -= 1
        try:
            self.admission.ended(call, answer, now)
        except OracleOutageError:
            await self._forget(waiting, answer)
            raise
        if not answer.reason:
            await self._deliver(waiting, answer)
            return
        waiting = self.admission.counted(waiting, answer)
        pause_s = self.admission.retry_pause_s(waiting, answer, now)
        if pause_s is not None:
            await self._retry(waiting, answer, pause_s)
            return
        must_stop = self.admission.must_stop(answer)
        if must_stop or not self.oracle.falls_back:
            await self._forget(waiting, answer)  # a failure that stays on a tape would fail a resumed run, too
        if must_stop:
            raise OracleRefusedError(*waiting.name, answer.reason, answer.detail)
        await self._deliver(waiting, answer)

    async def _ask(self, waiting: WaitingQuestion, within_s: float) -> Answer:
        question = waiting.question
        samples = 0 if waiting.place is None else self._config.sharing.samples
        asked = call_oracle(self.oracle, self._asker(question), question, within_s, samples)
        if not self.oracle.waits:  # it computes very many answers
            return await asked
        with metered() as ledger:
            try:
                return (await asked)._replace(spent=ledger.total)
            finally:
                self.statistics.count_spent(waiting.name, ledger)

    async def _test(self, waiting: WaitingQuestion, call: Call) -> None:
        self._calling += 1
        question, number = waiting.question, secrets.randbits(31)
        ASKED.set(Asked(f"test-{number}", 1, self._process))
        answer = await call_oracle(self.oracle, self._asker(question), question, call.within_s, test=number)
        self._calling -= 1
        self.admission.ended(call, answer, anyio.current_time())
        self._start_calls()

    async def _retry(self, waiting: WaitingQuestion, answer: Answer, pause_s: float) -> None:
        waiting = waiting._replace(failed_at=anyio.current_time())
        self._open[waiting.name] = waiting  # a crash of the actor must not forget the attempts
        spent = self.statistics.count_retry(waiting.name, answer.reason)
        agent, tick, trigger = waiting.name
        await self._answers.keep(self._codec.encode(Retried(tick, agent, trigger, answer.reason, spent)))
        self.statistics.count_written(spent, answer.reason)
        await self._forget(waiting, answer)
        self._begun.discard(waiting.name)
        self._start_calls()
        await anyio.sleep(pause_s)
        self._waiting.put(waiting, first=answer.reason == "overloaded")
        self._start_calls()

    async def _forget(self, waiting: WaitingQuestion, answer: Answer) -> None:
        question = waiting.question
        await self.oracle.before_retry(self._asker(question), question.trigger, question.context, answer.reason)

    # Delivery

    async def _deliver(self, waiting: WaitingQuestion, answer: Answer) -> None:
        if answer.source in FALLBACKS and not self.oracle.falls_back:
            agent, tick, trigger = waiting.name
            raise OracleFailedError(agent, tick, trigger, answer.reason, answer.detail, waiting.tries)
        if answer.reason:
            await self.oracle.record_fallback(self._codec.encode(waiting.question), answer.source, answer.reason)
        released = await self._decide([waiting], [answer], is_called=True)
        self._begun.discard(waiting.name)
        self._accept(released)

    async def _decide(
        self, batch: Sequence[WaitingQuestion], answers: Sequence[Answer], *, is_called: bool = False
    ) -> list[WaitingQuestion]:
        """Count, record and send the answers to questions, in their order; return those that need not wait any longer.

        All consequences of the answers are noted in one turn. So an actor that crashes later has noted all of them, and
        sends the answers again. `is_called` is False for answers that are drawn from a known judgement.
        """
        now, decisions, released = anyio.current_time(), list[Decided](), list[WaitingQuestion]()
        judged = None if self.sharing is None or not is_called else self.sharing.judged(batch[0], answers[0])
        for waiting, answer in zip(batch, answers, strict=True):
            question, spent = waiting.question, self.statistics.take_unlogged(waiting.name)
            decided = Decided(
                *(question.tick, question.agent, question.trigger, answer.state, answer.source, answer.reason),
                *(answer.content, now - waiting.arrived, spent, answer.method),
            )
            named = self._id_of(question) if answer.reason else ""
            self.statistics.count_answer(decided, now, answer.detail, named)
            self._share.add(answer)
            if not decided.reason:
                self.statistics.count_shared(waiting)
            self._open[waiting.name] = waiting._replace(decided=decided)
            if is_called:
                released += self._settle(waiting, judged, failed=bool(answer.reason))
            decisions.append(decided)
        records = [self._codec.encode(decided) for decided in decisions]
        await self._answers.keep(*(() if judged is None else (self._codec.encode(judged),)), *records)
        for decided in decisions if is_called else ():
            self.statistics.count_written(decided.spent)
        await self._send(batch, records)
        return released

    def _settle(self, waiting: WaitingQuestion, judged: Any, *, failed: bool) -> list[WaitingQuestion]:
        """Note the outcome of a question that shares; return the open questions that need no longer wait for it."""
        released = [] if self.sharing is None else self.sharing.settle(waiting, judged, failed=failed)
        self._open.update({each.name: each for each in released})
        return released

    async def _send(self, batch: Sequence[WaitingQuestion], records: Sequence[bytes]) -> None:
        """Send answers to the engine. A question is open until the engine has its answer."""
        for count, (waiting, record) in enumerate(zip(batch, records, strict=True), 1):
            await self._engine.send(record)
            self.statistics.close(waiting.name)
            # A question of the same name may have been asked after its answer was sent.
            if self._open.get(waiting.name, waiting).question is waiting.question:
                self._open.pop(waiting.name, None)
            if count % SENT_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _id_of(self, question: Question[Any]) -> str:
        return question_id(self._seed, question.tick, question.agent, self._codec.encode(question))
