"""One wave in columns: the triggers that a world sends at once, the updates that it applies, and its questions.

A trigger, a question or a decision is made as an object only on access.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.agents.turn import Decision, Question, Trigger, Update
from prism.columns import Ints, OnAccess
from prism.rows import Heap, Values, part_of
from prism.tables import BOOLEAN, INTEGER, NUMBER, PACKED, TEXT, Column, column

C = TypeVar("C")

Encoded = tuple[bytes, Sequence[int]]
"""Messages one after the other, and the place after each."""


class Wave(OnAccess[Trigger[C]]):
    """The triggers of one wave in columns, ascending by agent, valid until the world applies an update.

    Each trigger is made on access; `codes` has the number of its name among the names.
    """

    def __init__(self, tick: int, agents: Ints, names: Sequence[str], codes: Ints) -> None:
        self.tick = tick
        self.agents = agents
        self.names = names
        self.codes = codes

    def __len__(self) -> int:
        return len(self.agents)

    def made(self, place: int) -> Trigger[C]:
        return self.trigger(int(self.agents[place]), self.names[self.codes[place]])

    @abstractmethod
    def trigger(self, agent: int, name: str) -> Trigger[C]: ...

    def encoded(self) -> Encoded | None:
        """Return the triggers as they are sent to agents; None if each must be encoded by itself."""
        return None


TEXT_MAX: Final = 32
"""The most characters of an effect that is part of a kind."""


class Kind(NamedTuple):
    """A kind of update, which many agents can have. Worlds and counts look at it once, however many do.

    The effect is a short text; empty for no effect, and for one that an update has of its own.
    """

    trigger: str
    from_state: str
    to_state: str
    source: str
    effect: str = ""
    reason: str = ""

    @property
    def action(self) -> str | None:
        """The effect that all updates of this kind have; None for no effect."""
        return self.effect or None


def kind_of(update: Update[Any]) -> Kind:
    effect: Any = update.effect
    is_short = isinstance(effect, str) and len(effect) <= TEXT_MAX
    return Kind(
        update.trigger,
        update.from_state,
        update.to_state,
        update.source,
        effect if is_short else "",
        update.reason,
    )


class Updates:
    """The updates of one wave, ascending by agent.

    Args:
        kinds: the kinds that occur, and `codes`: the number of each agent's among them.
        effects: `{agent: effect}` of the updates that have one of their own.
    """

    def __init__(
        self,
        tick: int,
        agents: Ints,
        kinds: Sequence[Kind],
        codes: NDArray[np.intp],
        effects: Mapping[int, Any] = MappingProxyType({}),
    ) -> None:
        self.tick = tick
        self.agents = agents
        self.kinds = kinds
        self.codes = codes
        self.effects = effects

    @classmethod
    def of(cls, updates: Sequence[Update[Any]]) -> Updates:
        """Return the columns of one or more updates of the same tick, ascending by agent."""
        numbers: dict[Kind, int] = {}
        agents, codes = np.empty((2, len(updates)), dtype=np.int64)
        effects: dict[int, Any] = {}
        for place, each in enumerate(updates):
            kind = kind_of(each)
            agents[place], codes[place] = each.agent, numbers.setdefault(kind, len(numbers))
            if each.effect is not None and not kind.effect:
                effects[each.agent] = each.effect
        return cls(updates[0].tick, agents, tuple(numbers), codes, effects)

    def __len__(self) -> int:
        return len(self.agents)

    def __iter__(self) -> Iterator[Update[Any]]:
        return (
            Update(
                self.tick,
                agent,
                (kind := self.kinds[code]).trigger,
                kind.from_state,
                kind.to_state,
                kind.source,
                self.effects.get(agent, kind.action),
                kind.reason,
            )
            for agent, code in zip(self.agents.tolist(), self.codes.tolist(), strict=True)
        )

    @property
    def counts(self) -> list[int]:
        found: list[int] = np.bincount(self.codes, minlength=len(self.kinds)).tolist()
        return found


_encode: Final = msgspec.msgpack.Encoder().encode
_KINDS: Final = {int: INTEGER, float: NUMBER, bool: BOOLEAN, str: TEXT}
SEEN: Final = "seen"


class Contexts:
    """The columns of contexts of one type: of a struct that is an array, one for each field; else one that is packed.

    A struct may name a subclass as its `widest`. Then the columns are those of the subclass, and the ones that the
    struct does not have stay empty: so runs with either have the same columns.
    """

    def __init__(self, context_type: Any) -> None:
        self._type = context_type
        is_struct = isinstance(context_type, type) and issubclass(context_type, msgspec.Struct)
        plain = is_struct and context_type.__struct_config__.array_like and not context_type.__struct_config__.tag
        self._fields = msgspec.structs.fields(getattr(context_type, "widest", context_type)) if plain else ()
        self._own = len(msgspec.structs.fields(context_type)) if plain else 0
        self._kinds = [_KINDS.get(each.type, PACKED) for each in self._fields]
        self._decoders = [msgspec.msgpack.Decoder(each.type).decode for each in self._fields]
        self._decode = msgspec.msgpack.Decoder(context_type).decode

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, which follow those of every question."""
        if not self._fields:
            return (column("context", PACKED, "what the agent knows of the case"),)
        return (
            column(SEEN, BOOLEAN, "whether the agent has something in view; else the columns after it mean nothing"),
            *(
                column(each.name, kind, "a field of the thing in view")
                for each, kind in zip(self._fields, self._kinds, strict=True)
            ),
        )

    def values(self, contexts: Sequence[Any]) -> tuple[Values, ...]:
        if not self._fields:
            return (Heap.of([_encode(each) for each in contexts]),)
        seen = np.array([each is not None for each in contexts], dtype=np.uint8)
        found: list[Values] = [seen]
        for field, kind in zip(self._fields[: self._own], self._kinds, strict=False):
            values = [None if each is None else getattr(each, field.name) for each in contexts]
            if kind is TEXT:
                found.append(Heap.of([b"" if each is None else each.encode() for each in values]))
            elif kind is PACKED:
                found.append(Heap.of([_encode(each) for each in values]))
            else:
                dtype = {INTEGER: np.int64, NUMBER: np.float64, BOOLEAN: np.uint8}[kind]
                found.append(np.array([0 if each is None else each for each in values], dtype=dtype))
        return *found, *self.absent(len(contexts))

    def absent(self, count: int) -> list[Heap]:
        return [Heap.same(b"", count) for _ in self._fields[self._own :]]

    def at(self, columns: Sequence[Values], place: int) -> Any:
        if not self._fields:
            return self._decode(columns[0][place])
        if not columns[0][place]:
            return None
        values = []
        for kind, decode, of_field in zip(self._kinds[: self._own], self._decoders, columns[1:], strict=False):
            value: Any = of_field[place]
            if kind is TEXT:
                value = value.decode()
            elif kind is PACKED:
                value = decode(value)
            else:
                value = bool(value) if kind is BOOLEAN else value.item()
            values.append(value)
        return self._type(*values)


