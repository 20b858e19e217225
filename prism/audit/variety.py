"""The variety of choices: how much they differ between people and within them, beside people or the embedded choice.

Some people act more often than others. The part of that which chance does not make is the variance between people, by
an analysis of variance; its share of all variance is the intraclass correlation. Source: Fisher (1925), Donner (1986).
"""

from __future__ import annotations

import math
from typing import Final, Literal

import msgspec
import numpy as np

from prism.audit.shift import FEWEST, Estimate, over_people
from prism.columns import Floats, Ints

RESAMPLES: Final = 400
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
    calibration: Calibration | None = None


def _parts(acts: Floats, groups: Ints) -> tuple[Floats, Floats]:
    """Return the variances within and between people, of each row of `acts`, shape (rows, answers)."""
    counts = np.bincount(groups).astype(np.float64)
    total, people = counts.sum(), len(counts)
    sums = np.stack([np.bincount(groups, row, people) for row in acts])
    squares = (acts**2).sum(axis=1)
    between_squares = (sums**2 / counts).sum(axis=1)
    grand = acts.sum(axis=1) ** 2 / total
    within = (squares - between_squares) / max(1.0, total - people)
    usual = (total - (counts**2).sum() / total) / max(1.0, people - 1)
    between = ((between_squares - grand) / max(1.0, people - 1) - within) / usual
    return within, np.maximum(0.0, between)


def _correlations(acts: Floats, groups: Ints) -> Floats:
    within, between = _parts(acts, groups)
    both = within + between
    found: Floats = np.divide(between, both, out=np.zeros_like(both), where=both > 0.0)
    return found


def spread_of(people: Ints, acts: Floats, seed: int = 0) -> Spread:
    """Return the spread of answers.

    Args:
        people: the person of each answer; acts: 1 for an answer that acts, else 0.
    """
    groups = np.unique(people, return_inverse=True)[1]
    within, between = _parts(acts[None], groups)
    value = float(_correlations(acts[None], groups)[0])
    resampled = _resampled(acts, groups, seed)
    low, high = (None, None) if resampled is None else map(float, np.quantile(resampled, (0.025, 0.975)))
    return Spread(
        people=int(groups.max()) + 1 if len(groups) else 0,
        answers=len(acts),
        acts=float(acts.mean()) if len(acts) else 0.0,
        within=float(within[0]),
        between=float(between[0]),
        correlation=Estimate(value=value, low=low, high=high),
    )


def _resampled(acts: Floats, groups: Ints, seed: int) -> Floats | None:
    """Return the intraclass correlation in resamples of the people; None for too few people."""
    people = int(groups.max()) + 1 if len(groups) else 0
    if people < FEWEST:
        return None
    random, rows = np.random.default_rng(seed), [np.flatnonzero(groups == person) for person in range(people)]
    found = []
    for _ in range(RESAMPLES):
        drawn = random.integers(people, size=people)
        taken = np.concatenate([rows[person] for person in drawn])
        anew = np.repeat(np.arange(people), [len(rows[person]) for person in drawn])
        found.append(float(_correlations(acts[taken][None], anew)[0]))
    return np.array(found)


def variety_of(
    people: Ints, acts: Floats, embedded: Floats | None, real: tuple[Ints, Floats] | None = None, seed: int = 0
) -> Variety:
    """Return the variety of a model's answers.

    Args:
        embedded: the probability to act of each question by the embedded choice; None without one.
        real: the person and the act of each choice of real people.
    """
    model, groups = spread_of(people, acts, seed), np.unique(people, return_inverse=True)[1]
    beside, what, ratio = None, "", None
    if real is not None:
        beside, what = spread_of(*real, seed), "real people"
    elif embedded is not None:
        random = np.random.default_rng(seed)
        drawn = (random.random((DRAWS, len(acts))) < embedded).astype(np.float64)
        within, between = _parts(drawn, groups)
        found = _correlations(drawn, groups)
        low, high = map(float, np.quantile(found, (0.025, 0.975)))
        beside, what = (
            Spread(
                people=model.people,
                answers=len(acts),
                acts=float(embedded.mean()),
                within=float(within.mean()),
                between=float(between.mean()),
                correlation=Estimate(value=float(found.mean()), low=low, high=high),
            ),
            "the embedded choice",
        )
    rarer, count = min(model.acts, 1.0 - model.acts), max(1, len(acts))
    finding: VarietyFinding = "cannot tell"
    if model.people >= FEWEST and rarer + math.sqrt(rarer / count) < ALL_THE_SAME and count >= 1.0 / ALL_THE_SAME:
        finding = "does not vary"
    elif beside is not None and (least := beside.correlation.low) and model.correlation.high is not None:
        other = beside.correlation
        low, high = model.correlation.low or 0.0, model.correlation.high
        ratio = Estimate(value=model.correlation.value / other.value, low=low / other.value, high=high / other.value)
        finding = "varies less" if high < other.value / 2.0 and high < least else "varies"
    elif model.correlation.low:
        finding = "varies"
    return Variety(model=model, beside=beside, beside_what=what, ratio=ratio, finding=finding)


def calibration_of(people: Ints, probabilities: Floats, chosen: Ints, acting: Floats) -> Calibration:
    """Return the calibration of probabilities for the real choices of people in the same situations.

    Args:
        probabilities: shape (choices, options); chosen: the number of the option that was really taken.
        acting: the probability to act of each; acts are all options but the first, which has the number 0.
    """
    own = np.maximum(probabilities[np.arange(len(chosen)), chosen], 1e-6)
    shares = np.bincount(chosen, minlength=probabilities.shape[1]) / len(chosen)
    edges = np.quantile(acting, np.linspace(0.0, 1.0, CALIBRATION_BINS + 1)[1:-1])
    bins = np.searchsorted(edges, acting, side="right")
    return Calibration(
        choices=len(chosen),
        log_loss=over_people(-np.log2(own), people),
        log_loss_of_shares=float(-(shares[shares > 0] * np.log2(shares[shares > 0])).sum()),
        bins=tuple(
            (float(acting[bins == each].mean()), float((chosen[bins == each] > 0).mean()), int((bins == each).sum()))
            for each in np.unique(bins).tolist()
        ),
    )
