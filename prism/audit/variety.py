"""The variety of choices: how much they differ between people and within them, beside people or the embedded choice.

Some people act more often than others. The part of that which chance does not make is the variance between people, by
an analysis of variance; its share of all variance is the intraclass correlation. Source: Fisher (1925), Donner (1986).
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from prism.audit.shift import FEWEST, LEVEL, Estimate, over_people
from prism.columns import Floats, Ints

RESAMPLES: Final = 2000
DRAWS: Final = 100  # the times that the embedded choice is drawn anew
ALL_THE_SAME: Final = 0.02  # the share of the rarer of acting and not acting below which answers do not vary
CALIBRATION_BINS: Final = 5

VarietyFinding = Literal["varies", "varies less", "does not vary", "cannot tell"]


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """The share of answers that act, which take another option than the first, and its variance."""

    people: int
    answers: int
    acts: float  # the share of answers that act
    within: float  # the variance of the answers of one person
    between: float  # the variance of people's rates beyond chance
    correlation: Estimate  # the share of `between` in both, 0 to 1

    @property
    def is_same(self) -> bool:
        return min(self.acts, 1.0 - self.acts) < ALL_THE_SAME


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The probabilities of the model beside what real people chose in the same situations."""

    choices: int
    log_loss: Estimate  # bits a choice
    log_loss_of_shares: float  # of a forecast that knows nothing but the real shares of the options
    bins: tuple[tuple[float, float, int], ...]  # (mean probability of acting, real share that acted, choices)


class Variety(msgspec.Struct, frozen=True, kw_only=True):
    model: Spread
    beside: Spread | None  # real people, or the embedded choice; None if there is neither
    beside_what: str
    ratio: Estimate | None  # of the two intraclass correlations, model over the other
    finding: VarietyFinding
    p: float | None = None  # the p value of: they vary as they should; None if unknown
    p_holm: float = 1.0
    calibration: Calibration | None = None

    def judged(self, p_holm: float) -> Variety:
        if p_holm > LEVEL:
            return replace(self, p_holm=p_holm)
        return replace(self, p_holm=p_holm, finding="does not vary" if self.model.is_same else "varies less")


def _parts(acts: Floats, counts: Floats, times: Floats) -> tuple[Floats, Floats]:
    """Return the variances within and between people, in rows.

    Args:
        acts: shape (rows, people) or (people,): the answers of each person that act.
        counts: shape (people,): all answers of each.
        times: shape (rows, people) or (people,): how often each person counts.
    """
    total, people = (times * counts).sum(axis=-1), times.sum(axis=-1)
    of_people, of_all = (times * acts**2 / counts).sum(axis=-1), (times * acts).sum(axis=-1)
    within = (of_all - of_people) / np.maximum(1.0, total - people)
    usual = (total - (times * counts**2).sum(axis=-1) / total) / np.maximum(1.0, people - 1.0)
    usual = np.where(people > 1.0, usual, np.inf)  # one person alone does not differ from others
    between = ((of_people - of_all**2 / total) / np.maximum(1.0, people - 1.0) - within) / usual
    return within, np.maximum(0.0, between)


def _correlation(within: Floats, between: Floats) -> Floats:
    both = within + between
    return np.divide(between, both, out=np.zeros_like(both), where=both > 0.0)


def _made(people: int, acts: Floats, within: Floats, between: Floats, value: float, resampled: Floats) -> Spread:
    low, high = map(float, np.quantile(resampled, (0.025, 0.975))) if len(resampled) else (None, None)
    return Spread(
        people=people,
        answers=len(acts),
        acts=float(acts.mean()) if len(acts) else 0.0,
        within=float(within.mean()),
        between=float(between.mean()),
        correlation=Estimate(value=value, low=low, high=high),
    )


