"""The report of a soak in virtual time: a text in Markdown, a record for programs, and a picture."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from actors import RunResult
from deploy.soak.memory import PARTS, told
from deploy.soak.trend import Trend, signed, trend
from prism.palette import GREY

MIB, KIB, MILLION = 2**20, 2**10, 1_000_000
DAY_S = 86_400
MEMORY, LATE_MEMORY = "resident memory", "resident memory in the second half"
LEAK_MIB = 1.0
"""The slope of memory over a million ticks from which it is a leak: about a byte a tick. Over so many samples chance is
small, and a few pages that the allocator takes would be more than chance."""
GREW_BY = 50
"""The least number by which a type of objects must have grown to be named: fewer come and go with the posts."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The process and its files after a tick.

    Args:
        cpu_s: processor time of the process.
        objects: those that Python's collector knows.
        log_bytes: log.jsonl and those set aside, together.
    """

    tick: int
    virtual_s: float
    wall_s: float
    cpu_s: float
    rss_bytes: int
    libraries_bytes: int
    heaps_bytes: int
    objects_bytes: int
    objects: int
    tasks: int
    descriptors: int
    page_bytes: int
    journal_bytes: int
    oracle_log_bytes: int
    rounds_bytes: int
    log_bytes: int
    checkpoint_bytes: int
    files: int


class Census(msgspec.Struct, frozen=True, kw_only=True):
    """The objects after a tick, `{type: number}`, after a collection."""

    tick: int
    objects: dict[str, int]


class Sampled(Protocol):
    """The samples and censuses of a run."""

    def samples(self) -> list[Sample]:
        """Return the samples."""

    def censuses(self) -> list[Census]:
        """Return the censuses."""


class Asked(Protocol):
    """The calls to a model, and those that failed, by cause."""

    calls: int
    failures: Counter[str]


class Slope(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity after the warm-up, and its slope over a million ticks with the ends of its 95% interval."""

    unit: str
    first: float
    least: float
    most: float
    last: float
    slope: float
    low: float
    high: float


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The report for programs."""

    people: int
    ticks: int
    planned: int
    virtual_days: float
    wall_s: float
    cpu_s: float
    digest: str
    calls: int
    failures: dict[str, int]
    questions: int
    retries: int
    fallbacks: dict[str, int]
    is_whole: bool
    warm_up: float
    slopes: dict[str, Slope]
    grown: dict[str, tuple[int, int]]


class Answer(NamedTuple):
    """The report, and whether the memory rises, which fails a soak."""

    text: str
    facts: Facts
    memory_rises: bool


def _mib(part: str, sample: Sample) -> float:
    return float(getattr(sample, part)) / MIB


LEVELS: tuple[tuple[str, str, Callable[[Sample], float]], ...] = (
    (MEMORY, "MiB", lambda sample: sample.rss_bytes / MIB),
    *((f"of it {name}", "MiB", partial(_mib, part)) for part, name in PARTS.items()),
    ("Python objects", "", lambda sample: sample.objects),
    ("tasks", "", lambda sample: sample.tasks),
    ("descriptors", "", lambda sample: sample.descriptors),
    ("files in the directory", "", lambda sample: sample.files),
    ("newest checkpoint", "KiB", lambda sample: sample.checkpoint_bytes / KIB),
    ("all logs", "KiB", lambda sample: sample.log_bytes / KIB),
    ("page of metrics", "KiB", lambda sample: sample.page_bytes / KIB),
)
"""Quantities that must stay on a level: name, unit, value."""
RATES: tuple[tuple[str, str, Callable[[Sample], float]], ...] = (
    ("processor time", "ms a tick", lambda sample: 1000 * sample.cpu_s),
    ("journal", "bytes a tick", lambda sample: sample.journal_bytes),
    ("oracle's log", "bytes a tick", lambda sample: sample.oracle_log_bytes),
    ("rounds.csv", "bytes a tick", lambda sample: sample.rounds_bytes),
)
"""Quantities that add up over a run, whose growth in a tick must stay on a level: name, unit, total."""


def judge(sampled: Sampled, result: RunResult, model: Asked, options: argparse.Namespace, *, is_whole: bool) -> Answer:
    """Return the report on the samples after the warm-up.

    Raises:
        ValueError: there are too few of them for a trend.
    """
    samples, summary = sampled.samples(), result.summary
    if not samples:
        raise ValueError("a trend needs 20 samples or more, got 0")
    warm = [each for each in samples if each.tick >= options.warm_up * samples[-1].tick]
    facts = Facts(
        people=options.people,
        ticks=summary.ticks,
        planned=options.ticks,
        virtual_days=round(samples[-1].virtual_s / DAY_S, 2),
        wall_s=samples[-1].wall_s,
        cpu_s=samples[-1].cpu_s,
        digest=summary.digest,
        calls=model.calls,
        failures=dict(sorted(model.failures.items())),
        questions=summary.oracle_questions,
        retries=summary.oracle_retries,
        fallbacks=dict(summary.fallbacks_by_reason),
        is_whole=is_whole,
        warm_up=options.warm_up,
        slopes=slopes_of(warm, [each for each in samples if 2 * each.tick >= samples[-1].tick]),
        grown=grown(sampled.censuses(), options.warm_up * samples[-1].tick),
    )
    memory_rises = is_leak(facts.slopes[LATE_MEMORY])
    return Answer(_text(facts, len(warm), memory_rises=memory_rises), facts, memory_rises)


def is_leak(memory: Slope) -> bool:
    """Return whether the memory rises by more than chance, and by more than the allocator takes now and then."""
    return memory.low > 0 and memory.slope > LEAK_MIB


def slopes_of(warm: Sequence[Sample], late: Sequence[Sample]) -> dict[str, Slope]:
    """Return the slope of every quantity after the warm-up, and that of the memory in the second half."""
    found = {}
    for name, unit, value in LEVELS:
        found[name] = _slope(unit, [each.tick for each in warm], [value(each) for each in warm])
        if name == MEMORY:
            found[LATE_MEMORY] = _slope(unit, [each.tick for each in late], [value(each) for each in late])
    for name, unit, total in RATES:
        rates = [(total(after) - total(before)) / (after.tick - before.tick) for before, after in pairwise(warm)]
        found[name] = _slope(unit, [each.tick for each in warm[1:]], rates)
    return found


def grown(censuses: Sequence[Census], warm_tick: float) -> dict[str, tuple[int, int]]:
    """Return `{type: its objects after the warm-up and at the end}` of the types that have grown, the most first.

    A type has grown if there are more of it at the end than at every census of the first half, and not only a few.
    """
    warm = [each for each in censuses if each.tick >= warm_tick]
    if len(warm) < 2:
        return {}
    first_half, last = warm[: len(warm) // 2], warm[-1].objects
    most = {name: max(each.objects.get(name, 0) for each in first_half) for name in last}
    names = sorted(
        (name for name in last if last[name] - most[name] >= GREW_BY), key=lambda name: most[name] - last[name]
    )
    return {name: (warm[0].objects.get(name, 0), last[name]) for name in names}


def _slope(unit: str, ticks: Sequence[float], values: Sequence[float]) -> Slope:
    found: Trend = trend(ticks, values)
    slope, low, high = (MILLION * each for each in found)
    return Slope(
        unit=unit,
        first=values[0],
        least=min(values),
        most=max(values),
        last=values[-1],
        slope=slope,
        low=low,
        high=high,
    )


def _text(facts: Facts, count: int, *, memory_rises: bool) -> str:
    early = "" if facts.ticks == facts.planned else f" of {facts.planned:,} planned"
    failures = ", ".join(f"{count:,} {cause}" for cause, count in facts.failures.items()) or "none"
    fallbacks = ", ".join(f"{count:,} {reason}" for reason, count in facts.fallbacks.items()) or "none"
    gained = {name: slope.last - slope.first for name, slope in facts.slopes.items()}
    parts = {name: gained[f"of it {name}"] for name in PARTS.values()}
    grew = ", ".join(f"{name} ({first:,} to {last:,})" for name, (first, last) in facts.grown.items())
    lines = [
        "# Soak in virtual time",
        "",
        f"{facts.people:,} people, {facts.ticks:,} ticks{early}, {facts.virtual_days:g} days of virtual time.",
        f"{facts.wall_s / 60:.1f} minutes, {facts.cpu_s / 60:.1f} of them processor time.",
        f"{facts.questions:,} questions, {facts.calls:,} calls, {facts.retries:,} retries. Failed calls: {failures}.",
        f"Fallbacks: {fallbacks}. Files {'whole' if facts.is_whole else 'DAMAGED'}. Digest {facts.digest}.",
        "",
        f"After a warm-up of {facts.warm_up:.0%}, {count:,} samples; slopes over a million ticks:",
        "",
        "| | first | least | most | last | a million ticks | 95% interval |",
        "|---|---|---|---|---|---|---|",
        *(_row(name, slope) for name, slope in facts.slopes.items()),
        "",
        "Slopes: least squares on block means, variance after Newey & West with prewhitening (deploy/soak/trend.py).",
        told(gained[MEMORY], parts, f"{LEAK_MIB:g} MiB in a million ticks", rises=memory_rises),
        f"Types with more objects at the end than ever in the first half: {grew or 'none'}.",
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, slope: Slope) -> str:
    cells = [
        f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"
        for value in (slope.first, slope.least, slope.most, slope.last)
    ]
    label = f"{name}, {slope.unit}" if slope.unit else name
    return f"| {label} | {' | '.join(cells)} | {signed(slope.slope)} | {signed(slope.low)} to {signed(slope.high)} |"


def draw(samples: Sequence[Sample], path: Path, warm_up: float) -> None:
    """Draw memory, objects, processor time and files over the ticks; do nothing if `plots` is not installed."""
    try:
        from actors.plots import Panel, course, over_time  # noqa: PLC0415  # optional: a report needs no picture
    except ImportError:
        return
    thousands, steps = [each.tick / 1000 for each in samples], list(pairwise(samples))

    def rates(chosen: Sequence[tuple[str, str, Callable[[Sample], float]]]) -> Panel:
        ends = [after.tick / 1000 for _, after in steps]
        ticks = [after.tick - before.tick for before, after in steps]
        grown = {name: [total(after) - total(before) for before, after in steps] for name, _, total in chosen}
        return Panel(
            {name: course(ends, [[each / of for each, of in zip(grown[name], ticks, strict=True)]]) for name in grown}
        )

    panels = {
        "resident, MiB": Panel({"memory": course(thousands, [[each.rss_bytes / MIB for each in samples]])}),
        "thousand objects": Panel({"objects": course(thousands, [[each.objects / 1000 for each in samples]])}),
        "ms of processor a tick": rates(RATES[:1]),
        "bytes a tick": rates(RATES[1:]),
        "checkpoint, KiB": Panel(
            {"checkpoint": course(thousands, [[each.checkpoint_bytes / KIB for each in samples]])}
        ),
    }
    marks = [(warm_up * thousands[-1], GREY)]
    drawn = over_time(
        panels, "A soak in virtual time", "Grey: the end of the warm-up.", x="thousand ticks", marks=marks
    )
    drawn.save(path, scale_factor=3)
