"""The counts and dwell times that a recorded run leaves on its chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from actors.persistence.disk import RealDisk
from actors.persistence.journal import read_header
from actors.runs.questions import decoded, messages_of
from prism.agents import DECIDED, MOVED, Update
from prism.drawing import Activity


class Step(NamedTuple):
    """A way that agents went: from one state to another, by a trigger, as a rule said or as a choice was decided."""

    before: str
    trigger: str
    after: str
    is_decided: bool


class ChartActivity(NamedTuple):
    """The trace that a run leaves on its chart.

    Args:
        activity: the numbers that a drawing shows.
        steps: `{step: times}`.
    """

    activity: Activity
    steps: Counter[Step]


def chart_activity(path: Path, initial: str) -> ChartActivity:
    """Return what the run in a directory did on its chart: it reads the whole journal, up to any damage.

    Args:
        path: the run's directory.
        initial: the state in which every agent starts.

    Raises:
        JournalError: the journal cannot be read.
    """
    disk = RealDisk(path)
    header, offset = read_header(disk)
    states, entered = [initial] * header.agents, [0] * header.agents
    steps, stays, stay_ticks, ticks = Counter[Step](), Counter[str](), Counter[str](), 0
    for tick, updates in enumerate(_updates(disk, offset)):
        ticks = tick + 1
        for update in updates:
            if update.source not in MOVED:
                continue
            agent = update.agent
            steps[Step(update.from_state, update.trigger, update.to_state, update.source in DECIDED)] += 1
            stays[update.from_state] += 1
            stay_ticks[update.from_state] += tick - entered[agent]
            states[agent], entered[agent] = update.to_state, tick
    spent = Counter(stay_ticks)
    for state, since in zip(states, entered, strict=True):
        spent[state] += ticks - since
    whole = max(1, header.agents * ticks)
    activity = Activity(
        agents=header.agents,
        ticks=ticks,
        taken=_taken(steps),
        dwell_ticks={state: stay_ticks[state] / count for state, count in stays.items()},
        shares={state: time / whole for state, time in spent.items()},
    )
    return ChartActivity(activity, steps)


def _updates(disk: RealDisk, offset: int) -> Iterator[list[Update[object]]]:
    for encoded in messages_of(disk, offset, 0):
        yield [message for message in map(decoded, encoded) if isinstance(message, Update)]


def _taken(steps: Counter[Step]) -> dict[tuple[str, str, str], int]:
    taken = Counter[tuple[str, str, str]]()
    for step, times in steps.items():
        taken[step.before, step.trigger, step.after] += times
    return dict(taken)
