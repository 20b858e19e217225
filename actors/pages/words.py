"""Numbers, lists and shared judgements in words, for pages."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from prism.answers import figure as measured
from prism.sharing.audit import Estimate
from prism.sharing.summary import SharedShares, SharingSummary

NONE = "none"
MINUS = "\N{MINUS SIGN}"
NO_VALUE = "\N{EN DASH}"


def count(number: float) -> str:
    """Return a whole number with thousands separators."""
    return f"{number:,.0f}"


def plural(number: float, noun: str) -> str:
    return f"{number:,.0f} {noun}{'' if number == 1 else 's'}"


def share(part: float, whole: float = 1.0) -> str:
    """Return a part in percent; a dash where there is no whole."""
    if not whole:
        return NO_VALUE
    percent = 100.0 * part / whole
    return f"{percent:.0f}%" if percent in (0.0, 100.0) else f"{percent:.1f}%" if percent >= 0.1 else "under 0.1%"


def figure(value: float | None, digits: int = 3) -> str:
    """Return a measured number with so many significant digits; a dash if there is none."""
    if value is None or math.isnan(value):
        return NO_VALUE
    if value == 0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:,.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def pages_number(value: float | None) -> str:
    """Return a measured number with three significant digits and a proper minus; a dash if there is none."""
    if value is None or not math.isfinite(value):
        return NO_VALUE
    return f"{MINUS if value < 0 else ''}{figure(abs(value))}"


def span(low: float | None, high: float | None) -> str:
    """Return an interval; a dash if there is none."""
    return NO_VALUE if low is None or high is None else f"{pages_number(low)} to {pages_number(high)}"


def short(value: float) -> str:
    """Return a number as axes have it: `1,200`, `0.05`; from 10,000 on in thousands or millions, as `25k`, `3M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, 1e4):
            return f"{value / size:,.4g}{unit}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"


def listed(items: Sequence[str], most: int = 6) -> str:
    """Return items as a list in words: `a, b and c`."""
    if not items:
        return NONE
    shown = list(items[:most])
    if len(items) > most:
        return f"{', '.join(shown)} and {len(items) - most:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def place_of(path: Path) -> str:
    """Return a path for a shell, as a page may show it: a relative path as it is, of an absolute path only its name."""
    return shlex.quote(path.name if path.is_absolute() else str(path))


def spread(values: Sequence[float]) -> str:
    """Return the median of values with the lowest and the highest; a dash if there is no value."""
    if not values:
        return NO_VALUE
    middle = f"{median(values):,.6g}"
    return middle if len(values) == 1 else f"{middle} ({min(values):,.6g} to {max(values):,.6g})"


def text_of(value: Any) -> str:
    """Return a value of a run as a text: a number with four significant digits, a list with commas."""
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return measured(value, 4)
        case list() | tuple():
            return ", ".join(map(text_of, value)) or NONE
        case dict():
            return ", ".join(f"{name} {text_of(each)}" for name, each in value.items())
        case str() | int():
            return str(value)
        case _:
            return msgspec.json.encode(value, enc_hook=str).decode()


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
