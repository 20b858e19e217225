"""The summary of what a run has shared: calls, archetypes, and the audited error."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from prism.sharing.archetype import Archetypes, Judged
from prism.sharing.audit import BITS, Audited, Estimate, corrected_shares, divergences, mean_with_interval
from prism.sharing.table import Role

UNIT: Final = 1 << 40
"""Probabilities are counted in whole units of its inverse, so that their sums do not depend on an order."""
_DIGITS: Final = 6


class SharedShares(msgspec.Struct, frozen=True, kw_only=True):
    # trigger, state: of the questions
    trigger: str
    state: str
    questions: int  # those with a shared judgement, audited ones included
    audits: int  # those that were audited
    shared: dict[str, float]  # `{option: its mean probability, as shared}`
    # `{option: the share that it would have had by individual answers}`; empty without audits
    corrected: dict[str, Estimate] = {}


class SharingSummary(msgspec.Struct, frozen=True, kw_only=True):
    fields: list[str]  # the fields of an archetype, with their groups
    archetypes: int  # those with a judgement
    asked_for_all: int  # questions that were asked for an archetype
    shared: int  # those that drew from its judgement
    audited: int  # those that were asked by themselves although they could have shared
    # that all judgements took. A server without probabilities is called `oracle.sharing.samples` times for each of
    # them.
    calls: int
    questions_per_call: float  # questions with an answer for each of these calls
    # Jensen-Shannon divergence of the shared judgement from the individual one, in bits, in the mean of all questions
    # that shared; None without audits
    divergence: Estimate | None
    # for each kind of question, the shares of its options as shared, and corrected by the audits
    shares: list[SharedShares]


class SharedCounts(NamedTuple):
    archetypes: int  # those with a judgement
    roles: Mapping[str, int]  # `{role: questions}`
    # `{(trigger, state, *options): the sums of the shared distributions in units}`
    shared: Mapping[tuple[str, ...], Sequence[int]]
    calls: int  # that all judgements took


def sharing_summary(archetypes: Archetypes, counts: SharedCounts, audits: Sequence[Judged]) -> SharingSummary:
    ordered = sorted(audits, key=lambda each: (each.asked, each.agent, each.trigger))
    owners, drawn, audited = (counts.roles.get(role, 0) for role in Role)
    return SharingSummary(
        fields=[f"{each.name}: {each.text}" for each in archetypes.groupings],
        archetypes=counts.archetypes,
        asked_for_all=owners,
        shared=drawn,
        audited=audited,
        calls=counts.calls,
        questions_per_call=round((owners + drawn + audited) / counts.calls, 1) if counts.calls else 0.0,
        divergence=_of_bits(ordered) if ordered else None,
        shares=[_shares(group, sums, ordered) for group, sums in sorted(counts.shared.items())],
    )


def _of_bits(audits: Sequence[Judged]) -> Estimate:
    by_options: dict[int, list[Audited]] = defaultdict(list)
    for each in audits:
        by_options[len(each.probabilities)].append(Audited.of(each))
    groups = [each for _, each in sorted(by_options.items())]
    found = np.concatenate([divergences(each) for each in groups])
    weights = [audit.weight for each in groups for audit in each]
    return rounded(mean_with_interval(found, weights, BITS), floor=0.0)


def rounded(estimate: Estimate, floor: float | None = None) -> Estimate:
    """Return an estimate with the digits that mean something, and no part of it below the floor."""
    least = -math.inf if floor is None else floor
    mean, low, high = (
        None if each is None else round(max(least, each), _DIGITS)
        for each in (estimate.mean, estimate.low, estimate.high)
    )
    return Estimate(mean=mean or 0.0, low=low, high=high)


def _shares(group: tuple[str, ...], sums: Sequence[int], audits: Sequence[Judged]) -> SharedShares:
    trigger, state, *options = group
    total = sum(sums)
    shares = [units / total if total else 0.0 for units in sums]
    own = [each for each in audits if each.kind == (state, trigger, *options)]
    corrected: dict[str, Estimate] = {}
    if own:
        found = corrected_shares(shares, [Audited.of(each) for each in own])
        corrected = {option: rounded(each) for option, each in zip(options, found, strict=True)}
    return SharedShares(
        trigger=trigger,
        state=state,
        questions=round(total / UNIT),
        audits=len(own),
        shared={option: round(share, _DIGITS) for option, share in zip(options, shares, strict=True)},
        corrected=corrected,
    )
