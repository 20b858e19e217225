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
from operator import attrgetter
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np
from anyio.abc import TaskGroup

from actors.core.kinds import AnswerRows
from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from actors.runtime.supervisor import Supervisor
from prism.agents import Question, StatefulAgent, Trigger, Update
from prism.agents.waves import (
    Answered,
    Contexts,
    Decisions,
    Forms,
    Kind,
    QuestionKind,
    Questions,
    Updates,
    Wave,
    kind_of,
)
from prism.columns import Ints
from prism.config import RunConfig
from prism.domain import ALONE, Domain, HasTurns, Stretch
from prism.statechart import Oracle


class Answers(NamedTuple):
    """The answers to one wave, ascending by agent; `asked`: questions that came one by one, as they were encoded."""

    updates: Updates | None = None
    questions: Questions[Any] | None = None
    asked: Sequence[tuple[Question[Any], bytes]] = ()

    def rows(self) -> AnswerRows:
        return AnswerRows.of(self.updates, self.questions)


class AnswerReader:
    """Reads answers that come one by one.

    All updates of a kind have the same bytes behind their agent, unless they have effects of their own, so only the
    first of each kind is decoded.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._kinds: list[Kind] = []
        self._numbers: dict[Kind, int] = {}
        self._known: dict[bytes, int] = {}
        """`{the bytes of an update behind its agent: the number of its kind}`."""

    def read(self, tick: int, encoded: Sequence[bytes]) -> Answers:
        """Return the answers to a wave, which come in any order, at most one of each agent."""
        # 1. Answers are arrays: two bytes, the tick, the agent, the rest. An integer of msgpack is one byte below 0x80,
        #    or 0xCC to 0xCF and the 1, 2, 4 or 8 bytes after it.
        at, known, number_of = 2 + len(self._codec.encode(tick)), self._known.get, int.from_bytes
        agents, codes = list[int](), list[int]()
        for message in encoded:
            first, end = message[at], at + 1
            if first >= 0x80:
                end += 1 << first - 0xCC
                first = number_of(message[at + 1 : end], "big")
            agents.append(first)
            codes.append(known(message[end:], -1))
        ordered = sorted(agents)
        if agents != ordered:
            places = sorted(range(len(agents)), key=agents.__getitem__)
            agents, codes, encoded = ordered, [codes[each] for each in places], [encoded[each] for each in places]
        # 2. Questions, updates with effects of their own, and new kinds.
        asked, effects = list[tuple[Question[Any], bytes]](), dict[int, Any]()
        if -1 in codes:
            for place in [place for place, code in enumerate(codes) if code < 0]:
                answer = self._codec.answer(encoded[place])
                if not isinstance(answer, Update):
                    asked.append((answer, encoded[place]))
                    continue
                kind = kind_of(answer)
                codes[place] = self._numbers.setdefault(kind, len(self._kinds))
                if codes[place] == len(self._kinds):
                    self._kinds.append(kind)
                if kind.effect or answer.effect is None:
                    behind = len(self._codec.encode((tick, answer.agent))) + 1
                    self._known[encoded[place][behind:]] = codes[place]
                else:
                    effects[answer.agent] = answer.effect
        # 3. The columns.
        of_agents, of_codes = np.array(agents, dtype=np.int64), np.array(codes, dtype=np.int64)
        if asked:
            of_agents, of_codes = of_agents[of_codes >= 0], of_codes[of_codes >= 0]
        updates = Updates(tick, of_agents, self._kinds, of_codes, effects) if len(of_agents) else None
        return Answers(updates, questions_of(asked, self._codec.contexts), asked)


def questions_of(asked: Sequence[tuple[Question[Any], bytes]], contexts: Contexts) -> Questions[Any] | None:
    """Return questions that came one by one in columns."""
    if not asked:
        return None
    questions = [question for question, _ in asked]
    kinds = [QuestionKind(each.trigger, each.state, each.options) for each in questions]
    numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
    return Questions(
        questions[0].tick,
        np.array([each.agent for each in questions], dtype=np.int64),
        {number: kind for kind, number in numbers.items()},
        np.array([numbers[kind] for kind in kinds], dtype=np.int64),
        contexts.values([each.context for each in questions]),
        contexts,
    )


class Activation:
    """A way in which agents take their turns."""

    unanswered = 0
    """Triggers whose answer has not been read."""
    mailboxes: Sequence[Mailbox[bytes]] = ()
    """The agents' mailboxes, by agent id; empty where they have none."""

    def begin(self, tasks: TaskGroup) -> None:
        """Start what runs beside the engine: nothing, if no agent is a task."""

    async def exchange(self, tick: int, triggers: Sequence[Trigger[Any]]) -> Answers:
        """Give each trigger to its agent, and return the answers; a quarantined one raises a MailboxClosedError."""
        raise NotImplementedError

    def stretch(
        self, _ticks: range, _delay: int, _oracle: Oracle[Any], _pending: Sequence[Answered], /
    ) -> Stretch | None:
        """Run ticks together, as `prism.domain.Turns.stretch`; return None to run them one by one."""
        return None

    def end(self) -> None:
        """End the tasks that `begin` started."""


CHUNK = 256
"""Triggers sent before the event loop gets a turn: 1 or 2 ms of work, so that timers and signals do not wait long."""

SLICE_S = 0.001
"""The time of turns taken one by one after which the event loop gets a turn."""


