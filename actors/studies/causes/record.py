"""The records of what made an outcome, and the file in which a run's directory keeps them, one for each outcome.

`docs/cause.md` describes the form that `msgspec.json.encode` gives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec

from actors.core.errors import run_directory_error
from actors.core.files import NotJsonError, read_json, refuse_links, write_json
from actors.display.words import plain
from prism.experiment.hypothesis_tests import Interval

INTERVENTIONS, PEOPLE, DECISIONS, TIES, POSTS = "interventions", "people", "decisions", "ties", "posts"
KINDS = (INTERVENTIONS, PEOPLE, DECISIONS, TIES, POSTS)
"""The kinds of candidates, in the order in which they are shown."""


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A thing that was undone in another future, and what that changed."""

    kind: str  # `interventions`, `people`, `decisions`, `ties` or `posts`
    what: str  # the thing, in words
    tick: int  # the tick from which the other future departs
    # the person who falls silent, who decided, who follows, or who published; None for an intervention
    agent: int | None = None
    whom: int | None = None  # the person who is followed; None for anything but a tie
    place: int | None = None  # the intervention's place in the configuration's list, from 0 on; None for anything else
    post: int | None = None  # the id of a post; None for anything else
    # the option that a decision took, or the kind of a post: `original`, `reply` or `reshare`; else empty
    was: str = ""
    would_be: str = ""  # the option that is taken instead; empty for anything but a decision
    value: float  # the measure of the other future
    effect: float  # the measure as recorded, less that of the other future: what the thing has added
    other_draws: Interval | None = None  # the same effect under other draws; None if it was not looked at


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """The candidates of one kind."""

    kind: str
    candidates: int  # how many there are
    tried: int  # those that were undone
    with_effect: int  # those that changed the measure


class Causes(msgspec.Struct, frozen=True, kw_only=True):
    """The things that made an outcome, the largest effect first."""

    run: str  # the run's directory
    of: str  # the measure
    value: float  # its value in the run
    ticks: int  # the whole ticks of the run
    since: int  # the tick from which people fall silent and ties end
    tried: tuple[Tried, ...]  # what was tried of each kind
    causes: tuple[Cause, ...]  # those with the largest effects, also under other draws
    smaller: tuple[Cause, ...] = ()  # the others that have an effect
    futures: int  # how many other futures were run, those under other draws included
    kept: int  # the questions of these futures that keep their recorded answers
    # those that were never asked, and that the embedded oracle answers. Both are 0 for a run whose oracle computes its
    # answers.
    computed: int
    notes: tuple[str, ...] = ()  # limits of the result, a sentence each


CAUSES = "causes"  # the directory of these files, in the run's directory


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    found: tuple[Causes, ...]  # the causes of each outcome, in the order of the files' names
    problems: tuple[str, ...] = ()  # the files that cannot be read, each with the reason


def keep(path: Path, found: Causes) -> Path:
    """Write the causes of an outcome beside a run's other files, in place of earlier ones; return the file.

    The file names the run by its directory's name alone, because it goes with the run to other machines.
    """
    file = path / CAUSES / f"{quote(found.of.replace(':', '-'), safe='')}.json"
    try:
        refuse_links(path)
        file.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise run_directory_error(error, f"{error.filename or file}: cannot be written") from None
    write_json(file, msgspec.structs.replace(found, run=path.resolve().name))
    return file


def kept_causes(path: Path) -> Kept:
    found, problems = [], []
    for file in sorted((path / CAUSES).glob("*.json")):
        try:
            found.append(read_json(file, Causes))
        except NotJsonError as error:
            problems.append(f"{CAUSES}/{file.name}: is no file of prism cause: {error.problem}")
        except OSError as error:
            problems.append(f"{CAUSES}/{file.name}: cannot be read: {error.strerror or error}")
    return Kept(found=tuple(found), problems=tuple(problems))


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


def tried_words(each: Tried) -> str:
    """Return what was tried of one kind."""
    if not each.candidates:
        return f"{each.kind}: the run has none"
    if not each.tried:
        return f"{each.kind}: none of {each.candidates:,} tried, --budget has no room for them"
    tried = f"all {each.tried:,}" if each.tried == each.candidates else f"{each.tried:,} of {each.candidates:,}"
    return f"{each.kind}: {tried} tried, {each.with_effect:,} with an effect"


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


def _short(value: float) -> str:
    return signed(value, DIGITS_OF_INTERVALS)
