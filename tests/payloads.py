"""The payloads of ticks whose rows are given as objects."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from actors.core.kinds import KindNumbers
from actors.core.messages import Codec, Message
from actors.runtime.activation import AnswerReader
from prism.agents import Question, Update
from prism.events import (
    OF_EVERY_RUN,
    OF_FEEDS,
    QUESTIONS,
    AttributeSet,
    FeedShown,
    Intervened,
    PostEvent,
    PostTaken,
    TieChanged,
)
from prism.rows import TickRows, columns_of
from prism.tables import Shape, Table

encode = msgspec.msgpack.encode


class Payloads:
    """The ticks of a run, each in one wave, with questions about a context of this type."""

    def __init__(self, context_type: Any = None, tables: Sequence[Table] = OF_FEEDS) -> None:
        codec = Codec(context_type, Any)
        self._reader = AnswerReader(codec)
        asked = QUESTIONS.with_columns(codec.contexts.columns)
        self._tables = [*(asked if table is QUESTIONS else table for table in OF_EVERY_RUN), *tables]
        self._kinds = KindNumbers()
        self._rows = TickRows(self.shapes)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return tuple(table.shape for table in self._tables)

    def of(self, tick: int, messages: Iterable[Message]) -> bytes:
        messages = [*messages]
        answers = [each for each in messages if isinstance(each, Update | Question)]
        rows: dict[str, list[tuple[Any, ...]]] = {}
        for each in messages:
            if isinstance(each, Intervened):
                rows.setdefault("interventions", []).append((each.number, each.kind, each.content))
            elif isinstance(each, PostEvent) and each.kind == "like":
                rows.setdefault("likes", []).append((each.agent, each.post))
            elif isinstance(each, PostEvent):
                parent = -1 if each.parent is None else each.parent
                rows.setdefault("posts", []).append((each.agent, each.kind, each.post, parent, each.topics, 0))
            elif isinstance(each, PostTaken):
                rows["posts"][-1] = (*rows["posts"][-1][:-1], each.number)
            elif isinstance(each, FeedShown):
                shown = [(each.agent, place, post) for place, post in enumerate(each.posts, 1)]
                rows.setdefault("feeds", []).extend(shown or [(each.agent, 1, -1)])
            elif isinstance(each, TieChanged):
                rows.setdefault("ties", []).append((each.agent, each.kind, each.whom, each.post))
            elif isinstance(each, AttributeSet):
                rows.setdefault("attributes", []).append((each.agent, each.name, each.value))
        self._kinds.add(self._rows, [self._reader.read(tick, [*map(encode, answers)]).rows()])
        tables = {table.name: table for table in self._tables}
        for name, of_table in rows.items():
            self._rows.add(name, *columns_of(tables[name], of_table))
        return self._rows.take(tick, self._kinds.end_tick(self._rows))
