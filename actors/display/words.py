"""Numbers in words, durations, shares and amounts of money, the same in every display."""

from __future__ import annotations

import math
from decimal import Decimal


def share(part: float, whole: float) -> str:
    """Return a part in percent, rounded down, so that only the whole is 100%."""
    return f"{math.floor(100 * part / whole)}%"


def usd(amount: float) -> str:
    """Return an amount in US dollars: to the cent, and below a dollar to the hundredth of a cent."""
    return f"${amount:,.2f}" if amount >= 1.0 else f"${amount:.4f}"


def plain(number: float, digits: int = 2) -> str:
    """Return a number with so many significant digits, and never an exponent: `0.25`, `170`, `0.00005`."""
    return f"{Decimal(f'{number:.{digits}g}'):f}"


def duration(seconds: float | None) -> str:
    """Return seconds as `1 h 02 min`, `3 min 04 s` or `5 s`; a dash for None."""
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def amount_of(size: float) -> str:
    """Return a number of bytes in the unit in which it is short."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size / 1024:.3g} KiB"
