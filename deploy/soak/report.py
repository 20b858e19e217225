"""The report of a soak: the memory of a process, the slopes of what was sampled, and a text in Markdown.

The slopes are by `deploy.soak.trend`. The memory leaks if it rises in the second half, by more than chance and by more
than LEAK_MIB: room that fills takes a few pages now and then.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from deploy.soak.trend import signed, trend

MIB, KIB = 2**20, 2**10
LEAK_MIB: Final = 1.0
MEMORY, LATE_MEMORY = "resident memory", "resident memory in the second half"
PARTS: Final = {
    "libraries_bytes": "libraries",
    "heaps_bytes": "kernels, arrays and buffers",
    "objects_bytes": "Python objects and large arrays",
}
"""`{field of Memory: its name in a report}`."""
EXIT_FAILED, EXIT_RISING = 1, 4
_ARENA: Final = 64 << 20
"""glibc gives each thread a heap that begins at a multiple of this."""
_LINES: Final = re.compile(rb"^(?:([0-9a-f]+)-\S+ \S+ \S+ \S+ \d+ *(\S*)|Rss: +(\d+))", re.MULTILINE)
"""A mapping, by its first address and its file, and the KiB of it that are in RAM."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The memory of a process that is in RAM.

    Args:
        libraries_bytes: of files: Python and its libraries; LLVM takes 70 MiB where kernels are compiled.
        heaps_bytes: that glibc keeps for C: kernels and their descriptions, arrays of up to 32 MiB, buffers.
        objects_bytes: all else: the objects of Python, and large arrays.
    """

    rss_bytes: int
    libraries_bytes: int
    heaps_bytes: int
    objects_bytes: int


def memory_of(pid: int | str) -> dict[str, int]:
    """Return the fields of `Memory` of a process now, by its number or `self`, as /proc/PID/smaps has them."""
    parts, part = dict.fromkeys(PARTS, 0), ""
    for found in _LINES.finditer(Path(f"/proc/{pid}/smaps").read_bytes()):
        start, file, resident_kib = found.groups()
        if start is None:
            parts[part] += 1024 * int(resident_kib)
        else:
            is_heap = file == b"[heap]" or (not file and int(start, 16) % _ARENA == 0)
            part = "libraries_bytes" if file.startswith(b"/") else "heaps_bytes" if is_heap else "objects_bytes"
    return {"rss_bytes": sum(parts.values()), **parts}


class Table:
    """The samples of a soak in a file: an interrupted soak leaves its data, and none of it is in memory."""

    def __init__(self, path: Path, kind: type[Any]) -> None:
        self._path, self._kind = path, kind
        path.write_text(",".join(kind.__struct_fields__) + "\n", encoding="utf-8")

    def add(self, sample: Any) -> None:
        with self._path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow(msgspec.structs.astuple(sample))

    def samples(self) -> list[Any]:
        with self._path.open(encoding="utf-8", newline="") as file:
            return [msgspec.convert(row, self._kind, strict=False) for row in csv.DictReader(file)]


class Quantity(NamedTuple):
    """A quantity that must stay on a level.

    Args:
        adds_up: whether the value is a total, whose growth between two samples must stay on a level.
    """

    name: str
    unit: str
    value: Callable[[Any], float]
    adds_up: bool = False


OF_MEMORY: Final = (
    Quantity(MEMORY, "MiB", lambda sample: sample.rss_bytes / MIB),
    *(
        Quantity(f"of it {name}", "MiB", lambda sample, part=part: getattr(sample, part) / MIB)  # type: ignore[misc]
        for part, name in PARTS.items()
    ),
)


class Slope(NamedTuple):
    """A quantity after the warm-up, and its slope with the ends of its 95% interval."""

    unit: str
    first: float
    least: float
    most: float
    last: float
    slope: float
    low: float
    high: float


def slopes_of(
    samples: Sequence[Any], at: Callable[[Any], float], quantities: Sequence[Quantity], *, per: float, warm_up: float
) -> dict[str, Slope]:
    """Return `{name: slope}` of every quantity after the warm-up, and that of the memory in the second half.

    Args:
        at: returns the time of a sample, in seconds or ticks from the start; `per`: the time of a slope.
        warm_up: the share of the time that is left out.

    Raises:
        ValueError: there are too few samples for a trend.
    """
    begun, end = (at(samples[place]) for place in (0, -1)) if samples else (0.0, 0.0)
    warm, late = (
        [each for each in samples if at(each) >= begun + share * (end - begun)]
        for share in (warm_up, max(warm_up, 0.5))
    )
    found = {}
    for name, unit, value, adds_up in (*quantities, Quantity(LATE_MEMORY, *OF_MEMORY[0][1:])):
        kept = late if name == LATE_MEMORY else warm
        times, values = [at(each) for each in kept], [value(each) for each in kept]
        if adds_up:
            steps = zip(pairwise(times), pairwise(values), strict=True)
            times, values = times[1:], [(after - before) / (then - now) for (now, then), (before, after) in steps]
        slopes = (per * each for each in trend(times, values))
        found[name] = Slope(unit, values[0], min(values), max(values), values[-1], *slopes)
    return found


def is_leak(slopes: Mapping[str, Slope]) -> bool:
    memory = slopes[LATE_MEMORY]
    return memory.low > 0 and memory.slope > LEAK_MIB


def text_of(title: str, told: Sequence[str], slopes: Mapping[str, Slope], per: str) -> str:
    """Return the report in Markdown.

    Args:
        told: what was run and what became of it, a line each.
        per: the time of a slope in words.
    """
    lines = ["# " + title, "", *told, "", *_table(slopes, per), ""]
    gained = {name: slopes[name].last - slopes[name].first for name, *_ in OF_MEMORY}
    most = max([*gained][1:], key=lambda name: gained[name])
    rose = f"{gained[MEMORY]:+.1f} MiB after the warm-up, {gained[most]:+.1f} {most}"
    if is_leak(slopes):
        lines.append(f"The memory RISES: {rose}, and it goes on in the second half.")
    else:
        why = "room that filled and stays" if gained[MEMORY] > 0 else "what was freed went back to the system"
        rest = f"in the second half by no more than chance or {LEAK_MIB:g} MiB {per}, so this is {why}"
        lines.append(f"The memory does not rise: {rose}; {rest}.")
    lines.append(
        "Slopes: least squares on block means, variance after Newey & West with prewhitening (deploy/soak/trend.py)."
    )
    return "\n".join(lines) + "\n"


def _table(slopes: Mapping[str, Slope], per: str) -> Iterator[str]:
    yield f"| | first | least | most | last | slope {per} | 95% interval |"
    yield "|---|---|---|---|---|---|---|"
    for name, (unit, *levels, slope, low, high) in slopes.items():
        cells = [f"{value:,.4g}" if value < 1000 else f"{value:,.0f}" for value in levels]
        label = f"{name}, {unit}" if unit else name
        yield f"| {label} | {' | '.join(cells)} | {signed(slope)} | {signed(low)} to {signed(high)} |"


def counts(numbers: Mapping[Any, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in numbers.items()) or "none"


def end(file: Path, text: str, *, is_sound: bool, rises: bool) -> None:
    """Write and print a report, and end the process with the exit code of its result."""
    file.write_text(text, encoding="utf-8")
    print(text)
    sys.exit(EXIT_FAILED if not is_sound else EXIT_RISING if rises else 0)
