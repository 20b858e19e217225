"""Turns in columns: a wave's agents by state and trigger, with guards as vectors, and one turn at a time for the rest.

A turn that only moves an agent is the same for all who take it, so it is looked up once for all. A turn that runs an
action or asks the oracle is taken by an agent made for it from the world's state, as after a restart.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any, Final

import numpy as np
from anyio.abc import TaskGroup
from msgspec import structs
from numpy.typing import NDArray

from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from actors.runtime.answers import Answers
from actors.runtime.supervisor import Supervisor
from prism.agents import Question, Source, Trigger, Update
from prism.agents.waves import DecidedWave, Kind, Updates, Wave
from prism.columns import Ints, distinct
from prism.domain import HasColumns
from prism.statechart.columns import select_all
from prism.statechart.transitions import Choice, Transition

AT_ONCE: Final = 16_384
"""Turns that are taken together before the event loop gets a turn: about 10 ms of work."""

ENCODED_AT_ONCE: Final = 8192
"""Answers that are encoded together: the processor's cache holds them. Ten times as many take twice as long each."""

ONE_BY_ONE: Final = 64
"""Turns that are taken one after the other before the event loop gets a turn: about 2 ms."""

TAILS: Final = 1024
"""Kinds of updates, each with an effect, whose encoding is kept: a chart of feeds has some tens."""

_ALONE: Final = -1
"""The code of a turn that is taken by itself."""
_ASKED: Final = -2
"""The code of a turn that is a question."""

Tail = Callable[[Kind, Any], bytes]
"""Returns what follows the agent's number in an encoded update of a kind, with an effect."""

_agent = attrgetter("agent")


