"""The change of the interest rate that the text of an action asks for.

Only words about an interest rate count: `Cut the tax rate by 2%` asks nothing of it. A clause reaches from its verb to
the next one, so in `Lower interest rates by 0.5% and raise spending by 3%` the rate falls by half a point.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

_UP: Final = r"rais\w+|increas\w+|hik\w+|lift\w*|tighten\w*|higher"
_DOWN: Final = r"lower\w*|cut\w*|reduc\w+|decreas\w+|eas(?:e|es|ed|ing)|loosen\w*|drop\w*"
_HOLD: Final = r"hold\w*|keep\w*|maintain\w*|leav\w+|unchanged"
_VERB: Final = re.compile(rf"\b(?:(?P<up>{_UP})|(?P<down>{_DOWN})|(?P<hold>{_HOLD})|(?P<set>set\w*))\b", re.IGNORECASE)
_RATE: Final = re.compile(r"(?:\b(?P<of>\w+)\s+)?\brates?\b", re.IGNORECASE)
_OTHER_RATES: Final = re.compile(
    r"tax\w*|exchange|tariff|inflation|growth|(?:un)?employment|savings?|birth|participation|vat|poverty|crime|payroll",
    re.IGNORECASE,
)
_NUMBER: Final = r"(?P<number>-?\d{1,4}(?:\.\d{1,10})?)"
_UNIT: Final = r"\s*-?\s*(?:(?P<basis>basis[ -]points?|bps?\b)|%|per ?cent|points?|pp\b)"
_LEVEL: Final = re.compile(rf"\bto\s+{_NUMBER}{_UNIT}", re.IGNORECASE)
_POINTS: Final = re.compile(rf"(?<!from )(?<![\d.]){_NUMBER}{_UNIT}", re.IGNORECASE)


class RateChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the interest rate, as far as an action states it.

    Args:
        direction: 1 for up, -1 for down, 0 for neither.
        points: the number of percentage points, 0 or more; None if the action does not say.
        level: the rate that the action names, in percent, which then decides alone; None if it names none.
    """

    direction: int
    points: float | None = None
    level: float | None = None


def read_rate_change(action: str) -> RateChange | None:
    """Return the change of the interest rate that an action asks for; None if it is not about that rate."""
    for rate in _RATE.finditer(action):
        if rate["of"] is not None and _OTHER_RATES.fullmatch(rate["of"]):
            continue
        verb, clause = _clause(action, rate.start(), rate.end())
        if verb is not None:
            return _change(verb, clause)
    return None


def _clause(action: str, start: int, end: int) -> tuple[re.Match[str] | None, str]:
    """Return the verb that belongs to the rate between two places, and the text of its clause."""
    verbs = list(_VERB.finditer(action))
    before = [verb for verb in verbs if verb.start() < end and verb.end() <= end]
    after = [verb for verb in verbs if verb.start() >= end]
    if before:
        return before[-1], action[before[-1].start() : after[0].start() if after else None]
    if after:  # as in `interest rates should be raised by 0.5%`, or `a 25 basis point rate cut`
        return after[0], action[:start] + action[start : after[1].start() if len(after) > 1 else None]
    return None, ""


def _change(verb: re.Match[str], clause: str) -> RateChange | None:
    if verb["hold"]:
        return RateChange(direction=0)
    direction = 1 if verb["up"] else -1 if verb["down"] else 0
    level = _LEVEL.search(clause)
    if level is not None:
        return RateChange(direction=direction, level=_number(level))
    if verb["set"]:
        level = _POINTS.search(clause)
        return None if level is None else RateChange(direction=0, level=_number(level))
    points = _POINTS.search(clause)
    return RateChange(direction=direction, points=None if points is None else abs(_number(points)))


def _number(found: re.Match[str]) -> float:
    return float(found["number"]) / (100.0 if found["basis"] else 1.0)
