"""Numbers in words, durations, shares and amounts of money, and the phase of a run, the same in every display."""

from __future__ import annotations

import math
from decimal import Decimal

from rich.text import Text

from actors.core.phase import WAITING, Phase


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


_STYLES: dict[str, str] = {Phase.RUNNING: "bold green", Phase.STARTING: "bold cyan", Phase.RECOVERING: "bold cyan"}


def phase_words(phase: Phase | str, since_s: float | None, reason: str = "", to_redo: int = 0) -> str:
    """Return the phase, its time so far, the ticks that are to be done again, and why the run waits.

    The phase `running` is shown without its time: readers would take it for the time of the whole run.

    Args:
        since_s: the time for which it has lasted; None if that is not known.
        to_redo: ticks; named while the run recovers.
    """
    words = str(phase) if since_s is None or phase == Phase.RUNNING else f"{phase} for {duration(since_s)}"
    if phase == Phase.RECOVERING and to_redo:
        words += f", {to_redo:,} recorded ticks to be done again"
    return f"{words} ({reason})" if reason else words


def phase_line(phase: Phase | str, since_s: float | None, reason: str = "", to_redo: int = 0) -> Text:
    """Return the phase as a line in its colour. A phase that waits has a sign before it, too."""
    words = phase_words(phase, since_s, reason, to_redo)
    if phase in WAITING:
        return Text(f"! {words}", style="bold yellow")
    return Text(words, style=_STYLES.get(phase, "bold"))
