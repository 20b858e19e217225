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
    name: str  # what is measured
    real: float | None  # the real figure; None where only the limit is known
    simulated: float | None  # the run's; None if the run has none
    # low, high: its 95% interval; None if there is none
    low: float | None = None
    high: float | None = None
    # the Kolmogorov-Smirnov or another distance of the two distributions, 0 to 1; None for single numbers
    distance: float | None = None
    limit: str  # what counts as agreement, in words
    agreement: Agreement  # whether the run agrees
    source: str  # where the real figure is from
    note: str = ""  # what else one must know; may be empty


def agreement_of(is_met: bool) -> Agreement:
    return Agreement.MET if is_met else Agreement.MISSED


def unknown(name: str, source: str, limit: str, note: str, real: float | None = None) -> Fact:
    """Return a fact on which a run has too little to tell."""
    return Fact(
        name=name, real=real, simulated=None, limit=limit, agreement=Agreement.UNKNOWN, source=source, note=note
    )
