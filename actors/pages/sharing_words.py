"""Words about shared judgements: an estimate with its interval, and the warnings of a page."""

from __future__ import annotations

from typing import Final

from prism.sharing.audit import Estimate
from prism.sharing.summary import SharedShares, SharingSummary

POINT: Final = 0.01
TENTH: Final = 0.1
"""The part of a share by which it may be off: of a rare choice, such as to reshare, a point is much."""
FAR: Final = 0.05
"""Bits from which shared judgements say little about a person: for example 76% in place of 50%."""


def interval(estimate: Estimate, digits: int, otherwise: str = "") -> str:
    """Return a mean with its interval: `0.0158 (0.0137 to 0.0183)`.

    `otherwise`: what stands in the place of the interval if there is none; by default nothing.
    """
    ends = otherwise
    if estimate.low is not None and estimate.high is not None:
        ends = f"{estimate.low:.{digits}f} to {estimate.high:.{digits}f}"
    return f"{estimate.mean:.{digits}f} ({ends})" if ends else f"{estimate.mean:.{digits}f}"


def is_far(sharing: SharingSummary) -> bool:
    """Return whether shared judgements are surely far from individual ones: then they say little about a person."""
    return sharing.divergence is not None and (sharing.divergence.low or 0.0) > FAR


def sharing_notice(sharing: SharingSummary) -> str | None:
    """Return a warning if the error of sharing is unknown, or if sharing changes the shares of options."""
    if sharing.divergence is None:
        return "Judgements were shared without audits, so the error of sharing is not known (oracle.sharing.audit)."
    if is_far(sharing):
        return (
            f"What was shared is {interval(sharing.divergence, 3)} bits from what people would have got by themselves, "
            "which is far: the model judges by more than the fields of archetypes."
        )
    wrong = [(each, option) for each in sharing.shares for option in each.corrected if _is_off(each, option)]
    if not wrong:
        return None
    each, option = wrong[0]
    return (
        f"Sharing has changed what was chosen: {option} has a share of {each.shared[option]:.3f}, and would have "
        f"{interval(each.corrected[option], 3)} if everybody had been asked. Cascades and states that follow from "
        "these choices are off as well."
    )


def _is_off(each: SharedShares, option: str) -> bool:
    """Return whether the share of an option is surely wrong, by a point or a tenth of it."""
    corrected, share = each.corrected[option], each.shared[option]
    if corrected.low is None or corrected.high is None:
        return False
    margin = min(POINT, TENTH * share)
    return not corrected.low - margin <= share <= corrected.high + margin
