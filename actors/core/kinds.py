"""The kinds of updates and questions of a run, in the order in which they first occur in it; and its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.agents.waves import Contexts, Kind, QuestionKind, Questions, Updates
from prism.domain import Domain, Stretch, World
from prism.errors import ConfigError
from prism.events import KINDS, OF_EVERY_RUN, OF_FEEDS, QUESTIONS, UPDATES
from prism.rows import Heap, TickRows, Values, bytes_of, payload_of
from prism.tables import Shape, Table

ASKED: Final = "asked"
"""The source of a kind of question."""

_SHIPPED: Final = {table.name: table for table in OF_FEEDS}
_DOMAIN: Final = "simulation.domain"

_encode: Final = msgspec.msgpack.Encoder().encode
_options: Final = msgspec.json.Encoder().encode


def recorded_tables(world: World, contexts: Contexts) -> list[Table]:
    """Return the tables that the journal of a run has, in their order."""
    asked = QUESTIONS.with_columns(contexts.columns)
    found = [*(asked if table is QUESTIONS else table for table in OF_EVERY_RUN), *world.tables]
    for table in world.tables:
        if [each.name for each in found].count(table.name) > 1 or (
            table.name in _SHIPPED and table.shape != _SHIPPED[table.name].shape
        ):
            raise ConfigError("configuration", f"its table {table.name} has a name that PRISM's own has", key=_DOMAIN)
    return found


def shapes_of(domain: Domain) -> tuple[Shape, ...]:
    return tuple(table.shape for table in recorded_tables(domain.world, Contexts(domain.context_type)))


def with_shapes(before: Sequence[Shape], now: Sequence[Shape]) -> tuple[Shape, ...]:
    """Return the tables of a fork: those of its parent, then its own; a ValueError if one of both has other columns."""
    had = {shape.name: shape for shape in before}
    for shape in now:
        if had.setdefault(shape.name, shape) != shape:
            raise ValueError(f"its table {shape.name} has other columns")
    return tuple(had.values())


@lru_cache  # a chart has few of them, and each wave asks for all
def kind_of_question(kind: QuestionKind) -> Kind:
    return Kind(kind.trigger, kind.state, "", ASKED, _options(kind.options).decode())


class AnswerRows(NamedTuple):
    """The answers of a wave, as another process can have them: the columns of updates, then those of questions.

    `codes` and `asked_codes`: the place of each one's kind in `kinds` and `asked`.
    """

    agents: NDArray[Any]
    kinds: Sequence[Kind]
    codes: NDArray[Any]
    effects: Mapping[int, Any]
    asking: NDArray[Any]
    asked: Sequence[Kind]
    asked_codes: NDArray[Any]
    columns: Sequence[Values]

    @property
    def nbytes(self) -> int:
        """The bytes of the columns that each agent has a row of."""
        return sum(each.nbytes for each in (self.agents, self.codes, self.asking, self.asked_codes))

    @classmethod
    def of(cls, updates: Updates | None, questions: Questions[Any] | None) -> AnswerRows:
        of_updates: tuple[Any, ...] = (_NOBODY, (), _NOBODY, {})
        of_questions: tuple[Any, ...] = (_NOBODY, (), _NOBODY, ())
        if updates is not None:
            of_updates = updates.agents, updates.kinds, updates.codes, updates.effects
        if questions is not None:
            numbers = sorted(questions.kinds)
            kinds = [kind_of_question(questions.kinds[number]) for number in numbers]
            of_questions = questions.agents, kinds, np.searchsorted(numbers, questions.codes), questions.columns
        return cls(*of_updates, *of_questions)

    def to_send(self) -> AnswerRows:
        kinds, codes = _used(self.kinds, self.codes)
        asked, asked_codes = _used(self.asked, self.asked_codes)
        return self._replace(kinds=kinds, codes=codes, effects={**self.effects}, asked=asked, asked_codes=asked_codes)


_NOBODY: Final = np.zeros(0, dtype=np.int64)


def _used(kinds: Sequence[Kind], codes: NDArray[Any]) -> tuple[tuple[Kind, ...], NDArray[Any]]:
    """Return the kinds that occur, and the place of each code's among them."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(kinds)))
    places = np.zeros(len(kinds) + 1, dtype=np.int64)
    places[used] = np.arange(len(used))
    return tuple(kinds[place] for place in used.tolist()), places[codes]


