"""The ways in which agents take their turns: each in a task of its own, many at once, or one after the other.

| way | an agent is | a trigger costs |
|---|---|---|
| `Resident` | a task and a mailbox, from the start of the run to its end | two messages, and a wake-up of the task |
| `Compiled` | a row of the world's tables | a place in an array, or a call |
| `OneByOne` | its state, made at its first trigger | a call |

All give the same answers, so the same journal: a turn is a pure function of the chart, the agent and the trigger, it
never waits, and the engine sorts the answers of a wave by agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any

from anyio.abc import TaskGroup

from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from actors.runtime.answers import Activation, AnswerReader, Answers
from actors.runtime.compiled import Compiled
from actors.runtime.supervisor import Supervisor
from prism.agents import StatefulAgent, Trigger
from prism.agents.waves import Wave
from prism.config import RunConfig
from prism.domain import Domain, HasTurns

CHUNK = 256
"""Triggers sent before the event loop gets a turn: 1 or 2 ms of work, so that timers and signals do not wait long."""

SLICE_S = 0.001
"""The time of turns taken one by one after which the event loop gets a turn."""


class Resident(Activation):
    """Every agent is a task with a mailbox. It is the reference for all other ways.

    Args:
        supervisor: runs the agents, and has the mailbox of their answers.
        capacity: the most messages in the mailbox of one agent.
    """

    def __init__(self, codec: Codec, supervisor: Supervisor, capacity: int) -> None:
        self.mailboxes = [Mailbox[bytes](f"agent {number}", capacity) for number in range(supervisor.domain.size)]
        self.unanswered = 0
        self._inbox = supervisor.engine
        self._codec = codec
        self._reader = AnswerReader(codec)
        self._supervisor = supervisor

    def begin(self, tasks: TaskGroup) -> None:
        """Start a task for each agent that is not quarantined."""
        for number, mailbox in enumerate(self.mailboxes):
            if self._supervisor.is_quarantined(number):
                mailbox.close()
            else:
                tasks.start_soon(self._supervisor.run_agent, number, mailbox)

    async def exchange(self, tick: int, triggers: Sequence[Trigger[Any]]) -> Answers:
        answers, boxes, encode = list[bytes](), self.mailboxes, self._codec.encode
        at_once: list[tuple[int, bytes]] | None = None
        if isinstance(triggers, Wave) and (encoded := triggers.encoded()) is not None:
            content, ends = encoded
            texts = (content[start:end] for start, end in pairwise([0, *ends]))
            at_once = [*zip(triggers.agents.tolist(), texts, strict=True)]
        for start in range(0, len(triggers), CHUNK):
            chunk = slice(start, start + CHUNK)
            # A world that makes triggers when asked makes many at once.
            pairs = [(each.agent, encode(each)) for each in triggers[chunk]] if at_once is None else at_once[chunk]
            for agent, message in pairs:
                boxes[agent].put(message)
            self.unanswered = start + len(pairs) - len(answers)
            await asyncio.sleep(0)
            answers += self._inbox.take_all()
        while len(answers) < len(triggers):
            self.unanswered = len(triggers) - len(answers)
            answers += await self._inbox.receive_all()
        self.unanswered = 0
        return self._reader.read(tick, answers)

    def end(self) -> None:
        """Close the mailboxes: each task ends once its own is empty."""
        for mailbox in self.mailboxes:
            mailbox.close()


class OneByOne(Activation):
    """An agent is its state, and takes its turn when it is called. No turn waits, so none needs a task of its own.

    An agent is made at its first trigger, and again after a crash. The turns of a wave are taken one after the other,
    for about a millisecond at a time.
    """

    def __init__(self, codec: Codec, supervisor: Supervisor) -> None:
        self.unanswered = 0
        self._reader = AnswerReader(codec)
        self._supervisor = supervisor
        self._agents: dict[int, StatefulAgent[Any]] = {}

    async def exchange(self, tick: int, triggers: Sequence[Trigger[Any]]) -> Answers:
        """Take the turns, and give the event loop its turn before them and after each millisecond of them."""
        encoded: list[bytes] = []
        self.unanswered = len(triggers)
        await asyncio.sleep(0)  # even in a short wave: otherwise a run without waits would never notice a stop
        begun, take, agents = perf_counter(), self._supervisor.take_turn, self._agents
        for start in range(0, len(triggers), CHUNK):  # a world that makes triggers when asked makes many in less time
            for trigger in triggers[start : start + CHUNK]:
                encoded.append(take(trigger, agents))
                if perf_counter() - begun > SLICE_S:
                    self.unanswered = len(triggers) - len(encoded)
                    await asyncio.sleep(0)
                    begun = perf_counter()
        self.unanswered = 0
        return self._reader.read(tick, encoded)


MANY = 10_000
"""The number of agents from which `auto` makes no agent a task."""


def way_of(config: RunConfig, domain: Domain) -> str:
    """Return the way in which a domain's agents take their turns: `resident`, `compiled` or `one_by_one`.

    `compiled` needs a domain that offers it, and a chart without functions, because functions may change their agent.
    """
    way: str = config.activation if config.shards == 1 else "compiled"
    if way == "auto":
        way = "compiled" if domain.size >= MANY else "resident"
    if way == "compiled" and not (isinstance(domain, HasTurns) and not domain.one_by_one()):
        return "one_by_one"
    return way


def activation_of(config: RunConfig, codec: Codec, supervisor: Supervisor) -> Activation:
    domain = supervisor.domain
    way = way_of(config, domain)
    if way == "compiled" and isinstance(domain, HasTurns):
        return Compiled(codec, supervisor, domain)
    if way == "one_by_one":
        return OneByOne(codec, supervisor)
    return Resident(codec, supervisor, config.mailbox_capacity)
