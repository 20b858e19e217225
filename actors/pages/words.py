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
from prism.sharing.audit import Estimate, SharingSummary

NONE = "none"
MINUS = "\N{MINUS SIGN}"
NO_VALUE = "\N{EN DASH}"
SOURCES: Final = {
    "rule": "a rule of the chart",
    "oracle": "the embedded oracle",
    "llm": "a model",
    "fallback": "a fallback",
    "timeout": "a fallback: too late",
}


def count(number: float) -> str:
    return f"{number:,.0f}"


def share(part: float, whole: float = 1.0) -> str:
    """Return a part in percent; a dash where there is no whole."""
    if not whole:
        return NO_VALUE
    percent = 100.0 * part / whole
    return f"{percent:.0f}%" if percent in (0.0, 100.0) else f"{percent:.1f}%" if percent >= 0.1 else "under 0.1%"


def pages_number(value: float | None) -> str:
    """Return a measured number with three significant digits and a proper minus; a dash if there is none."""
    if value is None or not math.isfinite(value):
        return NO_VALUE
    size, sign = abs(value), MINUS if value < 0 else ""
    if size == 0 or size >= 100:
        return f"{sign}{size:,.0f}"
    return f"{sign}{size:,.{max(0, 2 - math.floor(math.log10(size)))}f}"


def span(low: float | None, high: float | None) -> str:
    """Return an interval; a dash if there is none."""
    return NO_VALUE if low is None or high is None else f"{pages_number(low)} to {pages_number(high)}"


def listed(items: Sequence[str], most: int = 6) -> str:
    """Return items as a list in words: `a, b and c`."""
    if not items:
        return NONE
    shown = list(items[:most])
    if len(items) > most:
        return f"{', '.join(shown)} and {len(items) - most:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def place_of(path: Path) -> str:
    """Return a path for a shell, as a page may show it: of an absolute path only its name."""
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
TENTH: Final = 0.1  # a share may be off by the smaller of a point and a tenth of itself
FAR: Final = 0.05  # bits from which shared judgements say little about a person: for example 76% in place of 50%


def interval(estimate: Estimate, digits: int, otherwise: str = "") -> str:
    """Return a mean with its interval, or with `otherwise` without one: `0.0158 (0.0137 to 0.0183)`."""
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
    for each in sharing.shares:
        for option, estimate in each.corrected.items():
            shared = each.shared[option]
            margin = min(POINT, TENTH * shared)  # of a rare choice, such as to reshare, a point is much
            low, high = estimate.low, estimate.high
            if low is not None and high is not None and not low - margin <= shared <= high + margin:
                return (
                    f"Sharing has changed what was chosen: {option} has a share of {shared:.3f}, and would have "
                    f"{interval(estimate, 3)} if everybody had been asked. Cascades and states that follow from these "
                    "choices are off as well."
                )
    return None
