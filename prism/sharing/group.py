"""The questions of one state and trigger with the same options: their mean, and the surrogate fitted to them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from prism.sharing.audit import divergence_from, mean_and_error
from prism.sharing.fields import Fields
from prism.sharing.leaf import Leaf
from prism.sharing.records import Judged, Name
from prism.sharing.splits import SURE
from prism.sharing.surrogate import Surrogate, fit_surrogate, folds_held_out

FITTED: Final = 4000
"""The most judgements that a surrogate is fitted to: the latest."""
GROWTH: Final = 1.25
"""The growth of the judgements after which a surrogate is fitted again."""
GROWTH_OF_FEW: Final = 1.1
"""The same for a surrogate of few judgements, to which each one more matters."""
FEWEST_TO_FIT: Final = 30
FEWEST_TO_TRUST: Final = 10
"""The fewest audits that a surrogate was compared on before it is used."""
COMPARED: Final = 200
"""The latest audits on which a surrogate is compared with archetypes."""
VALIDATED: Final = 1000
"""The most judgements of a cross-validation: the latest."""


class Group:
    """The questions of one state and trigger with the same options.

    Args:
        options: the options.
        fits: whether a surrogate is fitted.
    """

    def __init__(self, options: Sequence[str], *, fits: bool) -> None:
        self.options = tuple(options)
        self._fits = fits
        self.whole = Leaf("all")
        """All of them as one archetype, for a run with a budget."""
        self.surrogate: Surrogate | None = None
        self._records: deque[Judged] = deque(maxlen=FITTED)
        self._number = 0
        self._fit_at = FEWEST_TO_FIT
        self._audits: deque[_Compared] = deque(maxlen=COMPARED)
        self.decides_new = False
        """True if the surrogate decides for archetypes without a judgement."""
        self.decides_known = False
        """True if it decides for those with one."""
        self.decides_unasked = False
        """True if it decides for those that a budget leaves without one."""

    def add(self, judged: Judged) -> None:
        """Count a judgement."""
        self._records.append(judged)
        self._number += 1
        self.whole.add(judged)

    def compare(self, judged: Judged, leaf: Leaf | None) -> None:
        """Compare the surrogate, the archetype and the mean of all on an audit that none of them knows yet.

        Args:
            leaf: the archetype; None if there is none yet.
        """
        if not (self._fits and judged.is_audit):
            return
        surrogate = None if self.surrogate is None else divergence_from(judged, self.surrogate.predict(judged.values))
        archetype = None if leaf is None else _divergence_from_leaf(judged, leaf)
        self._audits.append(_Compared(judged, surrogate, archetype, _divergence_from_leaf(judged, self.whole)))

    def fit(self, fields: Fields, tolerance: float) -> Iterator[None]:
        """Fit the surrogate again if there are enough new judgements, and see whether audits trust it.

        A new one is compared on the latest audits, which it is fitted to, by cross-validation. Each fit can take tenths
        of a second, so a pause is yielded after each but the last.

        Args:
            tolerance: bits that it may be away, for an archetype without a judgement.
        """
        if not self._fits:
            return
        if self._number >= self._fit_at:
            self._fit_at = math.ceil((GROWTH if self._number >= COMPARED else GROWTH_OF_FEW) * self._number)
            records = list(self._records)
            yield from self._cross_validate(records[-VALIDATED:], fields)
            self.surrogate = fit_surrogate(records, fields, self.options)
        compared = [each for each in self._audits if each.surrogate is not None]
        weights = [each.judged.weight for each in compared]
        self.decides_known = _is_nearer([(each.surrogate, each.archetype) for each in compared], weights)
        self.decides_unasked = _is_nearer([(each.surrogate, each.whole) for each in compared], weights)
        own = [each.surrogate for each in compared if each.surrogate is not None]
        self.decides_new = len(own) >= FEWEST_TO_TRUST and _upper_limit(own, weights) <= tolerance

    def _cross_validate(self, records: Sequence[Judged], fields: Fields) -> Iterator[None]:
        said: dict[Name, tuple[float, ...]] = {}
        for fold in folds_held_out(records, fields, self.options):
            said |= {records[place].name: held for place, held in fold.items()}
            yield
        for index, each in enumerate(self._audits):
            if (held := said.get(each.judged.name)) is not None:
                self._audits[index] = each._replace(surrogate=divergence_from(each.judged, held))


class _Compared(NamedTuple):
    """An audit, and the divergence in bits of what was said of it without knowing it; None where nothing was."""

    judged: Judged
    surrogate: float | None
    archetype: float | None
    whole: float | None


def _divergence_from_leaf(judged: Judged, leaf: Leaf) -> float | None:
    """Return the divergence from what an archetype shares; None for nothing, and for what was asked after the audit.

    The clock has waited for every answer to a question that was asked before, and for no later one.
    """
    basis = leaf.basis
    if basis is None or not basis.probabilities or (basis.owner is not None and basis.owner[1] > judged.asked):
        return None
    return divergence_from(judged, basis.probabilities)


def _is_nearer(pairs: Sequence[tuple[float | None, float | None]], weights: Sequence[float]) -> bool:
    """Return whether the first of each pair is less in the mean of all questions, where both are known."""
    differences = [
        weight * (one - other)
        for (one, other), weight in zip(pairs, weights, strict=True)
        if one is not None and other is not None
    ]
    return len(differences) >= FEWEST_TO_TRUST and math.fsum(differences) < 0.0


def _upper_limit(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the upper limit of a mean, 1.64 standard errors above it."""
    mean, error = mean_and_error(values, weights)
    return mean + SURE * error
