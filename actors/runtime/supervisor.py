"""What happens when an actor crashes: a restart from its last committed state, and after too many, an end to it.

An agent that crashes has its trigger answered for it with an update that moves nothing, so the tick's barrier never
hangs, and the crash is part of the record. Crashes are counted in ticks, not seconds, so a replay sees the same ones.

Source: restart intensity and period as in the supervisors of Erlang/OTP.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from actors.core.errors import JournalError, RestartLimitError, first_error
from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from actors.core.state import SupervisorState
from actors.runtime.agent import AgentActor
from prism.agents import Source, Update
from prism.domain import Domain
from prism.errors import OracleUnavailableError

log = structlog.get_logger(__name__)


class RestartIntensity:
    """Counts crashes of each actor within a sliding period.

    Args:
        limit: crashes within the period that are forgiven.
        period_ticks: the period.
    """

    def __init__(self, limit: int, period_ticks: int) -> None:
        self.limit = limit
        self.period_ticks = period_ticks
        self.crashes = 0
        """All crashes so far."""
        self.ticks: dict[str, list[int]] = {}
        """`{actor: ticks of its recent crashes}`."""

    def exceeded(self, actor: str, tick: int) -> bool:
        """Note a crash, and say whether that was one too many."""
        self.crashes += 1
        recent = [crash for crash in self.ticks.get(actor, ()) if tick - crash < self.period_ticks]
        self.ticks[actor] = [*recent, tick]
        return len(recent) + 1 > self.limit


class Supervisor:
    """Runs actors, restarts those that crash, and gives up on those that crash too often.

    Args:
        domain: makes agents anew from their last committed state.
        codec: the domain's messages.
        engine: where the answers of crashed agents go.
        intensity: how many crashes are forgiven.
        ask: whether agents may ask the oracle.
    """

    def __init__(
        self, domain: Domain, codec: Codec, engine: Mailbox[bytes], intensity: RestartIntensity, *, ask: bool = True
    ) -> None:
        self.domain = domain
        self.codec = codec
        self.engine = engine
        self.intensity = intensity
        self.ask = ask
        self.service_restarts = 0
        """Crashes of actors that serve all, after which they went on."""
        self._quarantined: dict[int, None] = {}

    @property
    def quarantined(self) -> int:
        """How many agents are out for good."""
        return len(self._quarantined)

    def state(self) -> SupervisorState:
        """What it remembers of crashes."""
        # A copy: a checkpoint is encoded in a thread while agents go on crashing.
        ticks = dict(self.intensity.ticks)
        return SupervisorState(
            crashes=self.intensity.crashes, ticks=ticks, quarantined=tuple(sorted(self._quarantined))
        )

    def restore(self, state: SupervisorState) -> None:
        """Remember them, before the agents are run."""
        self.intensity.crashes, self.intensity.ticks = state.crashes, dict(state.ticks)
        self._quarantined = dict.fromkeys(state.quarantined)

    async def run_agent(self, agent_id: int, mailbox: Mailbox[bytes]) -> None:
        """Run one agent until its mailbox closes or it is quarantined."""
        if agent_id in self._quarantined:
            mailbox.close()
            return
        while True:
            actor = AgentActor(self.domain.agent(agent_id), self.domain.chart, self.codec, self.engine, ask=self.ask)
            try:
                await actor.run(mailbox)
            except Exception as error:  # whatever an agent raises is settled here, and nowhere else
                if actor.handling is None:
                    raise
                answer = self._answer_for(actor, error)
                await self.engine.send(self.codec.encode(answer))
                if answer.source == Source.QUARANTINE:
                    mailbox.close()  # a world that still sends here gets an error, where nobody would ever answer
                    return
            else:
                return

    async def run_service(self, name: str, run: Callable[[], Awaitable[None]], tick: Callable[[], int]) -> None:
        """Run an actor that serves all, again after each crash.

        Raises:
            RestartLimitError: it crashed too often.
            OracleUnavailableError: there is nobody to ask, so that a restart would not help.
            JournalError: an answer cannot be kept; likewise.
        """
        while True:
            try:
                with structlog.contextvars.bound_contextvars(actor=name):  # for whatever it starts, too
                    await run()
            except (OracleUnavailableError, JournalError):
                raise  # a restart would find the same: nobody to ask, or nowhere to keep the answer
            except Exception as error:  # likewise for those that serve all
                if self.intensity.exceeded(name, tick()):
                    cause = first_error(error, Exception) if isinstance(error, BaseExceptionGroup) else error
                    raise RestartLimitError(
                        name, self.intensity.limit + 1, self.intensity.period_ticks, cause or error
                    ) from error
                self.service_restarts += 1
                log.exception("actor_restarted", actor=name)
            else:
                return

    def _answer_for(self, actor: AgentActor, error: Exception) -> Update[None]:
        """The recorded no-op that stands in for the answer of a crashed agent."""
        trigger = actor.handling
        assert trigger is not None  # noqa: S101  # run_agent checked
        agent_id, state = trigger.agent, actor.agent.state
        gone = self.intensity.exceeded(f"agent {agent_id}", trigger.tick)
        # Only the kind is recorded. The text may hold an address, and a record is the same in every process.
        kind = type(error).__name__
        log.error(
            "agent_quarantined" if gone else "agent_restarted",
            actor=agent_id,
            tick=trigger.tick,
            trigger=trigger.name,
            error=f"{kind}: {error}"[:200],
        )
        if gone:
            self._quarantined[agent_id] = None
        source = Source.QUARANTINE if gone else Source.CRASH
        return Update(trigger.tick, agent_id, trigger.name, state, state, source, None, kind)
