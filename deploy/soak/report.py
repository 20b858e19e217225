"""The report of a soak: a text in Markdown, a record for programs, a picture, and the trend of the memory."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from deploy.soak.memory import PARTS, told
from deploy.soak.trend import BLOCKS_MIN, Trend, signed, trend
from prism.palette import GREY, VERMILION
from tests.standin import Statistics

CSV = "soak.csv"
HOUR_S = 3600
MIB = 2**20
MEMORY, LATE_MEMORY = "resident memory, MiB", "resident memory in the second half, MiB"
LEAK_MIB = 1.0
"""The slope of memory in an hour from which it is a leak: room that fills takes a few pages now and then."""
OF_SERVER = frozenset({"PrismWaitingForOracle", "PrismOracleSaturated", "PrismConcurrencyAtFloor"})
"""Alerts that a server which is away or slow may cause. All others are about the run or its machine."""


ENDED_EARLY = "PrismRunEndedEarly"
"""An alert that a server causes which is away as a process of the run begins."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """The run at one moment.

    Args:
        at_s: since the soak began.
        process: 1 for the first process of the run, 2 after its resume.
        tasks: of the event loop; NaN if there are too many agents to count them.
        limit: calls that may be under way at once; `waiting`: questions in the queue.
        lag_s: the longest lag of the event loop in the minute before.
    """

    at_s: float
    process: int
    phase: str
    rss_bytes: int
    libraries_bytes: int
    heaps_bytes: int
    objects_bytes: int
    descriptors: int
    threads: int
    tasks: float
    ticks: int
    tick_seconds_total: float
    calls: int
    retries: int
    fallbacks: int
    in_flight: int
    limit: int
    waiting: int
    lag_s: float
    journal_bytes: int


class Outcome(NamedTuple):
    """The end of the run.

    Args:
        changed: the settings in which it differs from the shipped configuration.
        code: the run's exit code.
        absent: starts that found no server, after which the run was started again.
        is_whole: whether its files are undamaged.
        alerts: `{(alert, instance): evaluations at which it fired}`; None if Prometheus is not installed.
        before: the summary of the rounds before the soak.
        summary: that of the run, which has them, too; empty if it has left none.
    """

    changed: Sequence[str]
    code: int
    absent: int
    is_whole: bool
    alerts: Mapping[tuple[str, str], int] | None
    counts: Statistics
    before: Mapping[str, Any]
    summary: Mapping[str, Any]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity after the warm-up. The slope, if there is one, is that in an hour with the ends of its interval."""

    first: float
    least: float
    most: float
    last: float
    slope: tuple[float, float, float] | None = None


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """The observations of one process of the run, after its warm-up."""

    from_minute: float
    to_minute: float
    observations: int
    rows: dict[str, Row]

    @property
    def memory_rises(self) -> bool:
        """True if the memory rises in the second half by more than chance, and by more than LEAK_MIB an hour."""
        slope = self.rows[LATE_MEMORY].slope
        return slope is not None and slope[1] > 0 and slope[0] > LEAK_MIB


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The report for programs.

    Args:
        fallbacks_seen: those that the metrics have counted, if the summary lacks the last ticks.
        phases: `{phase: seconds}`; `waits`: the times that the run began to wait for its oracle.
        stretches: the run's processes, but for those that were too short: two if it was stopped and resumed once.
        faults: `{fault: calls}` by the server; `spells`: `{spell: calls that it has changed}`.
    """

    minutes: float
    changed: list[str]
    rounds_before: int
    ticks: int
    questions: int
    calls: int
    retries: dict[str, int]
    fallbacks: dict[str, int]
    fallbacks_seen: int | None
    journal_bytes: int
    phases: dict[str, float]
    waits: int
    longest_wait_s: float
    faults: dict[str, int]
    spells: dict[str, int]
    outages: int
    alerts: dict[str, int] | None
    unexpected_alerts: list[str]
    code: int
    absent: int
    is_whole: bool
    warm_up: float
    stretches: list[Stretch]


class Answer(NamedTuple):
    """The report, and whether the memory rises, which fails a soak."""

    text: str
    facts: Facts
    memory_rises: bool


def judge(observations: Sequence[Observation], outcome: Outcome, options: argparse.Namespace) -> Answer:
    """Return the report on the observations after the warm-up of each process.

    Raises:
        ValueError: there are too few of them for a trend.
    """
    last, summary = observations[-1], outcome.summary
    processes = [warmed(list(group), options.warm_up) for _, group in groupby(observations, lambda each: each.process)]
    stretches = [_stretch(warm) for warm in processes if len(warm) >= BLOCKS_MIN]
    if not stretches:
        raise ValueError(f"a trend needs {BLOCKS_MIN} samples or more, got {max(map(len, processes))}")
    waits = [end - begin for begin, end in spans(observations, "waiting_for_oracle")]
    alerts = None if outcome.alerts is None else _by_alert(outcome.alerts)
    facts = Facts(
        minutes=last.at_s / 60,
        changed=list(outcome.changed),
        rounds_before=int(outcome.before.get("rounds", 0)),
        ticks=_since(outcome, "ticks"),
        questions=_since(outcome, "oracle_questions"),
        calls=_since(outcome, "oracle_calls"),
        retries=dict(summary.get("retries_by_reason", {})),
        fallbacks=dict(summary.get("fallbacks_by_reason", {})),
        fallbacks_seen=last.fallbacks if int(summary.get("ticks", 0)) < last.ticks else None,
        journal_bytes=last.journal_bytes,
        phases=phases(observations),
        waits=len(waits),
        longest_wait_s=max(waits, default=0.0),
        faults={fault.value: count for fault, count in outcome.counts.faults.items()},
        spells={spell.value: count for spell, count in outcome.counts.spells.items()},
        outages=outcome.counts.outages,
        alerts=alerts,
        unexpected_alerts=sorted(set(alerts or ()) - OF_SERVER - ({ENDED_EARLY} if outcome.absent else set())),
        code=outcome.code,
        absent=outcome.absent,
        is_whole=outcome.is_whole,
        warm_up=options.warm_up,
        stretches=stretches,
    )
    return Answer(_text(facts), facts, any(each.memory_rises for each in facts.stretches))


def _since(outcome: Outcome, name: str) -> int:
    """Return a count of the summary without what was counted before the soak."""
    return int(outcome.summary.get(name, 0)) - int(outcome.before.get(name, 0))


def _by_alert(alerts: Mapping[tuple[str, str], int]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for (alert, _), evaluations in alerts.items():
        found[alert] += evaluations
    return dict(sorted(found.items()))


def warmed(observations: Sequence[Observation], warm_up: float) -> Sequence[Observation]:
    """Return the observations after the warm-up, a share of the time."""
    begun_s, end_s = observations[0].at_s, observations[-1].at_s
    begins_s = begun_s + warm_up * (end_s - begun_s)
    return [each for each in observations if each.at_s >= begins_s]


def tick_durations(observations: Sequence[Observation]) -> list[tuple[float, float]]:
    """Return `(when, mean duration of the ticks since the observation before)`, in seconds, if there were ticks."""
    found = []
    for before, after in pairwise(observations):
        ticks, seconds = after.ticks - before.ticks, after.tick_seconds_total - before.tick_seconds_total
        # A tick is counted when it is in the journal, which may be after its time was. A resumed process begins at 0.
        if ticks > 0 and seconds > 0:
            found.append((after.at_s, seconds / ticks))
    return found


def undisturbed(observations: Sequence[Observation]) -> list[tuple[float, float]]:
    """Return the durations of ticks without those that waited for an answer: over twice the lower quartile."""
    found = tick_durations(observations)
    durations = sorted(duration_s for _, duration_s in found)
    most_s = 2 * durations[len(durations) // 4] if durations else 0.0
    return [each for each in found if each[1] <= most_s]


def phases(observations: Sequence[Observation]) -> dict[str, float]:
    """Return `{phase: seconds}`, the longest first."""
    names = {each.phase for each in observations}
    seconds = {name: sum(end_s - begin_s for begin_s, end_s in spans(observations, name)) for name in names}
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))


def spans(observations: Sequence[Observation], phase: str) -> Iterator[tuple[float, float]]:
    """Yield the begin and the end of each stretch of observations in a phase."""
    at_s = 0.0
    for name, group in groupby(observations, key=lambda each: each.phase):
        end_s = list(group)[-1].at_s
        if name == phase:
            yield at_s, end_s
        at_s = end_s


def _stretch(warm: Sequence[Observation]) -> Stretch:
    return Stretch(
        from_minute=warm[0].at_s / 60, to_minute=warm[-1].at_s / 60, observations=len(warm), rows=_rows(warm)
    )


def _rows(warm: Sequence[Observation]) -> dict[str, Row]:
    at_s, ticks = [each.at_s for each in warm], undisturbed(warm)
    late = warm[len(warm) // 2 :] if len(warm) >= 2 * BLOCKS_MIN else warm
    rows = {
        MEMORY: _row([each.rss_bytes / MIB for each in warm], at_s),
        LATE_MEMORY: _row([each.rss_bytes / MIB for each in late], [each.at_s for each in late]),
        **{
            f"of it {name}, MiB": _row([getattr(each, part) / MIB for each in warm], at_s)
            for part, name in PARTS.items()
        },
        "a tick that waits for no answer, ms": _row([1000 * each for _, each in ticks], [at for at, _ in ticks]),
        "descriptors": _row([each.descriptors for each in warm], at_s),
        "threads": _row([each.threads for each in warm], at_s),
        "tasks": _row([each.tasks for each in warm], at_s),
        "questions in the queue": _row([each.waiting for each in warm], at_s),
        "longest lag of the event loop, ms": _row([1000 * each.lag_s for each in warm]),
        "limit on calls": _row([each.limit for each in warm]),
    }
    return {name: row for name, row in rows.items() if not math.isnan(row.most)}


def _row(values: Sequence[float], at_s: Sequence[float] | None = None) -> Row:
    if not values:  # such as ticks that wait for no answer, in a short soak of a slow server
        return Row(first=math.nan, least=math.nan, most=math.nan, last=math.nan, slope=None)
    slope = None
    if at_s is not None and len(values) >= BLOCKS_MIN and not any(map(math.isnan, values)):
        found: Trend = trend(at_s, values)
        slope = (HOUR_S * found.slope, HOUR_S * found.low, HOUR_S * found.high)
    return Row(first=values[0], least=min(values), most=max(values), last=values[-1], slope=slope)


def _text(facts: Facts) -> str:
    lines = [
        "# Soak",
        "",
        f"configs/soak.yaml with {', '.join(facts.changed)}; {facts.minutes:.1f} minutes.",
        f"A fork of {facts.rounds_before} rounds without a server.",
        f"{facts.ticks:,} ticks, {facts.questions:,} questions, {facts.calls:,} calls.",
        f"{facts.journal_bytes / MIB:,.0f} MiB of journal.",
        f"Calls with a fault: {_counts(facts.faults)}.",
        f"Outages: {facts.outages}. Calls in a spell: {_counts(facts.spells)}.",
        f"Asked again: {_counts(facts.retries)}. Fallbacks: {_counts(facts.fallbacks)}.",
        *([] if facts.fallbacks_seen is None else [_unsummarised(facts.fallbacks_seen)]),
        f"Seconds by phase: {_counts({name: round(seconds) for name, seconds in facts.phases.items()})}.",
        f"Waited {facts.waits} times for the oracle, {facts.longest_wait_s:.0f} s at most.",
        *([f"Starts that found no server: {facts.absent}."] if facts.absent else []),
        f"Exit code {facts.code}; files {'whole' if facts.is_whole else 'DAMAGED'}. {_alerts(facts)}",
        "",
        *(line for stretch in facts.stretches for line in _table(facts.warm_up, stretch)),
        "Slopes: least squares on block means, variance after Newey & West with prewhitening (deploy/soak/trend.py).",
    ]
    return "\n".join(lines) + "\n"


def _table(warm_up: float, stretch: Stretch) -> Iterator[str]:
    yield (
        f"Minutes {stretch.from_minute:.0f} to {stretch.to_minute:.0f}, after a warm-up of {warm_up:.0%}, "
        f"{stretch.observations:,} observations:"
    )
    yield ""
    yield "| | first | least | most | last | slope an hour | 95% interval |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_line(name, row) for name, row in stretch.rows.items())
    yield ""
    gained = {name: row.last - row.first for name, row in stretch.rows.items()}
    parts = {name: gained[f"of it {name}, MiB"] for name in PARTS.values()}
    yield told(gained[MEMORY], parts, f"{LEAK_MIB:g} MiB an hour", rises=stretch.memory_rises)
    yield ""


def _unsummarised(fallbacks: int) -> str:
    return f"It was stopped while its server was away: the summary lacks the last ticks; {fallbacks} fallbacks in all."


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in numbers.items()) or "none"


def _line(name: str, row: Row) -> str:
    cells = [f"{value:,.1f}".removesuffix(".0") for value in (row.first, row.least, row.most, row.last)]
    slope, low, high = row.slope or (0.0, 0.0, 0.0)
    cells += ["", ""] if row.slope is None else [signed(slope), f"{signed(low)} to {signed(high)}"]
    return f"| {name} | {' | '.join(cells)} |"


def _alerts(facts: Facts) -> str:
    if facts.alerts is None:
        return "Prometheus is not installed, so no alerts were observed."
    if not facts.alerts:
        return "Prometheus observed the run; no alert fired."
    fired = ", ".join(f"{alert}{' (UNEXPECTED)' if alert in facts.unexpected_alerts else ''}" for alert in facts.alerts)
    return f"Alerts that fired: {fired}."


def draw(observations: Sequence[Observation], path: Path, warm_up: float) -> None:
    """Draw memory, ticks, calls and counts over time; do nothing if the extra `plots` is not installed."""
    try:
        from actors.plots import Panel, course, over_time  # noqa: PLC0415  # optional: a report needs no picture
    except ImportError:
        return
    minutes = [each.at_s / 60 for each in observations]
    ticks = tick_durations(observations)

    def lines(**values: Sequence[float]) -> Panel:
        return Panel({name.replace("_", " "): course(minutes, [each]) for name, each in values.items()})

    panels = {
        "resident, MiB": lines(memory=[each.rss_bytes / MIB for each in observations]),
        "a tick, s": Panel({"tick": course([at_s / 60 for at_s, _ in ticks], [[each for _, each in ticks]])}),
        "questions and calls": lines(
            questions_that_wait=[each.waiting for each in observations],
            calls_under_way=[each.in_flight for each in observations],
            limit_on_calls=[each.limit for each in observations],
        ),
        "descriptors and threads": lines(
            descriptors=[each.descriptors for each in observations], threads=[each.threads for each in observations]
        ),
    }
    marks = [
        (warm_up * minutes[-1], GREY),
        *((at / 60, VERMILION) for at, _ in spans(observations, "waiting_for_oracle")),
    ]
    caption = "Grey: the end of the warm-up. Red: the run begins to wait for its oracle."
    over_time(panels, "A soak", caption, x="minutes", marks=marks, height=90).save(path, scale_factor=3)
