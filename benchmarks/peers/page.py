"""The tables of a run, and the section of docs/scale.md made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from textwrap import fill
from typing import Any, Final

WIDTH: Final = 120
HEADING: Final = "## Beside its peers\n"
"""It begins the last section of the page."""

FIGURES: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "feed": (
        ("us a person and round", "{:.1f}"),
        ("us an activation", "{:.1f}"),
        ("us an activation of the warm-up", "{:.1f}"),
        ("us a post seen", "{:.0f}"),
        ("activations", "{:,.0f}"),
        ("posts seen", "{:,.0f}"),
        ("engagements", "{:,.0f}"),
    ),
    "crowd": (
        ("us a person and round", "{:.1f}"),
        ("us an activation", "{:.1f}"),
        ("us an activation of the warm-up", "{:.1f}"),
        ("us a post seen", "{:.0f}"),
        ("activations", "{:,.0f}"),
        ("posts seen", "{:,.0f}"),
        ("engagements", "{:,.0f}"),
    ),
    "mailboxes": (("ping-pong, messages a s", "{:,.0f}"), ("fan-in, messages a s", "{:,.0f}")),
    "channels": (("1 asker, us", "{:,.0f}"), ("1,000 askers, us", "{:,.0f}")),
    "charts": (
        ("unguarded, x", "{:,.1f}"),
        ("half-guarded, x", "{:,.1f}"),
        ("unguarded, us", "{:,.2f}"),
        ("half-guarded, us", "{:,.2f}"),
    ),
    "schelling": (
        ("ms a run", "{:.1f}"),
        ("us a look", "{:.1f}"),
        ("steps a run", "{:.1f}"),
        ("looks a run", "{:,.0f}"),
    ),
}
"""`{comparison: the figures of its table, each with its format}`."""

RATIOS: Final[Mapping[str, tuple[str, str]]] = {
    "feed": ("us a post seen", "time a post, PRISM resident = 1"),
    "crowd": ("us a person and round", "time, PRISM compiled = 1"),
    "mailboxes": ("ping-pong, messages a s", "ping-pong, PRISM = 1"),
    "channels": ("1 asker, us", "time of 1 asker, PRISM = 1"),
    "schelling": ("ms a run", "time, PRISM = 1"),
}
"""`{comparison: the figure that is compared with the first system's, and its heading}`."""

TITLES: Final[Mapping[str, str]] = {
    "feed": "A round of the social feed",
    "crowd": "The same with 100,000 people",
    "mailboxes": "Mailboxes",
    "channels": "A question and its answer",
    "charts": "Statecharts",
    "schelling": "Schelling's segregation",
    "growth": "Growth",
}

TEXTS: Final[Mapping[str, str]] = {
    "feed": """The 1,000 people of `configs/friends.yaml`, without a journal; building the people does not count. The
plain loop does the same with PRISM's charts and oracle, without a runtime. Seconds are of the processor. Measured are
1,000 rounds, and 200 of the slow systems, after a warm-up of 10, in which kernels are loaded and timelines fill.

Both models of Mesa were written by hand for speed, without PRISM's code, and run with the garbage collector off. The
first is the same round: a test checks that its counts are within a few percent of PRISM's. It has no journal, digest,
mailboxes, supervision, metrics, language models or settings. The second is a smaller model, as one might begin with:
people come online, rank a feed, like or reshare, and sometimes post, without ticks in a round, deliberation and
cascades. Its activation is one `step()` of one person; in the others it is a trigger.""",
    "crowd": """Eight rounds of `configs/friends.yaml` with 100,000 people, after a warm-up of two, without a journal,
and the same models of Mesa.""",
    "channels": """The answer is there at once. The polled channel is written after the published description of the
channel of OASIS: a queue of requests, a dictionary of answers, and a short sleep before each asker looks again.""",
    "schelling": """1,000 people of two groups on 40 by 40 places, until all are happy, by the rules of the
