"""The engine's record of agents that deliberate: their questions, until which tick, and the answers so far."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from actors.core.errors import ActorError
from actors.core.mailbox import Mailbox
from actors.core.messages import LATE, Codec, Decided, QuestionName
from actors.core.state import EngineState
from prism.agents import FALLBACKS, Decision, Question, Source, Trigger
from prism.agents.questions import Answered, Decisions, Questions
from prism.columns import Ints
from prism.domain import Stretch

AnswerNow = Callable[[Sequence[Question[Any]]], Sequence[Decided] | None]
ChooseNow = Callable[[Questions[Any]], Ints | None]


class OpenQuestions:
    """The open questions, at most one of each agent.

    Args:
        answer_now: returns the answers to questions; None if they must be put into the mailbox.
        choose_now: returns those to questions in columns; None if they must be asked one by one.
    """

    def __init__(
        self,
        codec: Codec,
        oracle: Mailbox[bytes],
        answer_now: AnswerNow = lambda _: None,
        choose_now: ChooseNow = lambda _: None,
    ) -> None:
        self._answer_now = answer_now
        self._choose_now = choose_now
        self.late = 0
        """Decisions whose answers came too late, in `realtime`."""
        self.fallbacks: Counter[str] = Counter()
        """`{reason: decisions that took effect and were not the oracle's}`. It follows from the journal alone."""
        self._codec = codec
        self._oracle = oracle
        self._asked: dict[int, Question[Any]] = {}
        self._due: dict[int, list[int]] = {}
        """`{tick: agents whose decisions take effect in it}`, each list in the order of asking."""
        self._decided: dict[int, Decided] = {}
        self._chosen: dict[int, Answered] = {}
        """`{tick: the questions in columns whose answers take effect in it}`: all those of one wave."""
        self._unsent: deque[tuple[Question[Any], bytes]] = deque()
        """Encoded questions that were not sent yet: of this wave, or without room in the oracle's mailbox."""

    def open(self, question: Question[Any], due: int) -> None:
        """Add a question whose agent deliberates until the tick `due`.

        Raises:
            ActorError: the agent deliberates already.
        """
        if (before := self._asked.get(question.agent)) is not None:
            raise ActorError(
                f"agent {question.agent} asked a question in tick {question.tick:,}, and its question of tick "
                f"{before.tick:,} has no decision yet: a world sends no trigger to an agent that deliberates "
                "(World.deliberates); with population.deliberation_minutes=0 decisions take effect in the tick "
                "of their questions"
            )
        self._asked[question.agent] = question
        self._due.setdefault(due, []).append(question.agent)

    def choose(self, questions: Questions[Any], due: int) -> bool:
        """Add the questions of a wave with their answers, if these are computed at once; return whether they are.

        A second wave of the same tick goes one by one.
        """
        chosen = None if due in self._chosen else self._choose_now(questions)
        if chosen is not None:
            self._chosen[due] = questions, chosen
        return chosen is not None

    def chosen(self) -> list[Answered] | None:
        """Return the open questions with their answers, oldest first; None if one is not in columns."""
        return None if self._asked else [*self._chosen.values()]

    def settle(self, stretch: Stretch, tick: int, deliberation: int) -> None:
        """Take over the outcomes of questions in the ticks before this one."""
        for due in [due for due in self._chosen if due < tick]:
            del self._chosen[due]
        self._chosen |= {each[0].tick + deliberation: each for each in stretch.pending}

    def take_chosen(self, tick: int) -> Decisions[Any] | None:
        """Remove the questions in columns whose answers take effect in this tick, and return these; None for none."""
        if tick not in self._chosen:
            return None
        questions, chosen = self._chosen.pop(tick)
        return Decisions(tick, questions, chosen, Source.ORACLE.value)

    def ask(self, question: Question[Any], encoded: bytes) -> None:
        """Queue a question for the oracle; `offer` sends it."""
        self._unsent.append((question, encoded))

    def ask_again(self, end: int) -> None:
        """Ask the questions that a checkpoint left open and whose answers can take effect before the tick `end`."""
        for tick in sorted(self._due):
            if tick < end:
                for agent in self._due[tick]:
                    if agent not in self._decided:
                        self.ask(self._asked[agent], self._codec.encode(self._asked[agent]))
        self.offer()

    def offer(self) -> None:
        """Send queued questions while the oracle's mailbox has room. It never waits, so it cannot deadlock.

        An oracle that computes many answers at once gives them at once.
        """
        decided = self._answer_now([question for question, _ in self._unsent]) if self._unsent else None
        if decided is not None:
            self._unsent.clear()
            self._decided.update({each.agent: each for each in decided})
        while self._unsent and self._oracle.put(self._unsent[0][1]):
            self._unsent.popleft()

    def add_answers(self, batch: Iterable[bytes]) -> None:
        """Keep the answers in a batch until they take effect, except those that came too late, in `realtime`."""
        for encoded in batch:
            decided = self._codec.decided(encoded)
            if self.is_open((decided.agent, decided.asked, decided.trigger)):
                self._decided[decided.agent] = decided
        self.offer()

    @property
    def number(self) -> int:
        return len(self._asked) - len(self._decided)

    def due(self, tick: int) -> list[int]:
        return self._due.get(tick, [])

    def take_due(self, tick: int) -> list[int]:
        """Remove and return the agents whose decisions take effect in this tick."""
        return self._due.pop(tick, [])

    def any_unanswered(self, agents: Iterable[int]) -> bool:
        """Return whether any of these agents has no answer yet."""
        return any(agent not in self._decided for agent in agents)

    def discard_answers(self, agents: Iterable[int]) -> None:
        """Discard the answers of agents whose decisions came too late."""
        for agent in agents:
            self._decided.pop(agent, None)

    def close_all(self, agents: Sequence[int], tick: int) -> list[Trigger[Any]]:
        triggers = list[Trigger[Any]]()
        for agent in agents:
            question, decided = self._asked.pop(agent), self._decided.pop(agent, None)
            if decided is None:
                self.late += 1
                decision = Decision(question.options[0], Source.TIMEOUT, question.tick, LATE)
            else:
                decision = Decision(decided.state, decided.source, decided.asked, decided.reason, decided.content)
            if decision.source in FALLBACKS:
                self.fallbacks[decision.reason] += 1
            triggers.append(Trigger(tick, agent, question.trigger, question.context, decision))
        return triggers

    def is_open(self, name: QuestionName) -> bool:
        """Return whether this question has no answer yet."""
        agent, asked, trigger = name
        question = self._asked.get(agent)
        is_this = question is not None and (question.tick, question.trigger) == (asked, trigger)
        return is_this and agent not in self._decided

    def asked(self) -> tuple[tuple[int, bytes], ...]:
        """Return `(tick in which the decision takes effect, the question)` of each, ascending."""
        encode = self._codec.encode
        one_by_one = [(tick, encode(self._asked[agent])) for tick in self._due for agent in self._due[tick]]
        chosen = [(tick, encode(question)) for tick, (questions, _) in self._chosen.items() for question in questions]
        return tuple(sorted([*one_by_one, *chosen], key=itemgetter(0)))

    def decided(self) -> tuple[bytes, ...]:
        chosen = [each for one in self._chosen.values() for each in _decided(*one)]
        return tuple(map(self._codec.encode, [*self._decided.values(), *chosen]))

    def restore(self, state: EngineState) -> None:
        """Set the questions, answers and counts to those of a checkpoint."""
        self.late, self.fallbacks = state.late, Counter(state.fallbacks)
        for due, encoded in state.asked:
            self.open(self._codec.question(encoded), due)
        for encoded in state.decided:
            answer = self._codec.decided(encoded)
            self._decided[answer.agent] = answer


def _decided(questions: Questions[Any], chosen: Ints) -> Iterator[Decided]:
    """Yield the answers to questions in columns, one by one."""
    for question, number in zip(questions, chosen.tolist(), strict=True):
        source = Source.ORACLE.value
        yield Decided(question.tick, question.agent, question.trigger, question.options[number], source)
