"""The words of views: the names, topics and texts in them, as `prism.social.kernels.view_kernel` puts them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.agents.answer_kernel import NUMBER_BYTES
from prism.agents.turn import Question
from prism.columns import Ints
from prism.social.kernels.view_kernel import FIELDS, FIRST_NAME, LAST_NAME, TextTables
from prism.social.people.persona import FIRST_NAMES, LAST_NAMES
from prism.social.people.population import Population
from prism.social.people.synthetic import SyntheticPeople
from prism.social.posts.living import KINDS
from prism.social.posts.post import TEMPLATES, PostView

_encode: Final = msgspec.msgpack.Encoder().encode
decode_question: Final = msgspec.msgpack.Decoder(Question[PostView]).decode
"""Returns a question of its bytes."""
ROOM: Final = FIELDS * NUMBER_BYTES + 8
"""The most bytes of a view but for its name, topics and text: no name has a number of more than 7 digits."""


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


_DONE: Final = PackedTexts.of(
    map(_encode, ("", "like", "reply", "reshare", "publish", "", "follow", "unfollow", "mute"))
)
"""The words for what was done, by the number of the effect."""


class ViewWords:
    def __init__(self, population: Population, given: Sequence[str]) -> None:
        people = population.personas
        if isinstance(people, SyntheticPeople):
            self.names = people.name_codes.T.copy()
            self.names[:, LAST_NAME] += len(FIRST_NAMES)
            self.name_words = PackedTexts.of(name.encode() for name in (*FIRST_NAMES, *LAST_NAMES))
        else:
            self.names = np.zeros((population.size, 3), dtype=np.int32)
            self.names[:, FIRST_NAME], self.names[:, LAST_NAME] = np.arange(population.size), -1
            self.name_words = PackedTexts.of(persona.name.encode() for persona in people)
        self.given = PackedTexts.of(map(_encode, given))
        self.words = PackedTexts.of(())
        self.room = 0
        self._known = 0
        self._each: list[bytes] = []

    @property
    def tables(self) -> TextTables:
        return TextTables(self.names, *self.name_words[:2], *self.words[:2], *self.given[:2], *_DONE[:2])

    def learn(self, topics: Sequence[tuple[str, ...]]) -> None:
        if len(topics) == self._known:
            return
        for each in topics[self._known :]:
            texts = (one.format(topic=each[0] if each else "this") for kind in KINDS for one in TEMPLATES[kind])
            self._each += [_encode(each), *map(_encode, texts)]
        self._known = len(topics)
        self.words = PackedTexts.of(self._each)
        texts_max = max(self.words.longest, self.given.longest)
        self.room = ROOM + 2 * self.name_words.longest + texts_max + self.words.longest