[comparison of frameworks](https://github.com/JuliaDynamics/ABMFrameworksComparison) that the authors of Agents.jl
maintain: PRISM's chart in a plain loop, and Mesa's grid; both are built anew in each run. With larger boards that
comparison has published (2023, Agents.jl 5.15, Mesa 1.2.1, MASON 21) that Mesa takes 181 to 403 times as long as
Agents.jl on this model, and MASON 41 to 249 times.
[krABMaga](https://krabmaga.github.io/benchmarks), in Rust, publishes curves alone.""",
}


def rows_of(comparison: str, systems: Mapping[str, Any]) -> list[list[str]]:
    """Return the table of a comparison, its headings first. A system without values has the reason in its row."""
    figures, ratio = FIGURES[comparison], RATIOS.get(comparison)
    headings = ["", *(name for name, _ in figures), *([ratio[1]] if ratio else [])]
    rows, reference = [headings], next(iter(systems.values())).get("samples")
    for name, system in systems.items():
        samples = system.get("samples")
        if not samples:
            reason = (
                f"not installed: {system['missing']}"
                if "import " in system["missing"]
                else f"failed: {system['missing']}"
            )
            rows.append([name, reason, *[""] * (len(headings) - 2)])
            continue
        cells = [form.format(median(sample[figure] for sample in samples)) for figure, form in figures]
        if ratio:
            cells.append(_ratio(samples, reference, ratio[0]))
        rows.append([name, *cells])
    return rows


def _ratio(samples: Sequence[Mapping[str, float]], reference: Sequence[Mapping[str, float]] | None, figure: str) -> str:
    """Return the median ratio of measurements that were made next to each other."""
    if not reference:
        return ""
    ratio = median(one[figure] / other[figure] for one, other in zip(samples, reference, strict=True))
    return f"{ratio:,.2f}" if ratio < 100 else f"{ratio:,.0f}"


def growth_rows(found: Mapping[str, Any]) -> list[list[str]]:
    """Return the table of growth, its headings first."""
    rows = [["of", "from", "to", "points", "us an activation", "exponent", "95%"]]
    for thing, points in found.items():
        if "missing" in points:
            rows.append([thing, f"failed: {points['missing']}", *[""] * (len(rows[0]) - 2)])
            continue
        low, high = min(points["size"]), max(points["size"])
        fit = points["fit"]
        rows.append(
            [
                thing,
                f"{low:,.0f}",
                f"{high:,.0f}",
                str(len(points["us"])),
                f"{_at(points, low):.1f} to {_at(points, high):.1f}",
                f"{fit['exponent']:+.3f}",
                f"{fit['low']:+.3f} to {fit['high']:+.3f}",
            ]
        )
    return rows


def _at(points: Mapping[str, Sequence[float]], size: float) -> float:
    return median(cost for each, cost in zip(points["size"], points["us"], strict=True) if each == size)


def tables(document: Mapping[str, Any]) -> dict[str, list[list[str]]]:
    """Return the table of each comparison that a run has made."""
    found = document["comparisons"]
    return {name: growth_rows(of) if name == "growth" else rows_of(name, of) for name, of in found.items()}


def terminal(document: Mapping[str, Any]) -> str:
    """Return the tables as aligned text."""
    lines = []
    for name, rows in tables(document).items():
        full = [row for row in rows if not _is_reason(row)]
        widths = [max(map(len, column)) for column in zip(*full, strict=True)]
        widths[0] = max(len(row[0]) for row in rows)
        lines += [TITLES[name], *(_aligned(row, widths) for row in rows), ""]
    return "\n".join(lines)


def _is_reason(row: Sequence[str]) -> bool:
    return row[1].startswith(("not installed: ", "failed: "))


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    if _is_reason(row):
        return f"  {row[0].ljust(widths[0])}  {row[1]}"
    cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
    return f"  {row[0].ljust(widths[0])}  {'  '.join(cells)}".rstrip()


def markdown(document: Mapping[str, Any]) -> str:
    """Return the section of a run, with its heading."""
    # Mailboxes, charts and growth are only in the terminal and in the JSON.
    parts = [f"{HEADING}\n{_conditions(document)}"]
    for name, rows in tables(document).items():
        if name not in TEXTS:
            continue
        head, *body = (f"| {' | '.join(row)} |" for row in rows)
        rule = f"|{'---|' * len(rows[0])}"
        parts.append("\n".join([f"### {TITLES[name]}\n", TEXTS[name], "", head, rule, *body]))
    return "\n\n".join(parts) + "\n"


def _conditions(document: Mapping[str, Any]) -> str:
    """Return how, when and on what the figures were measured."""
    machine, versions = document["machine"], document["versions"]
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    load = (
        "**They were measured under load**: other programs ran on the same machine, so times are too long, and ratios "
        "less certain."
        if document["under_load"]
        else "Nothing else ran on the machine."
    )
    small = " The sizes are small ones (`--size small`)." if document["size"] == "small" else ""
    how = (
        "`make bench-peers` measures all of this in an environment of its own and writes this section from "
        "`docs/benchmarks.json`. Each measurement is a process of its own, and the systems of a table take turns; "
        f"figures are medians of {document['repeats']}, and ratios are medians of measurements next to each other."
    )
    when = (
        f"Measured on {document['date']} in {document['seconds']} s: {machine['processor']}, {machine['processors']} "
        f"processors, {machine['system']}, {machine['python']}. {load}{small} Versions: {listed}."
    )
    return f"{fill(how, WIDTH, break_on_hyphens=False)}\n\n{fill(when, WIDTH, break_on_hyphens=False)}"
