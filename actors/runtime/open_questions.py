"""Who deliberates, until which tick, and what the oracle has answered so far. The engine's, and nobody else's."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from actors.core.mailbox import Mailbox
from actors.core.messages import LATE, Codec, Decided, QuestionName
from prism.agents import Decision, Question, Source, Trigger


class OpenQuestions:
    """Open questions, one an agent at most.

    Args:
        codec: the domain's messages.
        oracle: the oracle's mailbox.
    """

    def __init__(self, codec: Codec, oracle: Mailbox[bytes]) -> None:
        self.late = 0
        """Decisions that were not there in time, in real time."""
        self._codec = codec
        self._oracle = oracle
        self._asked: dict[int, Question[Any]] = {}
        self._due: dict[int, list[int]] = {}
        """`{tick: agents whose decision takes effect in it}`, each list in the order of asking."""
        self._decided: dict[int, Decided] = {}
        self._unsent: deque[bytes] = deque()
        """Questions that the oracle's full mailbox has refused so far."""

    def begin(self, question: Question[Any], due: int) -> None:
        """An agent deliberates until the tick `due`."""
        self._asked[question.agent] = question
        self._due.setdefault(due, []).append(question.agent)

    def ask(self, encoded: bytes) -> None:
        """A question is to be put to the oracle."""
        self._unsent.append(encoded)

    def ask_again(self, end: int) -> None:
        """Ask what is open from an earlier life, where an answer can take effect before the tick `end`."""
        for tick in sorted(self._due):
            if tick < end:
                still_open = [self._asked[agent] for agent in self._due[tick] if agent not in self._decided]
                self._unsent.extend(map(self._codec.encode, still_open))
        self.offer()

    def offer(self) -> None:
        """Pass questions on while the oracle takes them. Nobody waits here, so nobody can deadlock."""
        while self._unsent and self._oracle.put(self._unsent[0]):
            self._unsent.popleft()

    def note(self, batch: Iterable[bytes]) -> None:
        """Keep the decisions in a batch until they take effect, but those that came too late in real time."""
        for encoded in batch:
            decided = self._codec.decided(encoded)
            if self.is_open((decided.agent, decided.asked, decided.trigger)):
                self._decided[decided.agent] = decided
        self.offer()

    def due(self, tick: int) -> list[int]:
        """Whose decisions take effect in this tick; asked for once."""
        return self._due.pop(tick, [])

    def lack(self, agents: Iterable[int]) -> bool:
        """Whether any of these has no decision yet."""
        return any(agent not in self._decided for agent in agents)

    def forget_decisions(self, agents: Iterable[int]) -> None:
        """Their decisions came too late."""
        for agent in agents:
            self._decided.pop(agent, None)

    def end(self, agent: int, tick: int) -> Trigger[Any]:
        """The agent's trigger again, with the decision in it; without one, its first option, counted as late."""
        question, decided = self._asked.pop(agent), self._decided.pop(agent, None)
        if decided is None:
            self.late += 1
            decision = Decision(question.options[0], Source.TIMEOUT, question.tick, LATE)
        else:
            decision = Decision(decided.state, decided.source, decided.asked, decided.reason, decided.content)
        return Trigger(tick, agent, question.trigger, question.context, decision)

    def is_open(self, name: QuestionName) -> bool:
        """Whether this question has no answer yet."""
        agent, asked, trigger = name
        question = self._asked.get(agent)
        is_this = question is not None and (question.tick, question.trigger) == (asked, trigger)
        return is_this and agent not in self._decided

    def oldest(self) -> int | None:
        """The tick of the oldest open question; None where none is open."""
        return min((question.tick for question in self._asked.values()), default=None)

    def asked(self) -> tuple[tuple[int, bytes], ...]:
        """`(tick in which the decision takes effect, the question)`, ascending."""
        encode = self._codec.encode
        return tuple((tick, encode(self._asked[agent])) for tick in sorted(self._due) for agent in self._due[tick])

    def decided(self) -> tuple[bytes, ...]:
        """The answers that are there already."""
        return tuple(map(self._codec.encode, self._decided.values()))

    def restore(self, asked: Iterable[tuple[int, bytes]], decided: Iterable[bytes], late: int) -> None:
        """Go on from there."""
        self.late = late
        for due, encoded in asked:
            self.begin(self._codec.question(encoded), due)
        for encoded in decided:
            answer = self._codec.decided(encoded)
            self._decided[answer.agent] = answer
