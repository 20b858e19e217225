"""A stylised fact: a number of the real world, the same number of a run, and whether they agree."""

from __future__ import annotations

from enum import StrEnum, unique

import msgspec


@unique
class Agreement(StrEnum):
    """The agreement of a run with a fact: the limit is met, or missed, or the run has too little to tell."""

    MET = "met"
    MISSED = "missed"
    UNKNOWN = "unknown"


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A number of the real world beside that of a run.

    Args:
        name: what is measured.
        real: the real figure; None where only the limit is known.
        simulated: the run's; None if the run has none.
        low, high: its 95% interval; None if there is none.
        distance: the Kolmogorov-Smirnov or another distance of the two distributions, 0 to 1; None for single numbers.
        limit: what counts as agreement, in words.
        agreement: whether the run agrees.
        source: where the real figure is from.
        note: what else one must know; may be empty.
    """

    name: str
    real: float | None
    simulated: float | None
    low: float | None = None
    high: float | None = None
    distance: float | None = None
    limit: str
    agreement: Agreement
    source: str
    note: str = ""


def agreement_of(is_met: bool) -> Agreement:
    """Return the agreement with a fact that could be judged."""
    return Agreement.MET if is_met else Agreement.MISSED


def unknown(name: str, source: str, limit: str, note: str, real: float | None = None) -> Fact:
    """Return a fact on which a run has too little to tell."""
    return Fact(
        name=name, real=real, simulated=None, limit=limit, agreement=Agreement.UNKNOWN, source=source, note=note
    )
