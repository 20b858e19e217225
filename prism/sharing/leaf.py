"""An archetype, or a part of one that was split: its judgements, and what its questions share of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from prism.sharing.fields import Value
from prism.sharing.records import Judged, Name, Opening
from prism.sharing.splits import Split

KEPT: Final = 1000
"""The most judgements of an archetype that it shares the mean of: the latest."""


class Basis:
    """A distribution that questions share, or will share once the question asked for all has its answer.

    Args:
        leaf: the archetype; None for the surrogate.
        owner: the name of the question that is asked for all; None if the distribution is known already.
        opening: the first question that was asked for the archetype since it was new; None for none.
    """

    __slots__ = ("leaf", "opening", "owner", "probabilities")

    def __init__(
        self,
        leaf: Leaf | None,
        owner: Name | None,
        probabilities: tuple[float, ...] = (),
        opening: Opening | None = None,
    ) -> None:
        self.leaf = leaf
        self.owner = owner
        self.probabilities = probabilities
        self.opening = opening


class Leaf:
    """An archetype, or a part of one that was split.

    Args:
        words: its key.
        begun: the tick of the first question whose judgement counts: earlier ones are too old.
    """

    __slots__ = (
        "_new_since",
        "_opening",
        "_parts",
        "_split",
        "basis",
        "begun",
        "counted",
        "has_refused",
        "is_new",
        "look_at",
        "records",
        "words",
    )

    def __init__(self, words: str, begun: int = 0) -> None:
        self.words = words
        self.begun = begun
        self.is_new = True
        """False once a question has been asked for all: if it gets no answer, the next one is asked for all."""
        self.has_refused = False
        """True if a judgement did not count because of its opening: without that it would not have been too old."""
        self._opening: Opening | None = None
        self._new_since = begun
        """The tick of the first question whose judgement would count without the opening."""
        self.counted = 0
        """The judgements that have counted, those that are kept no longer included."""
        self.look_at = 0
        """The number of judgements from which a split is looked for again."""
        self.basis: Basis | None = None
        """The distribution that its questions share now; None before the first of them."""
        self.records: list[Judged] = []
        """The judgements that count."""
        self._split: Split | None = None
        self._parts: tuple[Leaf, Leaf] | None = None

    def leaf(self, values: Sequence[Value]) -> Leaf:
        """Return the part to which a question with these values belongs."""
        found = self
        while found._split is not None and found._parts is not None:
            found = found._parts[found._split.side(values)]
        return found

    def leaves(self) -> Iterator[Leaf]:
        """Yield its parts; itself if it was never split."""
        if self._parts is None:
            yield self
            return
        for part in self._parts:
            yield from part.leaves()

    @property
    def opening(self) -> Opening | None:
        """The first question that was asked for it since it was new; None for none, and if audits have made it."""
        return None if self._opening is None or self._opening.asked < self.begun else self._opening

    def open(self, opening: Opening) -> None:
        """Note that a question is asked for all, the first since the archetype is new."""
        self.is_new, self._opening = False, opening
        self.has_refused, self._new_since = False, self.begun

    def ask(self, name: Name) -> Basis:
        """Return the distribution that its questions will share: that of the question with this name."""
        self.basis = Basis(self, name, opening=self.opening)
        return self.basis

    def forget(self, tick: int) -> None:
        """Forget its judgements, which are too old at this tick, and be new."""
        self.begun, self.records, self.basis, self.is_new = tick, [], None, True
        self.counted = self.look_at = 0

    def add(self, judged: Judged) -> bool:
        """Count a judgement; return False for one that is too old."""
        if judged.asked < self.begun:
            self.has_refused |= judged.asked >= self._new_since
            return False
        self.records.append(judged)
        self.counted += 1
        if len(self.records) > KEPT:
            del self.records[0]
        return True

    def settle(self) -> None:
        """Share the mean of all judgements that count, if there is one."""
        if self.records:
            self.basis, self.is_new = Basis(self, None, mean_of(self.records), self.opening), False

    def divide(self, split: Split) -> tuple[Leaf, Leaf]:
        """Split it in two, and give each part its judgements; return the parts."""
        self._split = split
        parts = (
            Leaf(f"{self.words}, {split.words(0)}", self.begun),
            Leaf(f"{self.words}, {split.words(1)}", self.begun),
        )
        self._parts = parts
        for judged in self.records:
            part = parts[split.side(judged.values)]
            part.records.append(judged)
            part.counted += 1
        self.records, self.basis = [], None
        return parts


def mean_of(records: Sequence[Judged]) -> tuple[float, ...]:
    """Return the mean of the distributions, the same in any order."""
    count = len(records)
    return tuple(math.fsum(shares) / count for shares in zip(*(each.probabilities for each in records), strict=True))
