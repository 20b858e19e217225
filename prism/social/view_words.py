"""The words of views: the names, topics and texts in them, as `prism.social.kernels.view_kernel` puts them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.agents.bytes_kernel import NUMBER_BYTES
from prism.agents.waves import Contexts
from prism.columns import Ints
from prism.kernels import Held, handed_over
from prism.rows import Heap, Values
from prism.social.kernels import view_kernel
from prism.social.kernels.view_kernel import FIELDS, TextTables
from prism.social.people.people import People
from prism.social.people.population import Population
from prism.social.posts.living import KINDS
from prism.social.posts.post import TEMPLATES, PostView

_encode: Final = msgspec.msgpack.Encoder().encode
CONTEXTS: Final = Contexts(PostView)
_NUMBERS: Final = (
    *("likes", "replies", "reshares", "velocity", "popularity", "followed"),
    *("topic_match", "appeal", "fatigue", "quality", "exposures", "origin", "viewed"),
)
"""The numbers of a view, in the order in which `PostView` has them."""
ROOM: Final = FIELDS * NUMBER_BYTES
"""The most bytes of a view but for its name, topics and text."""


class PackedTexts(NamedTuple):
    """Texts one after the other: the n-th from `starts[n]` on; and the bytes of the longest."""

    content: NDArray[np.uint8]
    starts: Ints
    longest: int

    @classmethod
    def of(cls, words: Iterable[bytes]) -> PackedTexts:
        known = list(words)
        starts = np.array([*accumulate(map(len, known), initial=0)], dtype=np.int64)
        content = np.frombuffer(bytearray(b"".join(known) or b"-"), dtype=np.uint8)
        return cls(content, starts, max(map(len, known), default=0))


class ViewWords:
    def __init__(self, population: Population, given: Sequence[str]) -> None:
        self.names = PackedTexts.of(map(str.encode, People(population.personas).texts("name")))
        self.given = PackedTexts.of(text.encode() for text in given)
        self.words = PackedTexts.of(())
        self.room = 0
        self._hold = Held()
        self._note()
        self.topics: list[bytes] = []
        """The topics of each code, as msgpack."""
        self._each: list[bytes] = []

    def _note(self) -> None:
        self.tables = TextTables(*self.names[:2], *self.words[:2], *self.given[:2])

    @property
    def held(self) -> Any:
        """The tables as kernels get them from Python."""
        return self._hold(self.tables)

    def learn(self, topics: Sequence[tuple[str, ...]]) -> None:
        if len(topics) == len(self.topics):
            return
        for each in topics[len(self.topics) :]:
            texts = (one.format(topic=each[0] if each else "this") for kind in KINDS for one in TEMPLATES[kind])
            self.topics.append(_encode(each))
            self._each += [self.topics[-1], *(text.encode() for text in texts)]
        self.words = PackedTexts.of(self._each)
        self._note()
        texts_max = max(self.words.longest, self.given.longest)
        self.room = ROOM + self.names.longest + texts_max + self.words.longest

    def columns(self, key: NDArray[np.uint64], tick: int | Ints, views: NDArray[Any]) -> tuple[Values, ...]:
        """Return views in columns, as `CONTEXTS` has them. No author has written a text.

        Args:
            tick: of all of them, or of each.
        """
        count = len(views)
        sizes = self.names.longest, max(self.words.longest, self.given.longest), self.words.longest
        heaps = [np.empty(count * size, dtype=np.uint8) for size in sizes]
        ends = np.zeros((3, count), dtype=np.int64)
        view_kernel.write_texts(key, handed_over(views), self.held, heaps[0], heaps[1], heaps[2], ends)
        cut = zip(heaps, ends, strict=True)
        names, texts, topics = (Heap(data[: int(of[-1]) if count else 0].copy(), of) for data, of in cut)
        return (
            np.ones(count, dtype=np.uint8),
            *(views["id"], views["author"]),
            *(names, texts, topics),
            tick - views["created"],
            *(views[name] for name in _NUMBERS),
            *CONTEXTS.absent(count),
        )
