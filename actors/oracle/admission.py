"""Admission of questions to the oracle: whether one is refused, when it may start, and whether it is asked again.

A question is refused past its deadline. At a spend cap it is held, and the run stops; while the server is away it is
held, and its deadline stops; or it is refused, where the configuration wants that.

A server may be away, or fail at one question only. So a question becomes a fallback only if the server has answered
somebody else since it failed: another question, or the test question of the start, which is asked for this.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import structlog

from actors.core.events import BreakerClosed, BreakerOpened, LimitChanged, SpendWarning, emit
from actors.core.messages import Decided, QuestionName, name_of_question
from actors.oracle.limits import REFUSED, WAITED, BreakerState, CircuitBreaker, Pace
from prism.agents import Question, Source
from prism.config import OracleConfig
from prism.errors import OracleOutageError, OracleSpentError
from prism.llm.failure import reasons_to
from prism.llm.headers import GATEWAY
from prism.llm.spending import Spending
from prism.rng import Draw, uniform
from prism.sharing.archetypes import Place
from prism.statechart import Judgement, Oracle

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0

BUSY = frozenset({"overloaded", "loading"})
"""Failures by which a server asks for time. An answer to a small question would not show that it has time for all."""
COUNTED = reasons_to("retry", "refuse") | {"deadline", "connection_error"}
"""Failures that may come from the question. A server that is away, or has no time, would fail at every question."""
FINAL = reasons_to("stop")
"""The failures that every question would have."""

LEAST_FAILURES, MOST_FAILURES = 3, 5
"""The fewest and most failures in a row that open the breaker where questions are held; between them,
`max_concurrency` decides."""

SILENCE_S = 10.0
"""The time without an answer after which a run that is to stop takes a failure for an outage. It may take minutes until
a server that hangs is known to be away."""

WARN_AT: Final = (0.5, 0.8, 0.95)
LATEST_CHARS: Final = 200


def caps_of(config: OracleConfig) -> dict[str, float]:
    """Return `{cap: most}`, for each spend cap that is set: `calls`, `tokens` and `usd`."""
    caps = {"calls": config.max_calls, "tokens": config.max_tokens, "usd": config.max_usd}
    return {name: most for name, most in caps.items() if most is not None}


class Answer(NamedTuple):
    """The answer to a question: that of the oracle, or a fallback.

    Args:
        source: a `Source`: who took it.
        reason: why it is a fallback, a word from a closed set; empty for an answer of the oracle.
        detail: what happened, in words, for the log.
        content: what the oracle answered besides the option.
        is_unreadable: True if the model answered, and what it said is of no use.
        method: how the oracle found its answer; empty for a fallback.
        spent: the calls to a model that it took.
    """

    state: str
    source: str
    reason: str = ""
    detail: str = ""
    content: str = ""
    retry_after_s: float = 0.0
    is_rate_limited: bool = False
    is_unreadable: bool = False
    method: str = ""
    spent: Spending = ()
    judgement: Judgement | None = None


def fallback(question: Question[Any], source: Source, reason: str, detail: str = "") -> Answer:
    return Answer(question.options[0], source, reason, detail)


class WaitingQuestion(NamedTuple):
    """A question that has arrived, and the state of its way to an answer.

    Args:
        decided: its answer, while that is being sent.
        tries: the times that it was asked; `attempts`: those that count; `unreadable`: those with an unusable answer.
        failed_at: the time of its latest failure but the present one; its arrival before that.
        place: its place among the questions that share judgements; None if it shares none.
        lost_s: the seconds of all outages before its arrival.
    """

    question: Question[Any]
    arrived: float
    decided: Decided | None = None
    tries: int = 0
    attempts: int = 0
    unreadable: int = 0
    failed_at: float = 0.0
    place: Place | None = None
    lost_s: float = 0.0

    @property
    def name(self) -> QuestionName:
        return name_of_question(self.question)

    @property
    def kind(self) -> Hashable:
        """The tick of the question, and the common part of the prompts of its kind: the trigger, state and options.

        Questions that failed are of another kind, behind all others: these may show that the server is there.
        """
        question = self.question
        return question.tick, question.trigger, question.state, question.options, self.tries


class FairQueue:
    """A queue in which questions of one kind leave one after the other.

    Kinds leave in the order in which their first questions arrived. Questions of a kind begin with the same text, which
    a server with prefix caching then reads once, and not again after each question of another kind.
    """

    def __init__(self) -> None:
        self._kinds: dict[Hashable, deque[WaitingQuestion]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, waiting: WaitingQuestion, *, first: bool = False) -> None:
        """Add a question; `first`: before all others, and the others of its kind follow it."""
        self._size += 1
        if not first:
            self._kinds.setdefault(waiting.kind, deque()).append(waiting)
            return
        own = self._kinds.pop(waiting.kind, deque())
        own.appendleft(waiting)
        self._kinds = {waiting.kind: own, **self._kinds}

    def first(self) -> WaitingQuestion | None:
        return next(iter(self._kinds.values()))[0] if self._kinds else None

    def pop(self) -> WaitingQuestion:
        kind, questions = next(iter(self._kinds.items()))
        found = questions.popleft()
        if not questions:
            del self._kinds[kind]
        self._size -= 1
        return found


class Call(NamedTuple):
    """A call to the oracle that has started: a probe tests whether the server is back; a test question has no name."""

    begun: float
    within_s: float
    is_probe: bool = False
    name: QuestionName | None = None


log = structlog.get_logger(__name__)


class Outages:
    """The outages of a server, past and present.

    An outage begins at the start of the first call in a row of failed calls, or at the last answer before that call
    ended. Until the breaker opens, it lasts to the latest failure; after that, until a probe is answered.
    """

    def __init__(self, breaker: CircuitBreaker) -> None:
        self._breaker = breaker
        self.since: float | None = None
        """The start of the failures in a row; None if the latest call was answered."""
        self.reason = self.detail = ""
        """The latest failure."""
        self.answered_at = float("-inf")
        self._end = 0.0
        self._past_s = 0.0

    def failed(self, begun: float, now: float, answer: Answer, pause_s: float) -> None:
        """Note a call that failed. The pause that the server asked for belongs to the outage."""
        if self.since is None:
            self.since = max(begun, self.answered_at)
        self._end = max(self._end, now + pause_s)
        self.reason, self.detail = answer.reason, answer.detail

    def answered(self, now: float, *, was_open: bool) -> None:
        """Note an answer, to the probe of an open breaker or another call.

        It ends the outage, unless the server has asked for a pause that is not over.
        """
        self.answered_at = now
        if self.since is not None and (was_open or now >= self._end):
            self._past_s += max(0.0, (now if was_open else self._end) - self.since)
            self.since = None

    def lasts(self, now: float) -> bool:
        return self.since is not None and (not self._breaker.is_closed or now < self._end)

    def seconds(self, now: float) -> float:
        """Return the seconds of all outages so far."""
        if self.since is None:
            return self._past_s
        return self._past_s + max(0.0, (min(now, self._end) if self._breaker.is_closed else now) - self.since)


class Admission:
    """The limits on calls, which follow how calls end.

    Args:
        used: returns what the whole run has used so far, by the names of `caps_of`.
        ticks: returns the whole ticks of the run so far.
    """

    def __init__(
        self,
        config: OracleConfig,
        oracle: Oracle[Any],
        used: Callable[[], Mapping[str, float]],
        ticks: Callable[[], int] = lambda: 0,
    ) -> None:
        most = config.max_concurrency
        self.holds = config.mode == "pace" and config.on_outage != "fallback" and oracle.waits
        """True if questions are held while the server is away."""
        self.breaker = CircuitBreaker(min(max(most, LEAST_FAILURES), MOST_FAILURES) if self.holds else None)
        self.pace = Pace(most, config.rate_per_s)
        self.outages = Outages(self.breaker)
        self._config = config
        self._caps = caps_of(config)
        self._patience_s = 0.0 if config.on_outage == "stop" else config.outage_patience_s
        # In `realtime` there is no time to ask a second time.
        self._attempts = config.max_attempts if config.mode == "pace" and oracle.waits else 1
        self._counts_waiting = oracle.falls_back
        """True if waiting counts towards the deadline. It does not for an oracle without fallbacks: it must answer."""
        # A gateway keeps the deadline, from the start of the call: to wait for other cells must change no result.
        self._deadline_s = config.deadline_s if oracle.waits and GATEWAY.get() is None else math.inf
        self._used = used
        self._ticks = ticks
        self._can_test = self.holds and oracle.has_test
        self._is_busy = False
        self._is_away = False
        self._outage = (math.inf, -math.inf)
        """The time of the latest probe that failed, after that of the latest answer before it."""
        # What listeners were told last: they are told of changes, and not of every call.
        self._opened_at: float | None = None
        self._limit = most
        self._warned = dict.fromkeys(self._caps, 0)
        """`{cap: shares at which there was a warning}`."""

    def refusal(self, waiting: WaitingQuestion, now: float) -> Answer | None:
        """Return the fallback of a question that is refused: deadline, breaker or spend cap; None if it is admitted.

        Where the run stops at a cap, its question must not come here: `stops_spent`.
        """
        # 1. It is too late, and then no other reason matters.
        if self.expires(waiting, now) <= now:
            return fallback(waiting.question, Source.TIMEOUT, "deadline")
        # 2. The server is away. Where questions are held they stay in the queue instead: `delay` says for how long.
        if not self.holds and not self.breaker.allows(now):
            return fallback(waiting.question, Source.FALLBACK, "breaker_open")
        # 3. The spend cap, for the whole run: earlier processes of it count, too. Warn once at each share of each cap.
        used = self._used()
        for name, most in self._caps.items():
            reached = sum(used[name] >= share * most for share in WARN_AT)
            if reached > self._warned[name]:
                self._warned[name] = reached
                share = round(used[name] / most, 3)
                emit(SpendWarning(cap=f"oracle.max_{name}", share=share, used=used[name], most=most))
        return fallback(waiting.question, Source.FALLBACK, "spent") if self._reached(used) else None

    def stops_spent(self) -> bool:
        """Return whether a spend cap is reached at which the run stops, and the next question stays open."""
        reached = self._reached(self._used()) if self._caps else ()
        return "usd" in reached or (bool(reached) and self._config.when_spent == "stop")

    def may_be_spent(self, number: int) -> bool:
        """Return whether so many open questions may reach a spend cap, if they take twice as much as others did."""
        used = self._used()
        times = 1.0 + 2.0 * number / used["calls"] if used["calls"] else math.inf
        return any(times == math.inf or used[name] * times >= most for name, most in self._caps.items())

    def spent_error(self) -> OracleSpentError:
        used = self._used()
        return OracleSpentError({name: (used[name], self._caps[name]) for name in self._reached(used)}, self._ticks())

    def _reached(self, used: Mapping[str, float]) -> list[str]:
        """Return the spend caps that are reached. A call's tokens are counted only after its end."""
        return [name for name, most in self._caps.items() if used[name] >= most]

    def expires(self, waiting: WaitingQuestion, now: float) -> float:
        """Return the time at which a question becomes a fallback, unless an outage lasts until then."""
        if not self._counts_waiting:
            return now + self._deadline_s
        # Seconds: arrival + deadline + the outages since then. Without the last part a question that was held for as
        # long as its deadline would expire in the moment in which the server is back.
        return waiting.arrived + self._deadline_s + self._lost_s(now) - waiting.lost_s

    def arrived(self, question: Question[Any], now: float) -> WaitingQuestion:
        return WaitingQuestion(question, now, lost_s=self._lost_s(now))

    def _lost_s(self, now: float) -> float:
        return self.outages.seconds(now) if self.holds else 0.0

    @property
    def is_holding(self) -> bool:
        """True while questions are held, because the server is away."""
        return self.holds and not self.breaker.is_closed

    def outage_s(self, now: float) -> float | None:
        """Return the seconds for which questions have been held by now; None if the server is not away."""
        since = self.outages.since if self.is_holding else None
        return None if since is None else now - since

    def is_vain(self, since: float, now: float) -> bool:
        """Return whether a run that was told to stop at `since` waits for a server that is away, or seems to be."""
        is_failing = self.holds and self.outages.since is not None
        return self.is_holding or (is_failing and now - max(since, self.outages.answered_at) >= SILENCE_S)

    def outage_error(self, now: float) -> OracleOutageError:
        waited_s = 0.0 if self.outages.since is None else now - self.outages.since
        # Only people read the moment: nothing depends on it.
        since = datetime.now(UTC) - timedelta(seconds=waited_s)
        return OracleOutageError(waited_s, since, self._ticks(), self.outages.reason, self.outages.detail)

    def room_delay(self, waiting: WaitingQuestion, calls: int, now: float) -> float:
        """Return the seconds until one more call may be under way; infinite if another call has to end first.

        After half of its deadline a question may exceed a halved limit, so that it does not expire because of it.
        """
        if calls < self.pace.limit:
            return 0.0
        if calls >= self._config.max_concurrency:
            return math.inf
        return max(0.0, self.expires(waiting, now) - self._config.deadline_s / 2 - now)

    def delay(self, now: float) -> float:
        """Return the seconds until rate and breaker let a call start; 0 when it may start now."""
        delay_s = self.pace.delay(now)
        return max(delay_s, self.breaker.delay(now)) if self.holds else delay_s

    def wake_s(self, waiting: WaitingQuestion, delay_s: float, now: float) -> float:
        """Return the seconds until a question that has to wait must be looked at again."""
        # The queue sleeps until a call may start or the question expires, whichever is first.
        if self.holds and self.outages.lasts(now):
            return delay_s  # its deadline stands still
        return min(delay_s, self.expires(waiting, now) - now)

    def begin(self, waiting: WaitingQuestion, now: float) -> Call:
        # Every limit counts the call before it runs; to an open breaker it is the probe.
        self.pace.take(now)
        within_s = self.expires(waiting, now) - now
        is_probe = self.breaker.begun()
        if is_probe and self.holds:  # the time left to this question may be less than the server needs
            within_s = max(within_s, self._deadline_s)
        return Call(now, within_s, is_probe, waiting.name)

    @property
    def is_to_test(self) -> bool:
        """True if the next call is to ask the test question: questions have failed, and the server may be there."""
        return self._can_test and self.breaker.state is BreakerState.OPEN and not self._is_busy

    def begin_test(self, now: float) -> Call:
        self.pace.take(now)
        return Call(now, self._deadline_s, self.breaker.begun())

    def ended(self, call: Call, answer: Answer, now: float) -> None:
        """Note that a call has ended.

        Raises:
            OracleOutageError: the server has been away for longer than the run waits.
        """
        # 1. The failure's name: a deadline that passed after a short call says nothing about the server.
        failure = answer.reason or None
        if failure == "deadline" and call.within_s < self._deadline_s / 2:
            failure = WAITED
        elif failure == REFUSED and call.name is None:
            failure = "server_error"  # the test question was answered at the start, so it is not to blame
        # 2. Breaker and limit learn from it, and the events tell of their changes.
        if answer.reason:
            self._is_busy = answer.reason in BUSY
            if call.is_probe:
                self._is_away = True
                self._outage = self.outages.answered_at, now
        elif call.is_probe:
            self._is_away = False
        self.breaker.ended(failure, now, is_probe=call.is_probe)
        self.pace.ended(failure, call.begun, now, is_limited=answer.is_rate_limited)
        # Tell listeners of a change of the breaker, and of a limit that doubled, halved, or is now 1 or its most.
        if self._opened_at is None and not self.breaker.is_closed:
            emit(BreakerOpened(reason=answer.reason, latest=answer.detail[:LATEST_CHARS]))
            self._opened_at = now
            if self.holds:
                log.warning("oracle_away", actor="oracle", reason=answer.reason, latest=answer.detail[:LATEST_CHARS])
        elif self._opened_at is not None and self.breaker.is_closed:
            emit(BreakerClosed(after_s=round(now - self._opened_at, 3)))
            self._opened_at = None
            if self.holds and self.outages.since is not None:
                log.info("oracle_back", actor="oracle", away_s=round(now - self.outages.since, 3))
        limit, before, most = self.pace.limit, self._limit, self._config.max_concurrency
        if limit != before and (limit in {1, most} or limit >= 2 * before or 2 * limit <= before):
            emit(LimitChanged(limit=limit, before=before, most=most))
            self._limit = limit
        # 3. The outage: it reads the breaker's new state, so it comes last. It may end the run.
        if self.holds and failure not in {WAITED, REFUSED}:
            self._note(call, answer, now)

    def counted(self, waiting: WaitingQuestion, answer: Answer) -> WaitingQuestion:
        """Return a question with one more try; it counts as an attempt if the question may be to blame."""
        answered, away = self._outage
        attempts = 0 if answered < waiting.failed_at <= away else waiting.attempts  # those of an outage do not count
        # A lost connection may be the first of an outage: it counts if somebody was answered since the failure before.
        may_blame = answer.reason != "connection_error" or 0.0 < waiting.failed_at <= self.outages.answered_at
        return waiting._replace(
            tries=waiting.tries + 1,
            attempts=attempts + (answer.reason in COUNTED and may_blame and not self._is_held(answer)),
            # Only what a model has said varies the seed: the answer does not depend on how often its server was away.
            unreadable=waiting.unreadable + answer.is_unreadable,
        )

    def _is_held(self, answer: Answer) -> bool:
        """Return whether a failure is that of an outage: they would use up the attempts of all waiting questions."""
        return self.is_holding and (self._can_test or answer.reason != REFUSED)

    def retry_pause_s(self, waiting: WaitingQuestion, answer: Answer, now: float) -> float | None:
        """Return the seconds after which a question, its try `counted`, is asked again; None if its fallback stands."""
        is_connected = answer.reason != "connection_error" or self.holds
        if answer.reason in COUNTED and is_connected:
            may_retry = waiting.attempts < self._attempts or self._is_held(answer)
            # If nobody was answered since the failure before this one, the server may be away: the test question comes
            # before a fallback, and after a second lost connection.
            is_doubtful = self.outages.answered_at < (waiting.failed_at or waiting.arrived)
            is_lost_again = answer.reason == "connection_error" and waiting.failed_at > 0.0
            if is_doubtful and (is_lost_again or not may_retry) and self._can_test:
                self.breaker.doubt(now)
                return 0.0
        else:
            may_retry = answer.reason in reasons_to("hold") and (self.holds or self._attempts > 1)
        if not may_retry:
            return None
        left_s = self.expires(waiting, now) - now
        if answer.reason == "deadline" and left_s < self._deadline_s / 2:
            return None  # other questions were answered in the meantime
        if self.is_holding:  # back into the queue at once: the breaker decides when it is tried
            return 0.0 if left_s > 0.0 else None
        # A refusal slows all calls, so the pause of this one need not grow.
        tries = 1 if answer.reason == "overloaded" else waiting.tries
        pause_s = pause_before(waiting.question, tries)
        return max(pause_s, self._asked_pause_s(answer)) if pause_s < left_s else None

    def _asked_pause_s(self, answer: Answer) -> float:
        return min(answer.retry_after_s, self._config.outage_patience_s)

    def must_stop(self, answer: Answer) -> bool:
        """Return whether a failure ends the run: no retry can help, and the configuration allows no fallback for it."""
        return answer.reason in FINAL and self.holds and self._counts_waiting

    def _note(self, call: Call, answer: Answer, now: float) -> None:
        # 1. An answer ends the outage, if the breaker has closed: an answer to an old call does not close it.
        pause_s = self._asked_pause_s(answer)
        if not answer.reason:
            if self.breaker.is_closed:
                self.outages.answered(now, was_open=call.is_probe)
            return
        # 2. A failure slows the calls, as far as the server has asked for it, and prolongs the outage.
        self.pace.pause(now, pause_s)
        self.outages.failed(call.begun, now, answer, pause_s)
        if self.breaker.is_closed:
            return
        # 3. An open breaker: the run ends once its patience is over. The last probe is not later than that, or a server
        #    that came back in time would not be noticed.
        left_s = self._patience_s - (self.outage_s(now) or 0.0)
        if left_s <= 0.0 and (self._is_away or not self.is_to_test):
            raise self.outage_error(now)
        self.breaker.probe_by(now + left_s)


def pause_before(question: Question[Any], tries: int) -> float:
    """Return the seconds to wait before a question is asked again: 0.5 s, doubled each time up to 30 s, with jitter.

    The jitter is a function of the question alone, so that questions that failed together are not asked together.
    """
    longest_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(tries - 1, 10))
    share = 0.5 + 0.5 * uniform(0, question.agent, question.tick, Draw.BACKOFF, tries)
    return longest_s * share
