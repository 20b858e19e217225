"""The report of a soak: a text in Markdown, a picture, and the trend of the memory."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec

from deploy.soak.trend import Trend, trend

CSV = "soak.csv"
HOUR_S = 3600
MIB = 2**20


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """The run at one moment.

    Args:
        at_s: since the soak began.
        tick_seconds_total: duration of all ticks so far.
        tasks: of the event loop; NaN if there are too many agents to count them.
        lag_s: the longest lag of the event loop in the minute before.
    """

    at_s: float
    rss_bytes: int
    descriptors: int
    threads: int
    tasks: float
    ticks: int
    tick_seconds_total: float
    calls: int
    retries: int
    fallbacks: int
    in_flight: int
    lag_s: float
    journal_bytes: int


class Outcome(NamedTuple):
    """The end of the run.

    Args:
        code: the run's exit code.
        is_whole: whether its files are undamaged.
        alerts: `{(alert, instance): evaluations at which it fired}`; None if Prometheus is not installed.
    """

    code: int
    is_whole: bool
    alerts: Mapping[tuple[str, str], int] | None


class Answer(NamedTuple):
    """The report, and whether the memory rises, which fails a soak."""

    text: str
    memory_rises: bool


def judge(observations: Sequence[Observation], outcome: Outcome, options: argparse.Namespace) -> Answer:
    """Return the report on the observations after the warm-up.

    Raises:
        ValueError: there are too few of them for a trend.
    """
    warm = warmed(observations, options.warm_up)
    memory = trend([each.at_s for each in warm], [each.rss_bytes / MIB for each in warm])
    ticks = tick_durations(warm)
    tick = trend([at_s for at_s, _ in ticks], [1000 * duration_s for _, duration_s in ticks])
    rows = [
        _row("memory, MiB", [each.rss_bytes / MIB for each in warm], ".1f", memory, "MiB"),
        _row("tick, ms", [1000 * duration_s for _, duration_s in ticks], ".1f", tick, "ms"),
        _row("descriptors", [each.descriptors for each in warm], "d"),
        _row("threads", [each.threads for each in warm], "d"),
        *_tasks(warm),
        _row("longest lag, ms", [1000 * each.lag_s for each in warm], ".0f"),
    ]
    last = observations[-1]
    lines = [
        "# Soak",
        "",
        f"{options.agents:,} agents, {last.at_s / 60:.1f} minutes, {options.faults:.0%} of the calls fail.",
        f"{last.ticks:,} ticks, {last.calls:,} calls, {last.retries:,} retries, {last.fallbacks:,} fallbacks.",
        f"{last.journal_bytes / MIB:,.0f} MiB of journal.",
        f"Exit code {outcome.code}; files {'whole' if outcome.is_whole else 'DAMAGED'}. {_alerts(outcome)}",
        "",
        f"After a warm-up of {options.warm_up:.0%}, {len(warm):,} observations:",
        "",
        "| | first | least | most | last | an hour | 95% interval |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
        "Slopes: least squares on block means, variance after Newey & West with prewhitening (deploy/soak/trend.py).",
        f"The memory {'RISES' if memory.rises else 'does not rise by more than chance'}.",
    ]
    return Answer("\n".join(lines) + "\n", memory.rises)


def warmed(observations: Sequence[Observation], warm_up: float) -> Sequence[Observation]:
    """Return the observations after the warm-up, a share of the time."""
    begins_s = warm_up * observations[-1].at_s
    return [each for each in observations if each.at_s >= begins_s]


def tick_durations(observations: Sequence[Observation]) -> list[tuple[float, float]]:
    """Return `(when, mean duration of the ticks since the observation before)`, in seconds, if there were ticks."""
    found = []
    for before, after in pairwise(observations):
        if ticks := after.ticks - before.ticks:
            found.append((after.at_s, (after.tick_seconds_total - before.tick_seconds_total) / ticks))
    return found


def draw(observations: Sequence[Observation], path: Path, options: argparse.Namespace) -> None:
    """Draw memory, tick duration and counts over time; do nothing if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  # optional: a report needs no picture
    except ImportError:
        return
    figure = Figure(figsize=(9, 7), layout="constrained")
    memory, tick, counts = figure.subplots(3, sharex=True)
    minutes = [each.at_s / 60 for each in observations]
    memory.plot(minutes, [each.rss_bytes / MIB for each in observations], linewidth=0.8)
    memory.set_ylabel("resident, MiB")
    durations = tick_durations(observations)
    tick.plot([at_s / 60 for at_s, _ in durations], [1000 * each for _, each in durations], linewidth=0.8)
    tick.set_ylabel("tick, ms")
    tick.set_yscale("log")
    counts.plot(minutes, [each.descriptors for each in observations], linewidth=0.8, label="descriptors")
    counts.plot(minutes, [each.threads for each in observations], linewidth=0.8, label="threads")
    others = [each.tasks - options.agents for each in observations]
    counts.plot(minutes, others, linewidth=0.8, label="tasks besides agents")  # nothing where they are NaN
    counts.legend()
    counts.set_xlabel("minutes")
    for axes in (memory, tick, counts):
        axes.axvspan(0, options.warm_up * minutes[-1], color="0.92")
    figure.savefig(path, dpi=120)


def _tasks(warm: Sequence[Observation]) -> list[str]:
    if any(math.isnan(each.tasks) for each in warm):
        return []
    slope = trend([each.at_s for each in warm], [each.tasks for each in warm])
    return [_row("tasks", [each.tasks for each in warm], ",.0f", slope, "tasks")]


def _row(name: str, values: Sequence[float], form: str, slope: Trend | None = None, unit: str = "") -> str:
    cells = [format(value, form) for value in (values[0], min(values), max(values), values[-1])]
    if slope is not None:
        cells.append(f"{slope.slope * HOUR_S:+.3g} {unit}")
        cells.append(f"{slope.low * HOUR_S:+.3g} to {slope.high * HOUR_S:+.3g}")
    else:
        cells += ["", ""]
    return f"| {name} | {' | '.join(cells)} |"


def _alerts(outcome: Outcome) -> str:
    if outcome.alerts is None:
        return "Prometheus is not installed, so no alerts were observed."
    if not outcome.alerts:
        return "Prometheus observed the run; no alert fired."
    return "Alerts that fired: " + ", ".join(sorted({alert for alert, _ in outcome.alerts})) + "."
