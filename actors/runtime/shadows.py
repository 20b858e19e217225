"""The engine's record of shadow questions: turns that a rule settled, put to the oracle for comparison only.

A turn can be one of them if its state and trigger have questions, by the chart, and a rule settled it all the same. A
hash says which of those are. Nothing follows from the answer: it is counted beside what the rule did.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from actors.core.mailbox import Mailbox
from actors.core.messages import Codec, QuestionName, Shadowed
from actors.core.state import ShadowState
from actors.oracle.shadow import LATE
from prism.agents import Question, Source, Trigger, Update
from prism.divergence import RULE, ComparedChoices, Reference
from prism.rng import Draw, uniform
from prism.statechart import Statechart

CAPACITY = 1024
"""Shadow questions that may wait for the shadow actor, and answers that may wait for the engine."""

WAITING_MAX = 16_384
"""Shadow questions beyond `CAPACITY` that the engine keeps, a few hundred bytes each: about 15 MB."""

ANSWERED, UNFINISHED = "answered", "unfinished"
_RULE = Source.RULE.value


class _Open(NamedTuple):
    question: Question[Any]
    ruled: str


class Shadows:
    """The shadow questions of a run.

    Args:
        share: the share of the settled turns that are asked about; 0 to 1.
        seed: the run's seed.
        chart: the agents' chart.
        codec: the domain's messages.
        reference: returns what the embedded choice says to a question.
        is_embedded: whether the oracle answers at once: then the engine waits for it where too many questions wait, and
            otherwise further ones are discarded.
    """

    def __init__(
        self,
        share: float,
        seed: int,
        chart: Statechart[Any],
        codec: Codec,
        reference: Callable[[Question[Any]], Reference],
        *,
        is_embedded: bool = False,
    ) -> None:
        self.share = share
        self.choices = ComparedChoices(RULE)
        """The oracle's choices beside those of the rules."""
        self.outcomes: Counter[str] = Counter()
        """`{answered, or why there is no answer: shadow questions}`."""
        self.questions: Mailbox[bytes] = Mailbox("shadow questions", CAPACITY)
        self.answers: Mailbox[bytes] = Mailbox("shadow answers", CAPACITY)
        self._seed = seed
        self._codec = codec
        self._reference = reference
        self.is_embedded = is_embedded
        self._options = options_of(chart) if share else {}
        self._open: dict[QuestionName, _Open] = {}
        self._unsent: deque[bytes] = deque()

    @property
    def unfinished(self) -> int:
        """Shadow questions without an outcome."""
        return len(self._open)

    def watch(self, triggers: Sequence[Trigger[Any]], answers: Iterable[Update[Any] | Question[Any]]) -> None:
        """Ask about some of the turns that rules have settled.

        Args:
            triggers: of the turns; `answers`: theirs, in any order.
        """
        if not self._options:
            return
        asked: dict[int, Trigger[Any]] | None = None
        for update in answers:
            if isinstance(update, Question) or update.source != _RULE:
                continue
            options = self._options.get((update.from_state, update.trigger))
            if options is None or uniform(self._seed, update.agent, update.tick, Draw.SHADOW) >= self.share:
                continue
            asked = asked or {trigger.agent: trigger for trigger in triggers}
            context = asked[update.agent].context
            question = Question(update.tick, update.agent, update.trigger, update.from_state, options, context)
            if self.is_full and not self.is_embedded:
                self._discard(question)
            else:
                self._add(question, update.to_state)
        self.offer()

    @property
    def is_full(self) -> bool:
        """True while no further question should wait: memory is bounded in a long run."""
        return len(self._unsent) >= WAITING_MAX

    def _discard(self, question: Question[Any]) -> None:
        self.outcomes[LATE] += 1
        self.choices.add_fallback(question.trigger, question.state)

    def _add(self, question: Question[Any], ruled: str) -> None:
        self._open[question.agent, question.tick, question.trigger] = _Open(question, ruled)
        self._unsent.append(self._codec.encode(question))

    def offer(self) -> None:
        """Send questions while there is room, and take the answers that are there. It never waits."""
        while self._unsent and self.questions.put(self._unsent[0]):
            self._unsent.popleft()
        self._settle(self.answers.take_all())

    def _settle(self, batch: Iterable[bytes]) -> None:
        for encoded in batch:
            shadowed = self._codec.shadowed(encoded)
            name = shadowed.agent, shadowed.asked, shadowed.trigger
            if (found := self._open.pop(name, None)) is not None:
                self._count(name, found, shadowed)

    def _count(self, name: QuestionName, found: _Open, shadowed: Shadowed) -> None:
        question, ruled = found
        if shadowed.reason:
            self.outcomes[shadowed.reason] += 1
            self.choices.add_fallback(question.trigger, question.state)
            return
        self.outcomes[ANSWERED] += 1
        reference = self._reference(question)
        self.choices.add(
            name, question.state, question.options, chosen=shadowed.state, other=ruled, reference=reference
        )

    async def finish(self) -> None:
        """Wait for the outcome of every shadow question."""
        self.offer()
        while self._open:
            self._settle(await self.answers.receive_all())
            self.offer()

    def oldest(self) -> int | None:
        """Return the tick of the oldest shadow question without an outcome; None if there is none."""
        return min((found.question.tick for found in self._open.values()), default=None)

    def state(self) -> ShadowState:
        """Return the counts so far and the open questions, between two ticks."""
        self.offer()
        asked = tuple((found.ruled, self._codec.encode(found.question)) for found in self._open.values())
        return ShadowState(choices=self.choices.state(), outcomes=dict(self.outcomes), asked=asked)

    def restore(self, state: ShadowState) -> None:
        """Set the counts to those of a checkpoint, and ask its open questions again."""
        self.choices.restore(state.choices)
        self.outcomes = Counter(state.outcomes)
        for ruled, encoded in state.asked if self.share else ():
            self._add(self._codec.question(encoded), ruled)


def options_of(chart: Statechart[Any]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return `{(state, trigger): options of its questions}`, for those that have some."""
    found = {}
    for state in chart.states:
        for trigger in chart.valid_triggers(state):
            if options := chart.question_options(state, trigger):
                found[state.value, trigger] = tuple(option.value for option in options)
    return found
