"""Causes in words: numbers with their signs, intervals, what was tried, and what a cause has added."""

from __future__ import annotations

from collections.abc import Iterator

from actors.display.words import plain
from actors.studies.causes.record import DECISIONS, PEOPLE, Cause, Causes, Tried
from prism.experiment.intervals import Interval

DIGITS, DIGITS_OF_INTERVALS = 5, 3
LARGE = 1000


def number(value: float, digits: int = DIGITS) -> str:
    """Return a number: whole ones in full, large ones without a fraction, others with a few digits."""
    return f"{round(value):,}" if value == round(value) or abs(value) >= LARGE else plain(value, digits)


def signed(value: float, digits: int = DIGITS) -> str:
    return f"{'+' if value > 0 else ''}{number(value, digits)}"


def interval(found: Interval | None) -> str:
    """Return a mean with the ends of its interval, if it has one; a dash for None."""
    if found is None:
        return "-"
    ends = "" if found.low is None or found.high is None else f" [{_short(found.low)}, {_short(found.high)}]"
    return f"{_short(found.mean)}{ends}"


def tried_words(each: Tried, value: float) -> str:
    """Return what was tried of one kind, and the sum of all effects of it if the sample tells anything of that."""
    if not each.candidates:
        return f"{each.kind}: the run has none"
    if each.total is None or not each.tried:
        return f"{each.kind}: none of {each.candidates:,} tried, --budget has no room for them"
    head = f"{each.kind}: {_of(each)} tried, {each.with_effect:,} with an effect"
    if each.tried == each.candidates:
        return f"{head}; in sum {signed(each.total)}"
    if _tells_nothing(each, value):
        return f"{head}; in sum unclear: raise --budget"
    ends = "" if each.low is None or each.high is None else f" [{_short(each.low)}, {_short(each.high)}]"
    return f"{head}; in sum about {_short(each.total)}{ends}"


def _tells_nothing(each: Tried, value: float) -> bool:
    """Return whether the interval of a sum holds 0 and is wider than the outcome; without one, if the sum is larger."""
    if each.low is None or each.high is None:
        return abs(each.total or 0.0) > abs(value)
    return each.low <= 0.0 <= each.high and each.high - each.low > abs(value)


def answered_words(found: Causes) -> Iterator[str]:
    """Yield the sources of answers in the other futures, if a model has answered the questions of the run."""
    if found.kept or found.computed:
        head = f"questions of the other futures: {found.kept:,} kept their recorded answers"
        yield f"{head}, {found.computed:,} were never asked and got answers of the embedded oracle"


def chance_words(cause: Cause) -> str:
    """Return the effect of a cause under other draws, and whether it may be luck; empty without other draws."""
    drawn = cause.other_draws
    if drawn is None:
        return ""
    told = f"under {drawn.count:,} other draws {interval(drawn)}"
    low, high = (drawn.mean, drawn.mean) if drawn.low is None or drawn.high is None else (drawn.low, drawn.high)
    return f"{told}, which may be luck alone" if low <= 0 <= high else told


def added_words(cause: Cause) -> str:
    """Return what a cause has added, for a reader who knows the outcome and the agent."""
    if cause.kind == PEOPLE:
        what = f"its presence from tick {cause.tick:,} on"
    elif cause.kind == DECISIONS:
        what = f"its decision of tick {cause.tick:,} for {cause.was}, not {cause.would_be}"
    else:
        what = f"{cause.kind}: {cause.what}"
    chance = chance_words(cause)
    return f"{what}: {signed(cause.effect)}, {number(cause.value)} without it{f'; {chance}' if chance else ''}"


def _of(each: Tried) -> str:
    return f"all {each.tried:,}" if each.tried == each.candidates else f"{each.tried:,} of {each.candidates:,}"


def _short(value: float) -> str:
    return signed(value, DIGITS_OF_INTERVALS)
