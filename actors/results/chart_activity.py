"""The counts and dwell times that a recorded run leaves on its chart."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from actors.persistence.disk import RealDisk
from actors.persistence.journal import read_header
from actors.record.messages import those_of, ticks_of
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


class ActivityCounter:
    """Counts of what agents do on a chart, tick by tick.

    Args:
        agents: the number of agents.
        initial: the state in which every agent starts.
    """

    def __init__(self, agents: int, initial: str) -> None:
        self.inside = Counter({initial: agents})
        """Agents in each state now."""
        self.steps = Counter[Step]()
        self._entered = [0] * agents
        self._states = [initial] * agents
        self._stays = Counter[str]()
        self._stay_ticks = Counter[str]()

    def count(self, tick: int, update: Update[object]) -> None:
        """Count an update of a tick; one that has moved nobody is left out."""
        if update.source not in MOVED:
            return
        agent, before, after = update.agent, update.from_state, update.to_state
        self.steps[Step(before, update.trigger, after, update.source in DECIDED)] += 1
        self._stays[before] += 1
        self._stay_ticks[before] += tick - self._entered[agent]
        self.inside[before] -= 1
        self.inside[after] += 1
        self._states[agent], self._entered[agent] = after, tick

    def activity(self, ticks: int) -> Activity:
        """Return the numbers that a drawing shows, after so many ticks."""
        spent = Counter(self._stay_ticks)
        for state, since in zip(self._states, self._entered, strict=True):
            spent[state] += ticks - since
        whole = max(1, len(self._states) * ticks)
        return Activity(
            agents=len(self._states),
            ticks=ticks,
            taken=_taken(self.steps),
            dwell_ticks={state: self._stay_ticks[state] / count for state, count in self._stays.items()},
            shares={state: time / whole for state, time in spent.items()},
        )


def chart_activity(path: Path, initial: str) -> ChartActivity:
    """Return what the run in a directory did on its chart: it reads the whole journal, up to any damage.

    Args:
        path: the run's directory.
        initial: the state in which every agent starts.

    Raises:
        JournalError: the journal cannot be read.
    """
    counter, ticks = ActivityCounter(read_header(RealDisk(path))[0].agents, initial), 0
    for ticks, messages in enumerate(ticks_of(path), start=1):  # counts the ticks
        for update in those_of(messages, Update):
            counter.count(ticks - 1, update)
    return ChartActivity(counter.activity(ticks), counter.steps)


def _taken(steps: Counter[Step]) -> dict[tuple[str, str, str], int]:
    taken = Counter[tuple[str, str, str]]()
    for step, times in steps.items():
        taken[step.before, step.trigger, step.after] += times
    return dict(taken)
