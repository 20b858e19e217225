"""The ledger of replications: the last line of each, and a page in Markdown with all lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from actors.display.words import duration
from actors.factory.shipped import replications
from actors.studies.replications.line import LINE, Line, read_line
from actors.studies.replications.plan import load_replication
from prism.answers import figure
from prism.experiment import Compared, Replication

OUT = Path("replications")
NONE = "-"
HERE_SAID = (
    "here is the mean of the runs, and in brackets the range of compatible figures; for a direction (greater or less "
    "than 0), the 95% interval of the mean"
)
"""The explanation of the numbers of `said_here`."""


class Entry(NamedTuple):
    """A replication and its last line: the one in this directory, or else the one that comes with PRISM."""

    name: str
    path: Path
    line: Line | None
    is_own: bool = False  # whether the line is of this directory


def entries(run: tuple[Path, Path] | None = None) -> list[Entry]:
    """Return the entries of all replications that come with PRISM, and of one that was run.

    Args:
        run: the file of the replication that was run, and the directory of its experiment; None if no other one was.
    """
    files = {name: (path, OUT / name) for name, path in replications().items()}
    if run is not None:
        files[run[0].stem] = run
    found = []
    for name, (path, place) in files.items():
        own = read_line(place / LINE)
        found.append(Entry(name, path, own or read_line(path.with_suffix(".json")), is_own=own is not None))
    return found


def page_of(all_entries: Iterable[Entry]) -> str:
    kept = [(each.line, load_replication(each.path)) for each in all_entries if each.line is not None]
    lines = [
        "# Ledger of replications",
        "",
        "Published results, done again in PRISM, hits and misses alike. This page is written by",
        "`prism replicate --ledger docs/ledger.md`; [Replications](replications.md) says what a hit is.",
        "",
        "| replication | predicted | fitted | runs | calls | time of all runs | digest |",
        "|---|---|---|---|---|---|---|",
    ]
    for line, _ in kept:
        cells = [f"[{line.name}](#{line.name})", hits(line, fitted=False), hits(line, fitted=True), f"{line.runs:,}"]
        cells += [f"{line.calls:,}", duration(line.seconds), f"`{line.digest[:16]}`"]
        lines.append(f"| {' | '.join(cells)} |")
    for line, replication in kept:
        lines += ["", *_section(line, replication)]
    return "\n".join([*lines, ""])


def hits(line: Line, *, fitted: bool) -> str:
    """Return the hits among the fitted or the predicted figures, such as `3 of 5`."""
    found, count = line.hits(fitted=fitted)
    return f"{found} of {count}" if count else NONE


def said_here(each: Compared) -> str:
    """Return the mean of the runs for a figure and the ends of its range, as `HERE_SAID` explains them."""
    between = "" if each.low == each.high else f" ({figure(each.low)} to {figure(each.high)})"
    return f"{figure(each.here)}{between}"


def outcome_of_figure(each: Compared) -> str:
    """Return `hit`, or `miss` with its reason."""
    return "hit" if each.is_hit else f"miss: {each.why}"


def kind_of(each: Compared) -> str:
    return "fitted" if each.fitted else "predicted"


def _section(line: Line, replication: Replication) -> Iterator[str]:
    yield f"## {line.name}"
    yield ""
    yield f"{replication.claim} {replication.study}"
    if replication.differs:
        yield f"Not as in the study: {' '.join(replication.differs)}"
    yield ""
    yield "| figure | published | here | outcome | source |"
    yield "|---|---|---|---|---|"
    for each in line.figures:
        outcome = outcome_of_figure(each) if each.is_hit else f"**{outcome_of_figure(each)}**"
        outcome += " (fitted)" if each.fitted else ""
        cells = [each.figure, each.published, said_here(each), outcome, each.source]
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
    for remark in replication.remarks:
        yield ""
        yield remark
