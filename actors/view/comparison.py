"""Two runs side by side: the settings in which they differ, and the first tick that differs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from actors.core.messages import Message
from actors.record.followed import Followed
from actors.record.manifest import read_summary
from actors.record.messages import decoded
from actors.results.beside import compared_runs, side_in_words
from actors.results.run_record import Difference, differing, settings_in_words
from prism.agents import Question, Update
from prism.config.calibrated import NOT_COMPARED
from prism.events import Intervened
from prism.no_effect import remarks


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs beside each other."""

    answers: list[str]
    limits: str  # the limits of these, and the runs' versions and inputs. Both are empty before both runs have ended
    remarks: list[str]  # what was not as configured in them, and what had no effect, a line each
    settings: list[Difference]
    compared: int
    first: int | None = None  # the first tick that differs; None if all that both have are the same
    place: int = 0  # how many messages of that tick are the same before the first that differs
    left: str = ""  # left, right: that message of each, in words; empty if the tick ends before it
    right: str = ""
    contents: list[str] = []  # both messages whole, as JSON


def compare(left: Followed, right: Followed, places: Sequence[str]) -> Comparison:
    """Return the comparison of two runs, as far as both go. It reads both journals up to the first difference."""
    settings = differing([settings_in_words(each.header.config) for each in (left, right)])
    # Each run is named by the settings in which they differ.
    named = [each for each in settings if not each.key.startswith(NOT_COMPARED)]
    sides: dict[str, Sequence[Path]] = {}
    for place, path in enumerate((left.path, right.path)):
        sides[side_in_words(path.name, {each.key: each.values[place] for each in named})] = [path]
    told = compared_runs(places, sides)
    answers = [each.text for each in told.answers]
    noted = [f"{each.path.name}: {line}" for each in (left, right) for line in remarks(read_summary(each.path))]
    both = min(left.ticks, right.ticks)
    pairs = zip(left.links(), right.links(), strict=False)
    first = next((tick for tick, (one, other) in enumerate(pairs) if tick < both and one != other), None)
    if first is None:
        return Comparison(answers=answers, limits=told.limits, remarks=noted, settings=settings, compared=both)
    ours, theirs = (next(each.messages(first, first), (first, []))[1] for each in (left, right))
    same = next((place for place, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None)
    place = min(len(ours), len(theirs)) if same is None else same
    one, other = (decoded(each[place]) if place < len(each) else None for each in (ours, theirs))
    return Comparison(
        answers=answers,
        limits=told.limits,
        remarks=noted,
        settings=settings,
        compared=both,
        first=first,
        place=place,
        left=_words(one),
        right=_words(other),
        contents=[_content(one), _content(other)],
    )


def _words(message: Message | None) -> str:
    """Return a message of a journal in a line; empty if there is none."""
    if isinstance(message, Intervened):
        return f"intervention {message.number}: {message.kind}"
    match message:
        case None:
            return ""
        case Update():
            told = f" on {message.trigger}: from {message.from_state} to {message.to_state} by {message.source}"
        case Question():
            told = f" on {message.trigger}: asks the oracle for one of {', '.join(message.options)}"
        case _:
            told = f": {message.words}"
    return f"agent {message.agent}{told}"


def _content(message: Message | None) -> str:
    if message is None:
        return ""
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    return msgspec.json.format(msgspec.json.encode(fields, enc_hook=str)).decode()