class Resident(Activation):
    """Every agent is a task with a mailbox of this capacity. It is the reference for all other ways."""

    def __init__(self, codec: Codec, supervisor: Supervisor, capacity: int) -> None:
        self.mailboxes = [Mailbox[bytes](f"agent {number}", capacity) for number in range(supervisor.domain.size)]
        self._inbox = supervisor.engine
        self._codec = codec
        self._reader = AnswerReader(codec)
        self._supervisor = supervisor

    def begin(self, tasks: TaskGroup) -> None:
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
    """An agent is its state, made at its first trigger and after a crash, and takes its turn when it is called."""

    def __init__(self, codec: Codec, supervisor: Supervisor) -> None:
        self._reader = AnswerReader(codec)
        self._supervisor = supervisor
        self._agents: dict[int, StatefulAgent[Any]] = {}

    async def exchange(self, tick: int, triggers: Sequence[Trigger[Any]]) -> Answers:
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


ONE_BY_ONE: Final = 64
"""Turns that are taken one after the other before the event loop gets a turn: about 2 ms."""


class Compiled(Activation):
    """The turns of a wave at once, in kernels: each is the number of a kind of update or of a question.

    An agent whose row runs a function or whose decision has a text takes its turn alone, made from the world's state.
    """

    def __init__(self, codec: Codec, supervisor: Supervisor, domain: HasTurns) -> None:
        self._codec = codec
        self._supervisor = supervisor
        self._turns = domain.turns(asks=supervisor.ask)
        self._asked: dict[int, int] = {}
        """`{agent: the number of its question}` of those that wait for a decision."""
        self._forms = Forms()

    def begin(self, tasks: TaskGroup) -> None:  # noqa: ARG002  # no turn is a task
        """Prepare the turns: the first wave would wait for it."""
        self._turns.prepare()

    async def exchange(self, tick: int, triggers: Sequence[Trigger[Any]]) -> Answers:
        self.unanswered = len(triggers)
        if not triggers:
            return Answers()
        asked: Questions[Any] | None = None
        given: dict[int, tuple[Any, bytes]] = {}
        if isinstance(triggers, Wave):
            agents, numbers = triggers.agents, np.empty(len(triggers), dtype=np.int64)
            self._turns.take(triggers, numbers)
            await asyncio.sleep(0)
            asked, given = self._questions(triggers, numbers)
        elif isinstance(triggers, Decisions):
            agents, numbers = triggers.questions.agents, self._turns.settled(triggers)
            if self._supervisor.quarantined:
                numbers[[*map(self._supervisor.is_quarantined, agents.tolist())]] = ALONE
        else:
            triggers = sorted(triggers, key=attrgetter("agent"))
            agents = np.array([each.agent for each in triggers], dtype=np.int64)
            numbers = np.full(len(triggers), ALONE, dtype=np.int64)
            for place, each in enumerate(triggers):  # turns that carry out decisions
                number = self._asked.pop(each.agent, ALONE)
                if number != ALONE and each.decision is not None and not self._supervisor.is_quarantined(each.agent):
                    numbers[place] = self._turns.decided(number, each.decision, each.agent)
        alone = (numbers == ALONE).nonzero()[0].tolist()
        for count, place in enumerate(alone):
            encoded = self._supervisor.take_turn(triggers[place], {})
            given[place] = self._codec.answer(encoded), encoded
            if count % ONE_BY_ONE == ONE_BY_ONE - 1:
                await asyncio.sleep(0)
        self.unanswered = 0
        # Divide the answers, objects and numbers, into updates and questions.
        forms, effects = self._forms, dict[int, Any]()
        forms.learn(self._turns.forms, self._turns.asked)
        moved = forms.asks[numbers] == 0
        for place, (answer, _) in given.items():
            moved[place] = isinstance(answer, Update)
            if not isinstance(answer, Update):
                continue
            kind = kind_of(answer)
            numbers[place] = self._turns.number(kind)
            if answer.effect is not None and not kind.effect:
                effects[answer.agent] = answer.effect
        forms.learn(self._turns.forms, self._turns.asked)
        updates = Updates(tick, agents[moved], forms.kinds, numbers[moved], effects)
        questions = [given[place] for place in sorted(given) if isinstance(given[place][0], Question)]
        in_columns = asked or questions_of(questions, self._codec.contexts)
        return Answers(updates if len(updates) else None, in_columns, questions)

    def stretch(self, ticks: range, delay: int, oracle: Oracle[Any], pending: Sequence[Answered]) -> Stretch | None:
        return self._turns.stretch(ticks, delay, self._forms, oracle, pending)

    def _questions(
        self, wave: Wave[Any], numbers: Ints
    ) -> tuple[Questions[Any] | None, dict[int, tuple[Question[Any], bytes]]]:
        """Return the questions of a wave in columns, or else by place, each as its agent would have encoded it."""
        self._forms.learn(self._turns.forms, self._turns.asked)
        places = self._forms.asks[numbers].nonzero()[0]
        if not len(places):
            return None, {}
        if ALONE not in numbers:  # else somebody who is alone may ask, too, and all go one by one
            asked = self._turns.questions(wave, places, numbers)
            if asked is not None:
                return asked, {}
        encode, found = self._codec.encode, dict[int, tuple[Question[Any], bytes]]()
        triggers = wave.at(places)
        for place, number, trigger in zip(places.tolist(), numbers[places].tolist(), triggers, strict=True):
            kind = self._turns.asked[number]
            question = Question(wave.tick, trigger.agent, kind.trigger, kind.state, kind.options, trigger.context)
            self._asked[trigger.agent] = number
            found[place] = question, encode(question)
        return None, found


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
