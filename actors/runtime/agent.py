"""The agent actor: it reads triggers from its mailbox, takes a turn for each, and sends the engine one answer each."""

from __future__ import annotations

from typing import Any, Protocol

from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from prism.agents import StatefulAgent, Trigger, Update, turn
from prism.statechart import Statechart


class Supervision(Protocol):
    """The supervisor, as an agent sees it."""

    def crashed(
        self, agent: StatefulAgent[Any], trigger: Trigger[Any], error: Exception
    ) -> tuple[Update[None], StatefulAgent[Any] | None]:
        """Return the answer in place of the agent's, and the agent that goes on; None if it takes no more triggers."""


class AgentActor:
    """An actor that answers the triggers of one agent, one at a time.

    Args:
        chart: the agent's behaviour; shared by all agents.
        engine: the mailbox that answers are sent to.
        supervision: decides what follows a crash.
        ask: False takes the first option of every choice, and asks nothing.
    """

    __slots__ = ("_agent", "_ask", "_chart", "_codec", "_engine", "_supervision")

    def __init__(
        self,
        agent: StatefulAgent[Any],
        chart: Statechart[Any],
        codec: Codec,
        engine: Mailbox[bytes],
        supervision: Supervision,
        *,
        ask: bool = True,
    ) -> None:
        self._agent = agent
        self._chart = chart
        self._codec = codec
        self._engine = engine
        self._supervision = supervision
        self._ask = ask

    async def run(self, mailbox: Mailbox[bytes]) -> None:
        """Answer triggers until the mailbox closes, or the agent takes no more of them: then it closes the mailbox.

        A crash is handled right here, and not around this coroutine: each coroutine around it would make every wake-up
        about 20 ns longer, and each agent 230 bytes larger.
        """
        agent, chart, ask, engine = self._agent, self._chart, self._ask, self._engine
        decode, encode = self._codec.trigger, self._codec.encode
        pending, take, ready, put = mailbox.pending, mailbox.take, mailbox.ready, engine.put
        while True:
            encoded = take() if pending else None
            if encoded is None:
                if mailbox.closed:
                    return
                await ready()
                continue
            trigger = decode(encoded)
            goes_on: StatefulAgent[Any] | None = agent
            try:
                answer = encode(turn(chart, agent, trigger, ask=ask))
            except Exception as error:  # noqa: BLE001  # any error of an agent is handled by the supervisor
                instead, goes_on = self._supervision.crashed(agent, trigger, error)
                answer = encode(instead)
            if not put(answer):
                await engine.send(answer)
            if goes_on is None:
                mailbox.close()  # a world that still sends here gets an error instead of silence
                return
            agent = goes_on