class Columns:
    """The turns of a wave in columns.

    Args:
        codec: the domain's messages.
        supervisor: answers for an agent that crashes.
        domain: the domain.
    """

    mailboxes: Sequence[Mailbox[bytes]] = ()

    def __init__(self, codec: Codec, supervisor: Supervisor, domain: HasColumns) -> None:
        self.unanswered = 0
        self._columns = domain
        self._codec = codec
        self._supervisor = supervisor
        self._chart, self._ask = supervisor.domain.chart, supervisor.ask
        self._tail: Tail = lru_cache(TAILS, typed=True)(partial(_tail, codec))

    def begin(self, tasks: TaskGroup) -> None:
        """Start nothing."""

    def end(self) -> None:
        """End nothing."""

    async def exchange(self, tick: int, triggers: Sequence[Trigger[Any]]) -> Answers:
        """Take the turns, and give the event loop its turn now and then."""
        self.unanswered = len(triggers)
        await asyncio.sleep(0)
        if not triggers:
            return Answers(None, [], [], 0)
        turns = _Turns(len(triggers))
        wave = triggers if isinstance(triggers, Wave) else self._columns.decided(tick, sorted(triggers, key=_agent))
        states, of_agents = wave.states()
        for start in range(0, len(wave), AT_ONCE):
            self._take_all(wave, states, of_agents, start, turns)
            await asyncio.sleep(0)
        alone: dict[int, bytes] = {}
        for count, place in enumerate(np.flatnonzero(turns.codes == _ALONE).tolist()):
            alone[place] = self._supervisor.take_turn(wave[place], {})
            if count % ONE_BY_ONE == ONE_BY_ONE - 1:
                await asyncio.sleep(0)
        self.unanswered = 0
        return _answers(self._codec, self._tail, tick, wave.agents, turns, alone)

    def _take_all(
        self, wave: Wave[Any], states: Sequence[Any], of_agents: NDArray[np.int16], start: int, turns: _Turns
    ) -> None:
        """Take the turns of a part of a wave that only move an agent, or leave it where it is.

        Args:
            states, of_agents: as `Wave.states` returns them, of the whole wave.
            start: the first turn of the part.
        """
        part, width = slice(start, start + AT_ONCE), len(wave.names)
        groups = of_agents[part].astype(np.int64) * width + wave.codes[part]
        sizes = np.bincount(groups)
        codes, others = np.full(len(sizes), _ALONE, dtype=np.intp), list[int]()
        is_decided = isinstance(wave, DecidedWave)
        for group in sizes.nonzero()[0].tolist():
            kind = None if is_decided else self._kind(states[group // width], wave.names[group % width])
            if kind is not None:
                codes[group] = turns.code(kind)
            else:
                others.append(group)
        turns.codes[part] = codes[groups]
        for group in others:
            state, name = states[group // width], wave.names[group % width]
            places = start + (groups == group).nonzero()[0]
            if isinstance(wave, DecidedWave):
                self._settle_group(wave, state, name, places, turns)
            else:
                self._take_group(wave, state, name, places, turns)

    def _kind(self, state: Any, trigger: str) -> Kind | None:
        """Return the kind of update of all agents in a state that get a trigger; None if it depends on the agent."""
        rows = self._chart.rows(state, trigger)
        if rows is None:
            return Kind(trigger, state.value, state.value, Source.NO_ROW)
        return None if rows.at_once is None else Kind(trigger, state.value, rows.at_once.value, Source.RULE)

    def _take_group(self, wave: Wave[Any], state: Any, trigger: str, places: NDArray[np.intp], turns: _Turns) -> None:
        selected = select_all(self._chart, state, trigger, len(places), partial(wave.read, places))
        if selected is None:
            return
        for row, those in selected.split(places):
            if row is None:
                turns.take(those, Kind(trigger, state.value, state.value, Source.NO_ROW))
            elif isinstance(row, Transition):
                _take_row(wave, row, those, turns)
            elif not self._ask:
                _take_row(wave, row.options[0], those, turns)
            elif len(row.options) > 1:
                self._ask_all(wave, state, row, those, turns)

    def _settle_group(
        self, wave: DecidedWave[Any], state: Any, trigger: str, places: NDArray[np.intp], turns: _Turns
    ) -> None:
        """Take the rows that were chosen, selected as of the tick of the question, where nothing else came of it."""
        places = places[wave.is_plain[places]]
        if self._supervisor.quarantined:
            refused = map(self._supervisor.is_quarantined, wave.agents[places].tolist())
            places = places[~np.fromiter(refused, np.bool_, len(places))]
        if not len(places):
            return
        selected = select_all(self._chart, state, trigger, len(places), partial(wave.read, places))
        if selected is None:
            return
        for choice, those in selected.split(places):
            if not isinstance(choice, Choice):
                continue
            for code in distinct(wave.chosen[those]).tolist():
                target, source = wave.answers[code]
                row = choice.option(target)
                if row is not None and row.target in self._chart.states:
                    _take_row(wave, row, those[wave.chosen[those] == code], turns, source)

    def _ask_all(
        self, wave: Wave[Any], state: Any, choice: Choice[Any], places: NDArray[np.intp], turns: _Turns
    ) -> None:
        """Put the choice of agents in one state into a question each."""
        targets = tuple(target.value for target in choice.targets)
        for place, trigger in zip(places.tolist(), wave.at(places), strict=True):
            question = Question(wave.tick, trigger.agent, trigger.name, state.value, targets, trigger.context)
            turns.questions[place] = question, self._codec.encode(question)
        turns.codes[places] = _ASKED


def _take_row(
    wave: Wave[Any], row: Transition[Any], places: NDArray[np.intp], turns: _Turns, source: str = Source.RULE
) -> None:
    """Take a row for many agents, if its action has a column."""
    if row.target is None:
        return
    kind = Kind(row.trigger, row.source.value, row.target.value, source)
    if row.action is None:
        turns.take(places, kind)
    elif (effects := wave.act(places, row.action)) is not None:
        turns.take_each(places, kind, effects)


class _Turns:
    """The kinds of the turns of a wave, and which each turn has.

    Args:
        count: the number of turns.
    """

    def __init__(self, count: int) -> None:
        self.forms: dict[tuple[Kind, str | None], int] = {}
        """`{(kind, effect): code}`."""
        self.questions: dict[int, tuple[Question[Any], bytes]] = {}
        """`{place: question, as its agent would have encoded it}`."""
        self.codes = np.full(count, _ALONE, dtype=np.intp)

    def take(self, places: NDArray[np.intp], kind: Kind, effect: str | None = None) -> None:
        """Give the turns at these places a kind and an effect."""
        self.codes[places] = self.code(kind, effect)

    def take_each(self, places: NDArray[np.intp], kind: Kind, effects: Sequence[str]) -> None:
        """Give the turns at these places a kind, and each its effect."""
        self.codes[places] = [self.code(kind, effect) for effect in effects]

    def code(self, kind: Kind, effect: str | None = None) -> int:
        """Return the code of the turns of a kind with an effect."""
        return self.forms.setdefault((kind, effect), len(self.forms))


def _answers(codec: Codec, tail: Tail, tick: int, agents: Ints, turns: _Turns, alone: dict[int, bytes]) -> Answers:
    """Return the answers of a wave: those of a kind in columns, the others as they were encoded."""
    forms, codes = turns.forms, turns.codes
    effects, reasons, questions = dict[int, Any](), dict[int, str](), turns.questions
    for (_, effect), code in forms.items():
        if effect is not None:
            effects.update(dict.fromkeys(agents[codes == code].tolist(), effect))
    for (place, encoded), answer in zip(alone.items(), codec.answers([*alone.values()]), strict=True):
        if isinstance(answer, Question):
            questions[place] = answer, encoded
            codes[place] = _ASKED
            continue
        codes[place] = turns.code(Kind(answer.trigger, answer.from_state, answer.to_state, answer.source))
        if answer.effect is not None:
            effects[answer.agent] = answer.effect
        if answer.reason:
            reasons[answer.agent] = answer.reason
    given = {**alone, **{place: encoded for place, (_, encoded) in questions.items()}}
    pieces = _encoded(codec, tick, agents, [tail(*form) for form in forms], codes, given)
    moved = codes >= 0
    updates = Updates(tick, agents[moved], [kind for kind, _ in forms], codes[moved], effects, reasons)
    asked = [questions[place] for place in sorted(questions)]
    return Answers(updates if len(updates) else None, asked, [*pieces], len(agents))


def _encoded(
    codec: Codec,
    tick: int,
    agents: Ints,
    tails: Sequence[bytes],
    codes: NDArray[np.intp],
    alone: Mapping[int, bytes],
) -> Iterator[bytes]:
    """Yield the answers as their agents would have encoded them, one after the other, so many in a piece.

    Args:
        tails: what follows the agent's number in an answer; `codes`: the number of each answer's.
        alone: `{place: answer}` of those that are encoded already.
    """
    head, _ = _parts(codec, Update(tick, 0, "", "", "", ""))
    tails, places = [*tails, b"", b""], sorted(alone)  # two tails of the codes below 0
    for start in range(0, len(agents), ENCODED_AT_ONCE):
        part = slice(start, start + ENCODED_AT_ONCE)
        numbers = agents[part].tolist()
        words = [head] * (3 * len(numbers))  # three of each answer: to join two of them first takes half as long again
        words[1::3] = [*map(codec.encode, numbers)]
        words[2::3] = [*map(tails.__getitem__, codes[part].tolist())]
        for place in places[bisect_left(places, part.start) : bisect_left(places, part.stop)]:
            words[3 * (place - start) : 3 * (place - start) + 3] = alone[place], b"", b""
        yield b"".join(words)


def _tail(codec: Codec, kind: Kind, effect: Any) -> bytes:
    """Return what follows the agent's number in an encoded update of a kind: it is the same in every tick."""
    _, tail = _parts(codec, Update(0, 0, *kind, effect))
    return tail


def _parts(codec: Codec, update: Update[Any]) -> tuple[bytes, bytes]:
    """Return what comes before and after the agent's number in an encoded update of agent 0."""
    zero, one = codec.encode(update), codec.encode(structs.replace(update, agent=1))
    place = next(place for place, (byte, other) in enumerate(zip(zero, one, strict=True)) if byte != other)
    return zero[:place], zero[place + 1 :]
