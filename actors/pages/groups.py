"""Groups of runs on the axes of a chart: their lines, their names, and the sentences that explain them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actors.plots.lines import MARKS_MAX, Course, course
from actors.plots.theme import TEXT, color_of
from actors.results.run_record import RunGroup, RunRecord
from prism.wording import counted

Values = Callable[[RunRecord], tuple[Sequence[float], Sequence[float]]]
"""Returns the places in time and the values of a run."""


def courses(groups: Sequence[RunGroup], values: Values) -> dict[str, Course]:
    """Return `{name of a group: the course of its runs}`, up to the end of the shortest."""
    found = {}
    for group in groups:
        every = [values(run) for run in group.runs]
        length = min(len(places) for places, _ in every)
        found[group_name(group)] = course(every[0][0][:length], [each[:length] for _, each in every])
    return found


def group_name(group: RunGroup) -> str:
    """Return the name of a group in a legend, with its number of runs, if there are several."""
    several = f"{len(group.runs)} seeds" if len(group.runs) > 1 else ""
    return f"{group.label} ({several})" if group.label and several else group.label or several or "the run"


def round_of(run: RunRecord, tick: int) -> float:
    """Return the place of a tick among the rounds."""
    return tick / run.config.simulation.ticks_per_round


def time_of(groups: Sequence[RunGroup], place: Callable[[RunRecord, int], float] = round_of) -> dict[str, Any]:
    """Return what a chart over time shows of interventions and of the clock of a single run.

    Interventions of several groups have the colour of the group. The clock is the place of the start, and how far a
    tick is from the next. `place`: returns a tick's place in time in a run.
    """
    marks = [
        (place(group.first, tick), TEXT if len(groups) == 1 else color_of(number))
        for number, group in enumerate(groups)
        for tick, _ in group.first.course.interventions
    ]
    run, is_alone = groups[0].first, len(groups) == len(groups[0].runs) == 1
    return {"marks": marks, "clock": (place(run, 0), place(run, 1) - place(run, 0)) if is_alone else None}


def notes(groups: Sequence[RunGroup]) -> str:
    """Return the sentences that explain lines, bands and dotted lines; empty if there is nothing to explain."""
    told = ""
    if any(len(group.runs) > 1 for group in groups):
        told = " A thin line is a seed, a thick one their median; bands reach from the lowest to the highest."
    return told + interventions_note(groups)


def interventions_note(groups: Sequence[RunGroup]) -> str:
    """Return the sentence that explains the dotted lines; empty if there is none."""
    most = max(len(group.first.course.interventions) for group in groups)
    if not most:
        return ""
    if len(groups) > 1:
        return " Dotted lines: interventions."
    shown = f", of which {MARKS_MAX} are shown" if most > MARKS_MAX else ""
    return f" Dotted lines: {counted(most, 'intervention')}{shown}."