def _spread(people: Ints, acts: Floats, seed: int) -> tuple[Spread, Floats]:
    """Return the spread of answers, 1 for one that acts, and its correlation in resamples of people (none of few)."""
    groups = np.unique(people, return_inverse=True)[1]
    counts = np.bincount(groups).astype(np.float64)
    sums = np.bincount(groups, acts, len(counts)).astype(np.float64)
    within, between = _parts(sums, counts, np.ones(len(counts)))
    resampled = np.zeros(0)
    if len(counts) >= FEWEST:
        random = np.random.default_rng(seed)
        times = random.multinomial(len(counts), np.full(len(counts), 1.0 / len(counts)), RESAMPLES)
        resampled = _correlation(*_parts(sums, counts, times.astype(np.float64)))
    value = float(_correlation(within, between))
    return _made(len(counts), acts, within, between, value, resampled), resampled


def variety_of(
    people: Ints, acts: Floats, embedded: Floats | None, real: tuple[Ints, Floats] | None = None, seed: int = 0
) -> Variety:
    """Return the variety of a model's answers.

    Args:
        embedded: the probability to act of each question by the embedded choice; None without one.
        real: the person and the act of each choice of real people.
    """
    from scipy.stats import binomtest  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    (model, resampled), groups = _spread(people, acts, seed), np.unique(people, return_inverse=True)[1]
    beside, what, ratio = None, "", None
    if real is not None:
        beside, what = _spread(*real, seed)[0], "real people"
    elif embedded is not None:
        random, counts = np.random.default_rng(seed), np.bincount(groups).astype(np.float64)
        drawn = (random.random((DRAWS, len(acts))) < embedded).astype(np.float64)
        sums = np.stack([np.bincount(groups, each, len(counts)) for each in drawn]).astype(np.float64)
        within, between = _parts(sums, counts, np.ones(len(counts)))
        found = _correlation(within, between)
        beside = _made(model.people, embedded, within, between, float(found.mean()), found)
        what = "the embedded choice"
    finding: VarietyFinding = "varies" if model.correlation.low else "cannot tell"
    p = None
    if model.is_same and len(resampled):
        rarer = round(min(model.acts, 1.0 - model.acts) * len(acts))
        p = float(binomtest(rarer, len(acts), ALL_THE_SAME, alternative="less").pvalue)
    elif beside is not None and (least := beside.correlation.low) and len(resampled):
        other = beside.correlation.value
        low, high = (float(np.quantile(resampled, each)) / other for each in (0.025, 0.975))
        ratio = Estimate(value=model.correlation.value / other, low=low, high=high)
        p = (1 + int((resampled >= min(other / 2.0, least)).sum())) / (len(resampled) + 1)
        finding = "varies"
    return Variety(model=model, beside=beside, beside_what=what, ratio=ratio, finding=finding, p=p)


def calibration_of(people: Ints, probabilities: Floats, chosen: Ints, first: Ints) -> Calibration:
    """Return the calibration of probabilities for the real choices of people in the same situations.

    Args:
        probabilities: shape (choices, options).
        chosen: the number of the option that was really taken.
        first: the number of the first option of each question: all others act.
    """
    rows = np.arange(len(chosen))
    own, acting = np.maximum(probabilities[rows, chosen], 1e-6), 1.0 - probabilities[rows, first]
    acted = chosen != first
    shares = np.bincount(chosen, minlength=probabilities.shape[1]) / len(chosen)
    edges = np.quantile(acting, np.linspace(0.0, 1.0, CALIBRATION_BINS + 1)[1:-1])
    bins = np.searchsorted(edges, acting, side="right")
    return Calibration(
        choices=len(chosen),
        log_loss=over_people(-np.log2(own), people),
        log_loss_of_shares=float(-(shares[shares > 0] * np.log2(shares[shares > 0])).sum()),
        bins=tuple(
            (
                float(acting[bins == each].mean()),
                float(acted[bins == each].mean()),
                int((bins == each).sum()),
            )
            for each in np.unique(bins).tolist()
        ),
    )