class QuestionKind(NamedTuple):
    """The kind of a question, which many agents can ask."""

    trigger: str
    state: str
    options: tuple[str, ...]


class Questions(OnAccess[Question[C]]):
    """The questions of one wave, ascending by agent.

    Args:
        kinds: `{number: kind}`, and `codes`: the number of each question's among them.
        columns: what the questions are about, as `contexts` has it, from the row `first` on.
        seen: their part that the embedded choice of their domain reads; None for questions that it has answered.
    """

    def __init__(  # its columns
        self,
        tick: int,
        agents: Ints,
        kinds: Mapping[int, QuestionKind],
        codes: Ints,
        columns: Sequence[Values],
        contexts: Contexts,
        seen: Any = None,
        first: int = 0,
    ) -> None:
        self.tick = tick
        self.agents = agents
        self.kinds = kinds
        self.codes = codes
        self._columns = columns
        self._first = first
        self.contexts = contexts
        self.seen = seen

    def __len__(self) -> int:
        return len(self.agents)

    def made(self, place: int) -> Question[C]:
        kind = self.kinds[int(self.codes[place])]
        return Question(self.tick, int(self.agents[place]), *kind, self.contexts.at(self._columns, self._first + place))

    @property
    def columns(self) -> tuple[Values, ...]:
        """The contexts of the questions: a column for each field."""
        first, end = self._first, self._first + len(self)
        return tuple(each if len(each) == end and not first else part_of(each, first, end) for each in self._columns)


Answered = tuple[Questions[Any], Ints]
"""Questions in columns, and the number of the option that the oracle chose in each."""


class Decisions(OnAccess[Trigger[C]]):
    """Triggers that bring the answers to questions, as the number of the chosen option, in the tick of their effect."""

    def __init__(self, tick: int, questions: Questions[C], chosen: Ints, source: str) -> None:
        self.tick = tick
        self.questions = questions
        self.chosen = chosen
        self.source = source

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def agents(self) -> Ints:
        return self.questions.agents

    def made(self, place: int) -> Trigger[C]:
        question = self.questions.made(place)
        decision = Decision(question.options[int(self.chosen[place])], self.source, question.tick)
        return Trigger(self.tick, question.agent, question.trigger, question.context, decision)


class Forms:
    def __init__(self) -> None:
        self.kinds: list[Kind] = []
        self.asks = np.zeros(1, dtype=np.int64)
        """1 for each number that is a question's, else 0; the last place is that of ALONE."""

    def learn(self, forms: Sequence[Kind], asked: Mapping[int, QuestionKind]) -> None:
        """Take over the kinds of `prism.domain.Turns` that are new."""
        if len(forms) > len(self.kinds):
            self.kinds += forms[len(self.kinds) :]
            self.asks = np.zeros(len(self.kinds) + 1, dtype=np.int64)
            self.asks[[*asked]] = 1
