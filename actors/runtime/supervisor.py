"""Supervision: a crashed actor is restarted from its last committed state, unless it has crashed too often.

The supervisor answers the trigger of a crashed agent with an update that changes nothing. So the tick's barrier never
hangs, and the crash is recorded. Crashes are counted in ticks and not in seconds, so a replay has the same ones.

Source: restart intensity and period as in the supervisors of Erlang/OTP.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from actors.core.errors import ActorError, JournalError, MailboxClosedError, first_error
from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from actors.core.state import SupervisorState
from prism.agents import Source, StatefulAgent, Trigger, Update, turn
from prism.domain import Domain
from prism.errors import OracleUnavailableError

log = structlog.get_logger(__name__)


class Supervisor:
    """A supervisor that runs actors, restarts those that crash, and ends those that crash too often in a period.

    `engine`: the mailbox that the answers of crashed agents are sent to.
    """

    def __init__(
        self,
        domain: Domain,
        codec: Codec,
        engine: Mailbox[bytes],
        limit: int,
        period_ticks: int,
        *,
        ask: bool = True,
    ) -> None:
        self.domain = domain
        self.codec = codec
        self.engine = engine
        self._limit, self._period_ticks = limit, period_ticks
        self.crashes = 0
        """All crashes so far."""
        self._ticks: dict[str, list[int]] = {}
        """`{actor: ticks of its recent crashes}`."""
        self.ask = ask
        self.service_restarts = 0
        """Crashes of services, such as the oracle, after which they were restarted."""
        self._quarantined: dict[int, None] = {}

    @property
    def quarantined(self) -> int:
        return len(self._quarantined)

    def is_quarantined(self, agent_id: int) -> bool:
        return agent_id in self._quarantined

    def state(self) -> SupervisorState:
        # A copy, because a checkpoint is encoded in a thread while further agents may crash.
        ticks = dict(self._ticks)
        return SupervisorState(crashes=self.crashes, ticks=ticks, quarantined=tuple(sorted(self._quarantined)))

    def restore(self, state: SupervisorState) -> None:
        self.crashes, self._ticks = state.crashes, dict(state.ticks)
        self._quarantined = dict.fromkeys(state.quarantined)

    async def run_agent(self, agent_id: int, mailbox: Mailbox[bytes]) -> None:
        """Answer an agent's triggers until its mailbox closes, or it takes no more of them: then it closes the mailbox.

        A crash is handled right here, and not around this coroutine: each coroutine around it would make every wake-up
        about 20 ns longer, and each agent 230 bytes larger.
        """
        agent, chart, ask, engine = self.domain.agent(agent_id), self.domain.chart, self.ask, self.engine
        decode, encode = self.codec.trigger, self.codec.encode
        pending, take, put, reader = mailbox.pending, mailbox.take, engine.put, mailbox.reader()
        while True:
            encoded = take() if pending else None
            if encoded is None:
                if mailbox.closed:
                    return
                reader._asyncio_future_blocking = True  # noqa: SLF001  # asyncio's name: this task waits for it
                await reader
                continue
            trigger, is_out = decode(encoded), False
            try:
                answer = encode(turn(chart, agent, trigger, ask=ask))
            except Exception as error:  # noqa: BLE001  # any error of an agent is handled right here
                instead = self.answer_for(trigger, agent.state, error)
                answer, is_out = encode(instead), instead.source == Source.QUARANTINE
                agent = self.domain.agent(agent_id)  # in its last committed state
            if not put(answer):
                await engine.send(answer)
            if is_out:
                mailbox.close()  # a world that still sends here gets an error instead of silence
                return

    def take_turn(self, trigger: Trigger[Any], agents: dict[int, StatefulAgent[Any]]) -> bytes:
        """Return the encoded answer of an agent without an actor; if the agent crashes, the supervisor's answer.

        `agents`: those that are made already. One that is made is added, and one that crashes is removed, so its next
        turn is that of its last committed state. A quarantined one raises a MailboxClosedError.
        """
        codec, number = self.codec, trigger.agent
        if trigger.context is not None:  # a checked copy, as after a mailbox: no other object shares its parts
            trigger = codec.trigger(codec.encode(trigger))
        agent = agents.get(number)
        if agent is None:
            if number in self._quarantined:
                raise MailboxClosedError(f"agent {number}")
            agent = agents[number] = self.domain.agent(number)
        try:
            return codec.encode(turn(self.domain.chart, agent, trigger, ask=self.ask))
        except Exception as error:  # noqa: BLE001  # any error of an agent is handled right here
            del agents[number]
            return codec.encode(self.answer_for(trigger, agent.state, error))

    async def run_service(self, name: str, run: Callable[[], Awaitable[None]], tick: Callable[[], int]) -> None:
        """Run a service, an actor that all agents share, again after each crash, unless it crashed too often.

        No restart helps if an oracle is not there (OracleUnavailableError) or an answer not recorded (JournalError).
        """
        while True:
            try:
                with structlog.contextvars.bound_contextvars(actor=name):  # this binds the tasks that it starts, too
                    await run()
            except (OracleUnavailableError, JournalError):
                raise  # a restart would meet the same error
            except Exception as error:  # any error of a service is handled here
                if self._add_crash(name, tick()):
                    cause = first_error(error, Exception) if isinstance(error, BaseExceptionGroup) else error
                    often = f"{self._limit + 1} times within {self._period_ticks} ticks"
                    last = f"{type(cause).__name__}: {cause}"
                    raise ActorError(f"actor {name!r} crashed {often}, last with {last}") from error
                self.service_restarts += 1
                log.exception("actor_restarted", actor=name)
            else:
                return

    def _add_crash(self, actor: str, tick: int) -> bool:
        """Count a crash; return whether it exceeds the limit."""
        self.crashes += 1
        recent = [crash for crash in self._ticks.get(actor, ()) if tick - crash < self._period_ticks]
        self._ticks[actor] = [*recent, tick]
        return len(recent) + 1 > self._limit

    def answer_for(self, trigger: Trigger[Any], state: str, error: Exception) -> Update[None]:
        """Return the recorded no-op that replaces the answer of an agent, now in this state, that has crashed."""
        agent_id = trigger.agent
        is_quarantined = self._add_crash(f"agent {agent_id}", trigger.tick)
        # Only the kind is recorded: the text may hold a memory address, and a record must be the same in every process.
        kind = type(error).__name__
        log.error(
            "agent_quarantined" if is_quarantined else "agent_restarted",
            actor=agent_id,
            tick=trigger.tick,
            trigger=trigger.name,
            error=f"{kind}: {error}"[:200],
        )
        if is_quarantined:
            self._quarantined[agent_id] = None
        source = Source.QUARANTINE if is_quarantined else Source.CRASH
        return Update(trigger.tick, agent_id, trigger.name, state, state, source, None, kind)
