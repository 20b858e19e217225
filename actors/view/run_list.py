"""The lists of the page: runs with their progress and the settings in which they differ, and an experiment's cells."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from actors.core.errors import ActorError
from actors.display.words import duration
from actors.factory.domains import show_of
from actors.pages.page import Element, Node, facts, tag
from actors.pages.words import count
from actors.results.run_record import Differences, differing, settings_in_words
from actors.store.manifest import CONFIG, read_summary
from actors.store.rounds import numbers_of, read_rounds
from actors.store.run import ListedRun, Marks, RunStatus, header_in, list_run, marks_of, read_resolved, run_paths
from actors.studies.experiments.cells import CELLS
from actors.studies.experiments.outcome import OUTCOME
from actors.studies.experiments.plan import PlanFile, PlannedCell
from actors.studies.experiments.record import CellLine, CellState, cell_state, current_plan
from prism.answers import figure
from prism.config import Config
from prism.errors import PrismError
from prism.show import Show
from prism.wording import counted

RUNS_MAX = 500
SETTINGS_MAX = 24  # settings that are listed, of those in which runs differ
FIGURES_MAX: Final = 5
MARKS: Final = {"done": "✓", "ended": "✓", "stopped": "■", "crashed": "✖", "damaged": "⚠", "starting": "…"}


class RunLine(NamedTuple):
    name: str
    label: str  # its name, or of a cell of an experiment the condition and the seed
    run: ListedRun
    nouns: str  # what it has: `people`
    settings: dict[str, str]  # `{dotted key: value as text}`; empty if they cannot be read
    figures: dict[str, str]  # its main figures at the end, or so far

    @property
    def state(self) -> str:
        """Its phase while a process works on it, else its status."""
        if self.run.holder is None:
            return self.run.status.value
        return "starting" if self.run.phase is None else self.run.phase.phase.value

    @property
    def note(self) -> str:
        """The reason of its end or its wait, and the run that it branched off; empty without any."""
        phase, parent = self.run.phase, self.run.parent
        since = "" if phase is None else f"for {duration(max(0.0, time.time() - phase.since))}"
        reason = (phase.reason if phase is not None else "") or self.run.stopped_by
        return shown("; ".join(filter(None, [since, reason, "" if parent is None else f"fork of {parent}"])))

    @property
    def state_in_words(self) -> Element:
        kind, words = self.state if self.run.holder is None else "running", f" {self.state.replace('_', ' ')}"
        mark = tag("span", MARKS.get(self.state, "▶"), aria_hidden="true")
        return tag("span", mark, words, class_=f"state state-{kind}")


def _row(line: RunLine, place: int, differences: Differences, runs: int) -> Element:
    box = tag("input", type="checkbox", id=f"choose-{place}", value=line.name, aria_label=f"Compare {line.label}")
    link = tag("a", line.label, href=f"#/run/{quote(line.name, safe='')}", id=f"run-{place}")
    told, run = "; ".join(filter(None, [line.note, *map(shown, line.run.remarks)])), line.run
    digest = f" · digest {run.digest[:8]}" if run.digest else ""
    settings = {key: values[place] for key, values in [*differences.items()][:SETTINGS_MAX] if values[place]}
    named = (("outcome-figures", "Outcomes", line.figures), ("settings", "Settings in which the runs differ", settings))
    return tag(
        "li",
        tag("label", box, class_="choose") if runs > 1 else None,
        tag("div", link, tag("span", run.domain, class_="quiet"), class_="run-name"),
        tag("div", line.state_in_words, tag("span", told, class_="quiet") if told else None),
        tag(
            "div",
            tag("progress", max=max(run.length, 1), value=run.ticks, aria_label=f"Progress of {line.label}"),
            tag("span", f"{run.ticks:,} of {run.length:,} ticks"),
            tag("span", f"{run.agents:,} {line.nouns}{digest}", class_="quiet"),
        ),
        *(facts(each.items(), looks, words) if each else None for looks, words, each in named),
        class_="run",
    )


def shown(text: str) -> str:
    """Return a text that JSON can hold: a byte of a file's name that is no UTF-8 is named by its number."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def name_of(path: Path) -> str:
    """Return the name of a run: that of its directory, or of the link to it, so that no two have the same."""
    return shown(path.resolve().name if path.name in ("", "..") else path.name)


def runs_below(root: Path) -> dict[str, tuple[Path, str]]:
    """Return `{name: (directory, what the page calls it)}`: cells in the order of the plan, others from the newest on.

    A cell of an experiment is called by its conditions and its seed, and any other run by its name.
    """
    cells: Sequence[PlannedCell] = ()
    if root.name == CELLS:
        if not root.exists():
            return {}
        with suppress(ActorError, OSError):
            cells = current_plan(root.parent).cells
    found, conditions = {name_of(path): path for path in run_paths(root)}, defaultdict[str, list[str]](list)
    for cell in cells:
        conditions[cell.key].append(cell.condition)
    named = (cell for cell in cells if cell.key in found)
    labels = {cell.key: shown(f"{' = '.join(conditions[cell.key])}, seed {cell.seed}") for cell in named}
    return {name: (found[name], labels.get(name, name)) for name in dict.fromkeys([*labels, *found])}


def lines_of(root: Path) -> list[RunLine]:
    return [line_of(path)._replace(label=label) for path, label in [*runs_below(root).values()][:RUNS_MAX]]


