"""Two runs side by side: the first tick in which they differ, and what happened there in each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from actors.core.errors import RunDirectoryError
from actors.core.messages import Message
from actors.explain.path import event_of
from actors.explain.tree import plain
from actors.factory.domains import show_of
from actors.pages.html import Node, facts, tag
from actors.pages.words import plural, text_of
from actors.store.followed import Followed
from actors.view.viewed_run import ViewedRun
from prism.agents import Question, Update
from prism.events import Intervened

_encode = msgspec.msgpack.Encoder().encode


class Comparison(NamedTuple):
    """The first difference of two runs."""

    compared: int  # ticks that both have
    first: int | None = None  # the first tick that differs; None if all that both have are the same
    place: int = 0  # how many messages of that tick are the same before the first that differs
    messages: tuple[Message | None, ...] = ()  # that message of each; None if the tick ends before it


def compare(left: Followed, right: Followed) -> Comparison:
    """Return the first difference of two runs, as far as both go. It reads both journals up to there."""
    both = min(left.ticks, right.ticks)
    pairs = zip(left.links(), right.links(), strict=False)
    first = next((tick for tick, (one, other) in enumerate(pairs) if tick < both and one != other), None)
    if first is None:
        return Comparison(both)
    ours, theirs = (list(each.messages(first, first)) for each in (left, right))
    bytes_of = zip(map(_encode, ours), map(_encode, theirs), strict=False)
    same = next((place for place, pair in enumerate(bytes_of) if pair[0] != pair[1]), None)
    place = min(len(ours), len(theirs)) if same is None else same
    return Comparison(both, first, place, tuple(each[place] if place < len(each) else None for each in (ours, theirs)))


def comparison_part(left: ViewedRun, right: ViewedRun) -> list[Node]:
    """Return where two runs part: the tick, and what differs in it."""
    if left.journal is None or right.journal is None:
        raise RunDirectoryError(left.problem or right.problem or "a run cannot be read")
    found, runs = compare(left.journal, right.journal), (left, right)
    if found.first is None:
        same = f"All {plural(found.compared, 'tick')} that both runs have are the same, to the byte."
        return [tag("h2", same if found.compared else "There is no tick that both runs have.", id="first")]
    for run in runs:
        run.know_people()
    fields = [_fields(run, message) for run, message in zip(runs, found.messages, strict=True)]
    sides = []
    for at, (run, message) in enumerate(zip(runs, found.messages, strict=True)):
        other = fields[1 - at]
        shown: dict[str, Node] = {
            name: value if other.get(name) == value else tag("mark", value) for name, value in fields[at].items()
        }
        link = tag("a", run.label, href=f"#/run/{quote(run.name, safe='')}?tick={found.first}")
        said = tag("p", _words(message, run.called) or "the tick ends")
        sides.append(tag("div", tag("h3", link), said, facts(shown.items()) if shown else None))
    before = f"The {plural(found.first, 'tick')} before are the same, to the byte. " if found.first else ""
    told = (
        f"{before}In that tick {plural(found.place, 'message')} {'is' if found.place == 1 else 'are'} the same. Then:"
    )
    return [
        tag("h2", f"They first differ in tick {found.first:,}", id="first"),
        tag("p", told, class_="quiet"),
        tag("div", *sides, class_="grid even"),
    ]


def _words(message: Message | None, called: Callable[[int], str]) -> str:
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
            told = f": {event_of(message, called)['words']}"
    return f"{called(message.agent)}{told}"


def _fields(run: ViewedRun, message: Message | None) -> dict[str, str]:
    """Return the fields of a message in words, and those of what it is about; the sentence has tick and agent."""
    if message is None:
        return {}
    names = [name for name in message.__struct_fields__ if name not in ("tick", "agent")]
    fields: dict[str, Any] = {name: plain(getattr(message, name)) for name in names}
    context = fields.pop("context", None)
    if context is not None and run.opened is not None:
        fields |= show_of(run.opened.config).seen(context)
    return {name.replace("_", " "): text_of(value) for name, value in fields.items() if value not in (None, "")}
