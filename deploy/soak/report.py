"""The report of a soak: the slope of each column of its samples, and whether the memory leaks.

The memory leaks if it rises in the second half, by more than chance and by more than LEAK_MIB: room that fills takes a
few pages now and then. Memory drifts slowly, so neighbouring samples are almost equal, and the usual standard error of
a slope would call every random movement a trend: errors are taken to resemble the one before (Cochrane & Orcutt, 1949).
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from statsmodels.regression.linear_model import GLSAR
from statsmodels.tools.tools import add_constant

MIB, KIB = 2**20, 2**10
LEAK_MIB: Final = 1.0
WARM_UP: Final = 0.25
"""The share of the time that is left out."""
BLOCKS_MIN, BLOCKS_MAX = 20, 30
"""Blocks of samples, by whose means a slope is estimated: with fewer, the likeness of neighbours is not known."""
MEMORY = "resident memory, MiB"
EXIT_FAILED, EXIT_RISING = 1, 4

Floats = NDArray[np.float64]


class Slope(NamedTuple):
    """The values of a column after the warm-up, and the slope of the second half with its 95% interval."""

    first: float
    least: float
    most: float
    last: float
    slope: float
    low: float
    high: float


class Samples:
    """The samples of a soak, in a CSV file alone. An interrupted soak keeps the samples that it has written.

    Args:
        columns: their names with their units, `MEMORY` among them; the time stands before them.
        totals: the columns whose growth from one sample to the next must stay on a level.
    """

    def __init__(self, path: Path, columns: Collection[str], totals: Collection[str] = ()) -> None:
        self._path, self._totals = path, totals
        self._write(("at", *columns))

    def add(self, at: float, values: Iterable[float]) -> None:
        self._write((at, *values))

    def columns(self) -> dict[str, Floats]:
        with self._path.open(encoding="utf-8", newline="") as file:
            names, *rows = csv.reader(file)
        return dict(zip(names, np.array(rows, np.float64).reshape(-1, len(names)).T, strict=True))

    def slopes(self, per: float) -> dict[str, Slope]:
        """Return the slope of every column.

        Args:
            per: the time of a slope.

        Raises:
            ValueError: there are too few samples.
        """
        columns, found = self.columns(), dict[str, Slope]()
        times = columns.pop("at")
        warm, late = (times >= times[:1] + share * (times[-1:] - times[:1]) for share in (WARM_UP, 0.5))
        for name, column in columns.items():
            is_total = name in self._totals
            values = np.diff(column, prepend=0) / np.diff(times, prepend=0) if is_total else column
            slope = (per * each for each in trend(times[late], values[late]))
            of = values[warm]
            found[name] = Slope(*(float(each) for each in (of[0], of.min(), of.max(), of[-1])), *slope)
        return found

    def _write(self, row: Sequence[object]) -> None:
        with self._path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow(row)


def trend(times: Floats, values: Floats) -> tuple[float, float, float]:
    """Return the slope of values over times, and the ends of its 95% interval.

    Raises:
        ValueError: there are fewer than 20.
    """
    if len(values) < BLOCKS_MIN:
        raise ValueError(f"a trend needs {BLOCKS_MIN} samples or more, got {len(values)}")
    if np.ptp(values) <= 1e-9 * abs(values).max():  # a level, but for rounding
        return 0.0, 0.0, 0.0
    count = min(BLOCKS_MAX, len(values))
    at, of = (np.array([block.mean() for block in np.array_split(each, count)]) for each in (times, values))
    fitted = GLSAR(of, add_constant(at), rho=1).iterative_fit(maxiter=10)
    low, high = fitted.conf_int()[1]
    return float(fitted.params[1]), float(low), float(high)


def is_leak(slopes: Mapping[str, Slope]) -> bool:
    memory = slopes[MEMORY]
    return memory.low > 0 and memory.slope > LEAK_MIB


def finish(file: Path, title: str, told: Sequence[str], slopes: Mapping[str, Slope], per: str, *, sound: bool) -> None:
    """Write and print the report in Markdown, and end the process with the exit code of its result.

    Args:
        told: what was run and what became of it, a line each.
        per: the time of a slope in words.
    """
    text = "\n".join(_text(title, told, slopes, per))
    file.write_text(text, encoding="utf-8")
    print(text)
    sys.exit(EXIT_FAILED if not sound else EXIT_RISING if is_leak(slopes) else 0)


def _text(title: str, told: Sequence[str], slopes: Mapping[str, Slope], per: str) -> Iterator[str]:
    yield from (f"# {title}", "", *told, f"A warm-up of {WARM_UP:.0%} is left out.", "")
    yield f"| | first | least | most | last | slope {per}, second half | 95% interval |"
    yield "|---|---|---|---|---|---|---|"
    for name, (*levels, slope, low, high) in slopes.items():
        cells = [f"{value:,.4g}" if value < 1000 else f"{value:,.0f}" for value in levels]
        yield f"| {name} | {' | '.join(cells)} | {slope:+.3g} | {low:+.3g} to {high:+.3g} |"
    more = f"by more than chance and by more than {LEAK_MIB:g} MiB {per}.\n"
    yield f"\nIn the second half the memory {'RISES' if is_leak(slopes) else 'does not rise'} {more}"


def counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in numbers.items()) or "none"
