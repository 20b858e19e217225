"""Redrawn judgements: individual judgements for people who shared one, drawn from those that the audits make plausible.

Three things are uncertain, and differ between draws:

- how the model judges by the fields of a question: a logit, fitted to a sample of the run's
  judgements with replacement. So people of an archetype differ, and all people who see one post differ alike;
- how far an archetype is from the logit: residuals of its own audits, out of fold and in log-odds. All audits of the
  same state, trigger and options add theirs, together with the weight of one audit. Weights are those of Rubin's
  Bayesian bootstrap (1981), as a hierarchical Dirichlet process has them (Teh et al. 2006, in the finite form of
  Ishwaran & Zarepour 2002);
- how far a person is from the archetype: each person has one of these residuals.

Only audits give residuals, because they are a random sample. Source: multiple imputation, Rubin (1987).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from xxhash import xxh3_64_intdigest

from prism.columns import Floats
from prism.rng import WORLD, Draw, integer, uniform
from prism.sharing.logit import fit_logit
from prism.sharing.records import Fields, Judged, Name, Value
from prism.sharing.table import Key

FOLDS: Final = 10  # the parts of the judgements; each is left out once, to see how far away the logit of the others is
FEWEST: Final = 2 * FOLDS  # the fewest judgements of one kind of question that a logit is fitted to
OF_ALL: Final = 1.0  # the weight of the residuals of all archetypes beside those of the archetype itself
DRAWN: Final = 24  # the residuals of all archetypes that one archetype draws
LEAST: Final = 0.01  # the share that is added to probabilities before their logarithm is taken

Shares = tuple[float, ...]
Base = Callable[[Key, Sequence[Value]], Sequence[float]]
"""A function from an archetype and the values of a question's fields to the expected probabilities of the options."""


class Likely(NamedTuple):
    probabilities: Shares  # of the options, in their order
    # whether such judgements are counted from answers; a person who is asked alone then gets one answer
    is_counted: bool


class Kind:
    """The judgements of the questions with the same state, trigger and options."""

    def __init__(self, judged: Sequence[Judged], fields: Fields) -> None:
        self.audits = [each for each in judged if each.is_audit]
        self.is_counted = any(each.samples for each in judged)
        self._judged, self._fields = judged, fields
        self._first = {each.key: each.probabilities for each in reversed(judged) if not each.is_audit}
        self._mean = np.mean([each.probabilities for each in judged], axis=0).tolist()
        self.residuals = self._residuals()
        """The distance of each audit from its expectation without it, in log-odds: (audits, options)."""
        self.of_key = defaultdict[Key, list[int]](list)  # `{archetype: the places of its audits}`
        for place, each in enumerate(self.audits):
            self.of_key[each.key].append(place)

    def base(self, judged: Sequence[Judged]) -> Base:
        """Return the expectation by a logit on some of the judgements.

        With fewer than `FEWEST` judgements in all, it is the shared judgement of each archetype.
        """
        if len(self._judged) < FEWEST:
            return lambda key, _: self._first.get(key, self._mean)
        predict = fit_logit(judged, self._fields)
        return lambda _, values: predict(values)

    def drawn(self, random: np.random.Generator) -> Base:
        """Return the expectation by a sample of the judgements with replacement."""
        return self.base([self._judged[at] for at in random.integers(len(self._judged), size=len(self._judged))])

    def _residuals(self) -> Floats:
        found: dict[Name, Floats] = {}
        for fold in range(FOLDS):
            base = self.base([each for at, each in enumerate(self._judged) if at % FOLDS != fold])
            for each in self._judged[fold::FOLDS]:
                found[each.name] = _logs(each.probabilities) - _logs(base(each.key, each.values))
        return np.array([found[each.name] for each in self.audits])


class Possible:
    """The judgements of a run, from which individual judgements are drawn for people who shared."""

    def __init__(self, judged: Sequence[Judged], fields: Fields, seed: int) -> None:
        found = defaultdict[Key, list[Judged]](list)
        for each in sorted(judged, key=lambda each: (each.asked, each.agent, each.trigger)):
            found[each.kind].append(each)
        self.kinds = {kind: Kind(own, fields) for kind, own in found.items()}
        """`{state, trigger and options: judgements}`."""
        self.seed = seed

    @property
    def audits(self) -> list[Judged]:
        return [each for kind in self.kinds.values() for each in kind.audits]


class Drawn:
    """One draw of individual judgements for all people."""

    def __init__(self, possible: Possible, number: int) -> None:
        self._possible = possible
        self._number = number
        self._bases: dict[Key, Base] = {}  # `{state, trigger and options: expectation}`
        self._residuals: dict[Key, tuple[Floats, Floats]] = {}
        """`{archetype: residuals in log-odds, (residuals, options); cumulative weights, (residuals,)}`."""

    def judgement(self, agent: int, kind: Key, of_fields: Key, values: Sequence[Value]) -> Likely | None:
        """Return the individual judgement of a person, the same at each call; None if the run has no such questions."""
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
        """Draw the residuals of an archetype, and the cumulative shares of people with them; without audits, one 0."""
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
