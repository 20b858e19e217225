"""Judgements drawn anew: what people who shared may have been told by themselves, as far as the audits leave it open.

Three things are open, and each draw has others:

- how the model judges by what it is told: a logit over the fields of questions, as `distil` fits it, here to a sample
  of the run's judgements with replacement. So people of an archetype differ, and all who look at one post differ alike;
- how far an archetype is from that: residuals of its own audits, out of fold and in log-odds, and with the weight of
  one of these the residuals of all audits of the same state, trigger and options. Weights are those of Rubin's Bayesian
  bootstrap (1981), as a hierarchical Dirichlet process has them (Teh et al. 2006, in the finite form of Ishwaran &
  Zarepour 2002);
- who is told what: each person has one of these residuals.

Audits alone have residuals, because they are a random sample. Source: multiple imputation, Rubin (1987).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from prism.rng import WORLD, Draw, integer, uniform
from prism.sharing.distilled import FEWEST, FOLDS
from prism.sharing.fields import Fields, Value
from prism.sharing.logit import fit_logit
from prism.sharing.records import Judged, Name
from prism.sharing.table import Key

OF_ALL: Final = 1.0
"""The weight of the residuals of all archetypes beside those of the archetype itself."""
DRAWN: Final = 24
"""The residuals of all archetypes that one archetype draws."""
LEAST: Final = 0.01
"""The share that is added to probabilities before their logarithm is taken."""

Floats = NDArray[np.float64]
Shares = tuple[float, ...]
Base = Callable[[Key, Sequence[Value]], Sequence[float]]
"""A function from an archetype and the values of a question's fields to the probabilities that are expected."""


class Likely(NamedTuple):
    """A judgement that somebody may have got.

    Args:
        is_counted: whether such judgements are counted from answers: then a person who is asked alone gets one answer.
    """

    probabilities: Shares
    is_counted: bool


class Kind:
    """The judgements of the questions with the same state, trigger and options.

    Args:
        judged: all of them, in order.
        fields: those of questions.
    """

    def __init__(self, judged: Sequence[Judged], fields: Fields) -> None:
        self.audits = [each for each in judged if each.is_audit]
        self.is_counted = any(each.samples for each in judged)
        self._judged, self._fields = judged, fields
        self._options = [str(option) for option in judged[0].kind[2:]]
        self._first = {each.key: each.probabilities for each in reversed(judged) if not each.is_audit}
        self._mean = np.mean([each.probabilities for each in judged], axis=0).tolist()
        self.residuals = self._residuals()
        """The distance of each audit from what is expected without it, in log-odds."""
        self.of_key = defaultdict[Key, list[int]](list)
        """`{archetype: the places of its audits}`."""
        for place, each in enumerate(self.audits):
            self.of_key[each.key].append(place)

    def base(self, judged: Sequence[Judged]) -> Base:
        """Return what is expected by some of the judgements; if all are few, what was asked for all of an archetype."""
        if len(self._judged) < FEWEST:
            return lambda key, _: self._first.get(key, self._mean)
        predict = fit_logit(judged, self._fields, self._options).predictor(self._fields.names)
        return lambda _, values: predict(values)

    def drawn(self, random: np.random.Generator) -> Base:
        """Return what is expected by a sample of the judgements with replacement."""
        return self.base([self._judged[at] for at in random.integers(len(self._judged), size=len(self._judged))])

    def _residuals(self) -> Floats:
        found: dict[Name, Floats] = {}
        for fold in range(FOLDS):
            base = self.base([each for at, each in enumerate(self._judged) if at % FOLDS != fold])
            for each in self._judged[fold::FOLDS]:
                found[each.name] = _logs(each.probabilities) - _logs(base(each.key, each.values))
        return np.array([found[each.name] for each in self.audits])


class Possible:
    """The judgements of a run, as far as they say what people who shared may have been told.

    Args:
        judged: all of them.
        fields: those of questions.
        seed: the run's.
    """

    def __init__(self, judged: Sequence[Judged], fields: Fields, seed: int) -> None:
        found = defaultdict[Key, list[Judged]](list)
        for each in sorted(judged, key=lambda each: (each.asked, each.agent, each.trigger)):
            found[each.kind].append(each)
        self.kinds = {kind: Kind(own, fields) for kind, own in found.items()}
        """`{state, trigger and options: judgements}`."""
        self.seed = seed

    @property
    def audits(self) -> list[Judged]:
        """All audits."""
        return [each for kind in self.kinds.values() for each in kind.audits]


class Drawn:
    """One draw of the judgements of everybody.

    Args:
        possible: what they may be.
        number: of the draw, from 0 on.
    """

    def __init__(self, possible: Possible, number: int) -> None:
        self._possible = possible
        self._number = number
        self._bases: dict[Key, Base] = {}
        """`{state, trigger and options: what is expected}`."""
        self._residuals: dict[Key, tuple[Floats, Floats]] = {}
        """`{archetype: the residuals of its people, and the sums of their weights}`."""

    def judgement(self, agent: int, kind: Key, of_fields: Key, values: Sequence[Value]) -> Likely | None:
        """Return what a person would have been told: the same each time; None if the run has no such questions.

        Args:
            kind: the state, trigger and options of the question; of_fields: the group of each field.
            values: of all fields.
        """
        known = self._possible.kinds.get(kind)
        if known is None:
            return None
        key = (*kind, *of_fields)
        if kind not in self._bases:
            self._bases[kind] = known.drawn(self._random(kind))
        if key not in self._residuals:
            self._residuals[key] = self._drawn(known, kind, key)
        residuals, sums = self._residuals[key]
        unit = uniform(self._possible.seed, agent, self._number, Draw.REDRAWN)
        place = min(int(np.searchsorted(sums, unit, side="right")), len(sums) - 1)
        moved = np.exp(_logs(self._bases[kind](key, values)) + residuals[place]) - LEAST
        moved = np.maximum(moved, 0.0)
        return Likely(tuple((moved / moved.sum()).tolist()), known.is_counted)

    def _drawn(self, known: Kind, kind: Key, key: Key) -> tuple[Floats, Floats]:
        """Draw the residuals of an archetype, and how many of its people have which; without any audit these are 0."""
        if not known.audits:
            return np.zeros((1, 1)), np.ones(1)
        random, of_all = self._random(key), self._random((*kind, "residuals"))
        weights = of_all.exponential(size=len(known.audits)) * [each.weight for each in known.audits]
        others = random.choice(len(known.audits), size=DRAWN, p=weights / weights.sum())
        own = known.of_key.get(key, [])
        shares = random.dirichlet([1.0] * len(own) + [OF_ALL / DRAWN] * DRAWN)
        return known.residuals[[*own, *others.tolist()]], np.cumsum(shares)

    def _random(self, key: Key) -> np.random.Generator:
        place = xxh3_64_intdigest(msgspec.msgpack.encode(key)) >> 1
        seed = integer(1 << 63, self._possible.seed, WORLD, self._number, Draw.REDRAWN, place)
        return np.random.default_rng(seed)


def _logs(shares: Sequence[float]) -> Floats:
    return np.log(np.asarray(shares) + LEAST)
