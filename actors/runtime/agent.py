"""The agent actor: it reads triggers from its mailbox, takes a turn for each, and sends the engine one answer each."""

from __future__ import annotations

from typing import Any

from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from prism.agents import StatefulAgent, Trigger, turn
from prism.statechart import Statechart


class AgentActor:
    """An actor that answers the triggers of one agent, one at a time.

    Args:
        agent: the agent's state.
        chart: the agent's behaviour; shared by all agents.
        codec: the domain's messages.
        engine: the mailbox that answers are sent to.
        ask: False takes the first option of every choice, and asks nothing.
    """

    __slots__ = ("agent", "ask", "chart", "codec", "engine", "handling")

    def __init__(
        self,
        agent: StatefulAgent[Any],
        chart: Statechart[Any],
        codec: Codec,
        engine: Mailbox[bytes],
        *,
        ask: bool = True,
    ) -> None:
        self.agent = agent
        self.chart = chart
        self.codec = codec
        self.engine = engine
        self.ask = ask
        self.handling: Trigger[Any] | None = None
        """The trigger that is being answered, if any. After a crash the supervisor answers it instead."""

    async def run(self, mailbox: Mailbox[bytes]) -> None:
        """Answer triggers until the mailbox closes. An error ends the loop: the supervisor decides what follows.

        The mailbox is an argument, so it outlives a crashed actor, and a restarted one continues at the next message.
        """
        agent, chart, ask, engine = self.agent, self.chart, self.ask, self.engine
        decode, encode = self.codec.trigger, self.codec.encode
        pending, take, ready, put = mailbox.pending, mailbox.take, mailbox.ready, engine.put
        while True:
            encoded = take() if pending else None
            if encoded is None:
                if mailbox.closed:
                    return
                await ready()
                continue
            self.handling = trigger = decode(encoded)
            answer = encode(turn(chart, agent, trigger, ask=ask))
            if not put(answer):
                await engine.send(answer)
            self.handling = None