class KindNumbers:
    """The numbers of kinds; `known`: those of the ticks before, in their order."""

    def __init__(self, known: Sequence[Sequence[str]] = ()) -> None:
        self._numbers = {Kind(*each): number for number, each in enumerate(known)}
        self._recorded = len(known)
        self._latest: tuple[Sequence[Kind], NDArray[np.int64]] = (), _NOBODY
        """The kinds of the latest updates, which are mostly the same again, and the number of each or -1."""

    @property
    def known(self) -> tuple[Kind, ...]:
        return tuple(self._numbers)

    def add(self, rows: TickRows, wave: Sequence[AnswerRows]) -> None:
        """Add the answers of a wave, each part of it the agents after those of the one before."""
        for part in wave:
            if part.kinds is not self._latest[0] or len(part.kinds) != len(self._latest[1]):
                self._latest = part.kinds, self._table(part.kinds)
            if len(part.agents):
                rows.add("updates", part.agents, self._of(part.kinds, part.codes, self._latest[1]))
            if part.effects:
                agents = sorted(part.effects)
                rows.add("effects", np.array(agents), Heap.of([_encode(part.effects[agent]) for agent in agents]))
        for part in wave:
            if len(part.asking):
                numbers = self._of(part.asked, part.asked_codes, self._table(part.asked))
                rows.add("questions", part.asking, numbers, *part.columns)

    def end_tick(self, rows: TickRows) -> int:
        """Add the kinds that are new in a tick to its rows, and return how many were known before."""
        before, self._recorded = self._recorded, len(self._numbers)
        if before < self._recorded:
            rows.add_first(KINDS.name, *_columns([*self._numbers][before:]))
        return before

    def payloads(self, first: int, stretch: Stretch, shapes: Sequence[Shape]) -> Iterator[bytes]:
        tables, known = dict(stretch.tables), np.full(stretch.ticks, len(self._numbers))
        # 1. The numbers of kinds, in the order in which they occur: in each wave updates, then questions.
        new = list[tuple[int, int, int, int, Kind]]()
        of_codes = np.full(len(stretch.kinds), -1, dtype=np.int64)
        for order, name in enumerate((UPDATES.name, QUESTIONS.name)):
            (_, codes, *_), ends = tables[name]
            for code in np.bincount(codes).nonzero()[0].tolist():
                kind = stretch.kinds[code] if order == 0 else kind_of_question(stretch.asked_kinds[code])
                of_codes[code] = self._numbers.get(kind, -1)
                if of_codes[code] < 0:
                    place = int(np.argmax(codes == code))
                    new.append((int(np.searchsorted(ends.ravel(), place, "right")), order, place, code, kind))
        if new:
            for _, _, _, code, kind in sorted(new):
                of_codes[code] = self._numbers[kind] = len(self._numbers)
            waves = ends.shape[1]
            in_tick = np.bincount([wave // waves for wave, *_ in new], minlength=stretch.ticks).cumsum()
            known[1:] += in_tick[:-1]
            tables[KINDS.name] = _columns([kind for *_, kind in sorted(new)]), np.repeat(in_tick[:, None], waves, 1)
            self._recorded = len(self._numbers)
        for name in (UPDATES.name, QUESTIONS.name):
            (agents, codes, *others), ends = tables[name]
            tables[name] = (agents, of_codes[codes], *others), ends
        # 2. Of each table the rows in each wave of each tick, and the bytes of each tick's columns.
        found = list[tuple[int, list[list[int]], list[bytes]]]()
        for number, shape in [each for each in enumerate(shapes) if each[1].name in tables]:
            columns, ends = tables[shape.name]
            if not ends[-1:, -1].any():
                continue
            places, pieces = np.append(0, ends[:, -1]), list[list[bytes]]()
            for values, (_, dtype) in zip(columns, shape.columns, strict=True):
                if isinstance(values, Heap):
                    pieces.append(_cut(values.lengths.astype("<u4").tobytes(), 4 * places))
                    pieces.append(_cut(values.data.tobytes(), np.append(0, values.ends)[places]))
                else:
                    width = int(dtype[-1])  # the last letter of a kind of numbers is their width
                    pieces.append(_cut(bytes_of(values, dtype), width * places))
            of_waves = np.diff(ends.ravel(), prepend=0).reshape(ends.shape).tolist()
            found.append((number, of_waves, [*map(b"".join, zip(*pieces, strict=True))]))
        # 3. The payloads.
        for tick, before in enumerate(known.tolist()):
            counts = list[list[int]]()
            for number, of_waves, _ in found:
                rows = of_waves[tick]
                while rows and not rows[-1]:
                    rows.pop()
                if rows:
                    counts.append([number, *rows])
            yield payload_of(first + tick, before, counts, [of_ticks[tick] for *_, of_ticks in found])

    def _table(self, kinds: Sequence[Kind]) -> NDArray[np.int64]:
        return np.array([self._numbers.get(kind, -1) for kind in kinds], dtype=np.int64)

    def _of(self, kinds: Sequence[Kind], codes: NDArray[Any], table: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each row's kind. Kinds that are new are numbered as they come."""
        found: NDArray[np.int64] = table[codes]
        if len(found) and found.min() < 0:
            for code in dict.fromkeys(codes[found < 0].tolist()):
                table[code] = self._numbers.setdefault(kinds[code], len(self._numbers))
            found = table[codes]
        return found


def _cut(content: bytes, bounds: NDArray[np.int64]) -> list[bytes]:
    return [content[start:end] for start, end in pairwise(bounds.tolist())]


def _columns(kinds: Sequence[Kind]) -> list[Heap]:
    return [Heap.of([text.encode() for text in each]) for each in zip(*kinds, strict=True)]
