"""Two runs side by side: what the report has of both, and the first tick that differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from actors.core.messages import Message
from actors.explain.path import event_of
from actors.results.run_record import RunRecord
from actors.store.followed import Followed
from actors.view.viewed_causes import problem_of_drawing
from prism.agents import Question, Update
from prism.events import Intervened

_encode = msgspec.msgpack.Encoder().encode


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs beside each other."""

    parts: list[Any]  # elements: what the report has of both
    compared: int
    first: int | None = None  # the first tick that differs; None if all that both have are the same
    place: int = 0  # how many messages of that tick are the same before the first that differs
    left: str = ""  # left, right: that message of each, in words; empty if the tick ends before it
    right: str = ""
    contents: list[str] = []  # both messages whole, as JSON


def compare(left: Followed, right: Followed) -> Comparison:
    """Return the comparison of two runs, as far as both go. It reads both journals up to the first difference."""
    parts, both = _parts(left.path, right.path), min(left.ticks, right.ticks)
    pairs = zip(left.links(), right.links(), strict=False)
    first = next((tick for tick, (one, other) in enumerate(pairs) if tick < both and one != other), None)
    if first is None:
        return Comparison(parts=parts, compared=both)
    ours, theirs = (list(each.messages(first, first)) for each in (left, right))
    pairs_of_bytes = zip(map(_encode, ours), map(_encode, theirs), strict=False)
    same = next((place for place, pair in enumerate(pairs_of_bytes) if pair[0] != pair[1]), None)
    place = min(len(ours), len(theirs)) if same is None else same
    one, other = (each[place] if place < len(each) else None for each in (ours, theirs))
    return Comparison(
        parts=parts,
        compared=both,
        first=first,
        place=place,
        left=_words(one),
        right=_words(other),
        contents=[_content(one), _content(other)],
    )


def _parts(*paths: Path) -> list[Any]:
    """Return what the report has of runs side by side."""
    if (problem := problem_of_drawing("the pictures of a comparison")) is not None:
        return [problem]
    from actors.pages.report import side_by_side  # noqa: PLC0415  # altair is an optional package

    runs = [RunRecord(path, path.name) for path in paths]
    if len({run.config.simulation.domain for run in runs}) > 1:
        return [("p", {"class": "quiet"}, ["Runs of two domains have no outcomes in common."])]
    for run in runs:
        run.read_people()
    return side_by_side(runs)


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
            told = f": {event_of(message, 'agent {}'.format)['words']}"
    return f"agent {message.agent}{told}"


def _content(message: Message | None) -> str:
    if message is None:
        return ""
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    return msgspec.json.format(msgspec.json.encode(fields, enc_hook=str)).decode()
