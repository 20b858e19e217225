"""A run at one tick: when it is, the agents in each state, the oracle's part so far, and an economy's council."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from actors.factory.domains import show_of
from actors.pages.html import Element, Node, facts, tag
from actors.pages.words import count, share
from actors.store.followed import Followed
from actors.store.messages import read_messages
from actors.view.viewed_run import ViewedRun
from prism.clock import SimulatedClock
from prism.config import Config

PROBABILITY: Final = (
    "It is no belief. Of a changed rate: that the new rate is nearer than the old one to the right rate. Of a kept "
    "rate: that the right rate is within one step of it. The rule's rate is taken as right, with an error of "
    "economy.taylor.rate_error. Of a judgement: the rule of succession over the words that led to it."
)
_STAGES: Final = {"proposed": "proposes", "reviewed": "judged", "applied": "applied"}


def moment_of(run: ViewedRun, config: Config, journal: Followed, tick: int) -> list[Node]:
    """Return the parts of the page that a tick changes."""
    inside = np.bincount(journal.states_at(tick), minlength=len(journal.states))
    legend = [tag("li", run.chip(name), tag("b", count(inside[style.number]))) for name, style in run.styles.items()]
    # The questions up to this tick by their outcome, from the samples of the run's course.
    course = journal.course()
    place = bisect_right(course.ticks, tick) - 1
    asked, answered, fallbacks = course.counted[place] if place >= 0 else (0, 0, 0)
    told = (asked, max(0, asked - answered - fallbacks), answered, fallbacks)
    parts: list[Node] = [
        tag("p", when(config, tick), class_="quiet when"),
        tag("ul", *legend, class_="legend", aria_label="Agents in each state"),
        facts(
            [*zip(("questions so far", "open at this tick", "answered", "fallbacks"), map(count, told), strict=True)]
        ),
    ]
    if "quarters" in run.show.pictures:
        parts += _council(run, run.show.council(tick, [*read_messages(journal.record, first=tick, until=tick + 1)]))
    return parts


def when(config: Config, tick: int) -> str:
    """Return the place of a tick in simulated time: its round, and the name of the round or the moment."""
    simulation = config.simulation
    length = simulation.ticks_per_round
    names = show_of(config).round_names([*range(length - 1, tick + length, length)])
    if names:
        return names[-1]
    number = f"round {tick // length + 1:,}"
    try:
        at = SimulatedClock(simulation.epoch, simulation.tick_seconds).at(tick)
    except OverflowError:  # later than the last year that a date can have
        return number
    return f"{number} · {at:%Y-%m-%d %H:%M} UTC"


def _council(run: ViewedRun, council: Any) -> Iterator[Node]:
    """Yield the nations of an economy in a quarter, with what each proposed and why."""
    if council.before:
        seen = ", ".join(f"{name} {value:.2f}%" for name, value in council.before.items())
        yield tag("p", f"What the nations saw: {seen}.", class_="quiet")
    seats = [
        tag(
            "article",
            tag("h3", tag("span", seat.name), run.chip(seat.state)),
            tag("p", f"{share(seat.share)} of all economic strength", class_="quiet"),
            tag("ol", *map(_stage, seat.stages)) if seat.stages else tag("p", "No answer in this quarter."),
            class_="seat",
            aria_label=seat.name,
        )
        for seat in council.seats
    ]
    yield tag("div", *seats, class_="council")
    if any(one.source == "oracle" and one.confidence is not None for seat in council.seats for one in seat.stages):
        yield tag("details", tag("summary", "What the probability of a formula is"), tag("p", PROBABILITY))


def _stage(one: Any) -> Element:
    by = {"oracle": "formula", "llm": one.model or "the model"}.get(one.source, one.source)
    sure = ""
    if one.confidence is not None:
        said = f"which says that it is {share(one.confidence)} sure"
        sure = f", {said if one.source == 'llm' else f'probability {share(one.confidence)}'}"
    told = f"{_STAGES.get(one.kind, one.kind)}, by {by}{sure}{f': {one.reason}' if one.reason else ''}"
    return tag(
        "li",
        tag("div", told, class_="quiet"),
        tag("strong", one.text or "\N{EN DASH}"),
        tag("p", one.reasoning) if one.reasoning else None,
        tag("details", tag("summary", "What the model read"), tag("pre", one.prompt)) if one.prompt else None,
    )
