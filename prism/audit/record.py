"""The record of an audit, with the verdict on each claim: what is left of it when the answers shift.

The effect of a claim is the difference that its hypothesis is about, or a measure of a run. A carried effect has two
errors: the seeds, and the shift itself, which a sample of questions gave. They are independent of each other, so their
variances add up. Source: Welch (1947), Satterthwaite (1946) for the degrees of freedom.

docs/audit.md describes the form that `msgspec.json.encode` gives the record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from prism.audit.known import Known
from prism.audit.shift import LEVEL, Estimate, Exchange, Position, Shift
from prism.audit.variety import Variety

Verdict = Literal["survives", "cannot tell", "weakens", "turns"]
WORST: Final[tuple[Verdict, ...]] = ("turns", "weakens", "cannot tell", "survives")
HALF: Final = 0.5  # less than this part of an effect is a weaker one
NEAR: Final = 0.2  # a measure of a run that changes by less than this part of it has stayed


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of a claim under one other way of asking."""

    way: str
    effect: Estimate
    change: Estimate  # the effect less that of the study
    verdict: Verdict


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    claim: str  # in words
    measure: str
    kind: Literal["difference", "equivalence", "measure"]
    effect: float  # as the study has it
    contrast: tuple[str, str] | None = None  # the two conditions that differ; None for a measure of a run
    margin: float | None = None  # of an equivalence
    is_supported: bool = True  # whether the study itself decides it
    carried: tuple[Carried, ...] = ()

    verdict: Verdict = "cannot tell"
    # the way of asking that decides the verdict; empty if none was carried, or the claim survives all
    decided_by: str = ""

    def judged(self) -> Claim:
        """Return the claim with the worst verdict of all ways of asking."""
        ways = self.carried if self.is_supported else ()
        verdict = next((each for each in WORST if any(way.verdict == each for way in ways)), self.verdict)
        worst = [each for each in ways if each.verdict == verdict != "survives"]
        decided_by = max(worst, key=lambda each: abs(each.change.value)).way if worst else ""
        return replace(self, verdict=verdict, decided_by=decided_by)


def combined(at_seeds: Sequence[float], of_shift: Sequence[float], ways: int = 1) -> Estimate:
    """Return a mean over seeds with the interval that holds for so many ways together.

    Args:
        at_seeds: the effect at each seed; one seed has no error of its own.
        of_shift: how far resampled shifts move the effect at the same seed; empty if the shift is known.
    """
    from scipy.stats import t  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    values, moved = np.asarray(at_seeds, dtype=np.float64), np.asarray(of_shift, dtype=np.float64)
    parts = [
        (float(values.var(ddof=1)) / len(values), len(values) - 1) if len(values) > 1 else (0.0, 1),
        (float((moved**2).mean()), len(moved)) if len(moved) else (0.0, 1),
    ]
    variance = sum(part for part, _ in parts)
    mean = float(values.mean())
    if not variance:
        return Estimate(value=mean, low=mean, high=mean)
    freedom = variance**2 / sum(part**2 / count for part, count in parts)
    reach = float(t.ppf(1.0 - LEVEL / (2.0 * max(1, ways)), freedom)) * math.sqrt(variance)
    return Estimate(value=mean, low=mean - reach, high=mean + reach)


def verdict_on(claim: Claim, effect: Estimate) -> Verdict:
    """Return what is left of a claim with this effect."""
    low, high = (effect.value if end is None else end for end in (effect.low, effect.high))
    if claim.kind == "equivalence":
        margin = claim.margin or 0.0
        if -margin < low and high < margin:
            return "survives"
        return "turns" if low >= margin or high <= -margin else "cannot tell"
    if claim.kind == "measure":
        near = NEAR * abs(claim.effect)
        low, high = low - claim.effect, high - claim.effect
        if -near <= low and high <= near:
            return "survives"
        return "weakens" if low > near or high < -near else "cannot tell"
    if not claim.effect:
        return "cannot tell"
    # As parts of the effect of the study.
    low, high = sorted((low / claim.effect, high / claim.effect))
    if high < 0.0:
        return "turns"
    part = effect.value / claim.effect
    if low > 0.0 and part >= HALF:
        return "survives"
    return "weakens" if high < 1.0 and part < HALF else "cannot tell"


def carried(claim: Claim, way: str, at_seeds: Sequence[float], of_shift: Sequence[float], ways: int) -> Carried:
    """Return a claim under one way of asking: see `combined`. It becomes that of the study where nothing changes."""
    effect = combined(at_seeds, of_shift, ways)
    change = effect.changed(lambda value: value - claim.effect)
    return Carried(way=way, effect=effect, change=change, verdict=verdict_on(claim, effect))


Part = TypeVar("Part", Shift, Position, Known, Variety)


class Decider(msgspec.Struct, frozen=True, kw_only=True):
    """A way to choose without the model that was asked, beside the model's answers."""

    decider: str  # `embedded`, `first option` or `plain question`
    agreement: float  # the probability, in the mean of all questions, that it chooses as the model did
    shares: dict[str, float]  # `{option: its share of all choices}`


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    study: str  # the name of the directory of the run or the experiment
    # what was audited, so that figures of other runs are not shown as theirs: the digest of each run, in order
    digests: tuple[str, ...]
    oracle: str  # the model that was asked, and how
    cells: int  # the runs whose questions were asked again, the first ones of `digests`
    recorded: int  # the questions of these runs that the model answered
    sampled: int  # those that were asked again
    calls: int  # the calls to a model that this took; those whose answers were kept count once
    calls_of_study: int  # those that the audited runs took
    fallbacks: int  # the questions of the study without an answer of the model
    shifts: tuple[Shift, ...]
    positions: tuple[Position, ...] = ()  # empty if the study shows its options in one order
    claims: tuple[Claim, ...] = ()
    futures: int = 0
    known: Known | None = None
    # what the model would do on turns that rules settled; `before` is what they did; None without such turns
    ruled: Shift | None = None
    exchange: Exchange | None = None
    variety: Variety | None = None
    deciders: tuple[Decider, ...] = ()
    notes: tuple[str, ...] = ()  # limits of the audit, a sentence each
    paragraph: str = ""  # what a paper may say of it


def judged(found: Audit) -> Audit:
    """Return an audit with its findings, by the p values of all its tests together. Source: Holm (1979)."""
    from statsmodels.stats.multitest import multipletests  # noqa: PLC0415  # an extra, and slow to import

    parts: list[Shift | Position | Known | Variety | None] = [*found.shifts, *found.positions]
    parts += [found.known, found.variety]
    tested = [each.p for each in parts if each is not None and each.p is not None]
    corrected = iter(multipletests(tested, method="holm")[1].tolist() if tested else [])

    def anew(part: Part) -> Part:
        return part if part.p is None else part.judged(next(corrected))

    return replace(
        found,
        shifts=tuple(map(anew, found.shifts)),
        claims=tuple(each.judged() for each in found.claims),
        positions=tuple(map(anew, found.positions)),
        known=None if found.known is None else anew(found.known),
        variety=None if found.variety is None else anew(found.variety),
    )
