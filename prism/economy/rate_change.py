"""The change of the interest rate that the text of an action asks for.

An action is read clause by clause, and a clause counts only if all of it is understood, such as `Raise the interest
rate by 0.25 percentage points` or `set the policy rate to 3%`. So a clause with a negation or a range of amounts
changes nothing, and neither does one about another rate.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

_CLAUSE_END: Final = re.compile(r"[;:!?\n]|[.,](?=\s|$)|\b(?:and|but|then)\b")
_RATE: Final = (
    r"(?:the |our |its )?(?:(?:central bank|bank|policy|interest|key|base|benchmark|short-term|federal funds) )*rates?"
)
_UNIT: Final = r"basis[ -]points?|bps?|%|per ?cent(?:age points?)?|points?"
_CLAUSE: Final = re.compile(
    rf"(?:(?P<up>raise|increase|hike|lift)|(?P<down>lower|cut|reduce|decrease)|(?P<hold>keep|hold|maintain|leave)|set)"
    rf" {_RATE}(?: from [0-9.]+ ?%)?(?: unchanged| (?P<way>by|to|at) (?P<number>-?[0-9]{{1,4}}(?:\.[0-9]{{1,10}})?)"
    rf" ?(?P<unit>{_UNIT}))?",
    re.IGNORECASE,
)


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
    """Return the change of the interest rate that an action asks for; None if no clause of it is understood as one."""
    for clause in _CLAUSE_END.split(action):
        found = _CLAUSE.fullmatch(" ".join(clause.split()))
        if found is None:
            continue
        direction = 1 if found["up"] else -1 if found["down"] else 0
        if found["hold"]:
            return RateChange(direction=0)
        if found["number"] is None:
            if direction:
                return RateChange(direction=direction)
            continue
        number = float(found["number"]) / (100.0 if found["unit"].lower().startswith("b") else 1.0)
        if found["way"].lower() != "by":
            return RateChange(direction=direction, level=number)
        if direction and number >= 0.0:
            return RateChange(direction=direction, points=number)
    return None