def list_part(root: Path) -> list[Node]:
    lines, place, left_out = lines_of(root), shown(str(root)), max(0, len(runs_below(root)) - RUNS_MAX)
    if not lines:
        begin = f"No run here: {place} has no directory of a run. Begin one with"
        return [tag("p", begin), tag("pre", "prism run"), tag("p", "and it will appear on this page.")]
    differences = differences_of(lines)
    rows = [_row(line, at, differences, len(lines)) for at, line in enumerate(lines)]
    left, more = f"; {left_out:,} more are not listed" if left_out else "", len(differences) - SETTINGS_MAX
    return [
        tag("p", f"{counted(len(rows), 'run')} in ", tag("code", place), left, class_="quiet"),
        tag("ul", *rows, class_="runs"),
        *([tag("p", f"{counted(more, 'setting')} more differ.", class_="quiet")] if more > 0 else []),
    ]


def line_of(path: Path) -> RunLine:
    """Return a run, which is read again if its files have changed."""
    return _read(path, marks_of(path))


@lru_cache(2 * RUNS_MAX)
def _read(path: Path, _: Marks) -> RunLine:
    """Return a run as its files are now. One that cannot be read takes no other run from the list."""
    name, show, settings = name_of(path), Show(Config()), dict[str, str]()
    try:
        with suppress(PrismError, OSError):
            show = show_of(read_resolved(path / CONFIG))
        with suppress(ActorError, OSError):
            settings = settings_in_words(header_in(path).config)
        return RunLine(name, name, list_run(path), show.agents, settings, dict(figures_of(path, show)))
    except (ValueError, LookupError, TypeError, RecursionError):
        damaged = ListedRun(path=path, status=RunStatus.DAMAGED)
        return RunLine(name, name, damaged, Show(Config()).agents, {}, {})


def differences_of(lines: Sequence[RunLine]) -> Differences:
    """Return the settings in which runs of one domain differ, with a value for each run but the damaged ones."""
    places: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        if line.run.status is not RunStatus.DAMAGED:
            places.setdefault(line.run.domain, []).append(place)
    found = Differences()
    for of_domain in places.values():
        for key, values in differing([lines[place].settings for place in of_domain]).items():
            row = found.setdefault(key, [""] * len(lines))
            for place, value in zip(of_domain, values, strict=True):
                row[place] = value
    return dict(sorted(found.items()))


def figures_of(path: Path, show: Show) -> Iterator[tuple[str, str]]:
    """Yield the few main figures of a run at its end, or so far; none if its `rounds.csv` cannot be read."""
    try:
        rounds = read_rounds(path)
    except ActorError:
        return
    if not rounds.get("round"):
        return
    for name in numbers_of(show, rounds)[:FIGURES_MAX]:
        each, value = show.named(name), rounds[name][-1]
        if each.unit.startswith("%") and not each.is_total:
            yield each.name, f"{value:.2f}%"
        else:
            yield each.name, count(value) if float(value).is_integer() else figure(value, 5)
    largest = read_summary(path).get("largest_cascade")
    if isinstance(largest, dict) and isinstance(size := largest.get("size"), int) and abs(size) < 1 << 53:
        yield str(show.named("largest_cascade.size")), count(size)


# The cells of an experiment

CELLS_SHOWN = 2000
CELL_MARKS: Final = {CellState.DONE: "✓", CellState.RUNNING: "▶", CellState.INTERRUPTED: "■", CellState.WAITING: "·"}


def cells_of(path: Path) -> tuple[PlanFile, list[CellLine]]:
    plan = current_plan(path)
    return plan, [CellLine(each.condition, each.seed, each.key, cell_state(path, each.key)) for each in plan.cells]


def version_of(path: Path) -> str:
    plan, cells = cells_of(path)
    outcome = path / OUTCOME
    mark = outcome.stat().st_mtime_ns if outcome.exists() else 0
    return f"{plan.hash[:16]}-{sum(cell.state is CellState.DONE for cell in cells)}-{mark}"


def cells_part(path: Path) -> list[Node]:
    """Return the cells by condition and seed, each with its state and a link to its run."""
    plan, cells = cells_of(path)
    counts, conditions = Counter(cell.state for cell in cells), dict[str, list[CellLine]]()
    for cell in cells[:CELLS_SHOWN]:
        conditions.setdefault(shown(cell.condition), []).append(cell)
    told = ", ".join(f"{count(counts[state])} {state}" for state in CellState if counts[state])
    planned = "when there were results already" if plan.cells_done else "before the first result"
    left = max(0, len(cells) - CELLS_SHOWN)
    more = f" {counted(left, 'cell')} more are not listed." if left else ""
    rows = (
        tag("tr", tag("th", name, scope="row"), tag("td", *(_cell(name, cell) for cell in of)))
        for name, of in conditions.items()
    )
    table = tag("table", tag("tbody", *rows), class_="cells")
    return [
        tag("p", f"Cells: {told}. Plan {plan.hash[:16]}, made {planned}.{more}", class_="quiet"),
        tag("div", table, class_="scroller", tabindex=0, role="region", aria_label="Cells"),
    ]


def _cell(condition: str, cell: CellLine) -> Element:
    words = f"seed {cell.seed}: {cell.state}"
    looks = {"class_": f"cell cell-{cell.state}", "title": words}
    if cell.state is CellState.WAITING:
        return tag("span", CELL_MARKS[cell.state], role="img", aria_label=words, **looks)
    label = f"{condition}, {words}"
    return tag("a", CELL_MARKS[cell.state], href=f"#/run/{cell.key}", id=f"cell-{cell.key}", aria_label=label, **looks)
