"""The list of runs as the page shows it: the progress of each run, and the settings in which they differ."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from actors.core.errors import ActorError
from actors.display.words import duration
from actors.factory.domains import show_of
from actors.pages.html import Element, Node, tag
from actors.pages.words import count, plural
from actors.results.run_record import Difference, differing, settings_in_words
from actors.store.listing import ListedRun, Marks, RunStatus, list_run, marks_of, run_paths
from actors.store.manifest import CONFIG, read_summary
from actors.store.rounds import numbers_of, read_rounds
from actors.store.run import header_in, read_resolved
from actors.studies.experiments.cells import CELLS
from actors.studies.experiments.record import current_plan
from prism.answers import figure
from prism.config import Config
from prism.errors import PrismError
from prism.show import Show

RUNS_MAX = 500
"""Runs that are listed."""
SETTINGS_MAX = 24
"""Settings that are listed, of those in which runs differ."""
FIGURES_MAX: Final = 5
"""The most figures of a run in a list."""
MARKS: Final = {"done": "✓", "ended": "✓", "stopped": "■", "crashed": "✖", "damaged": "⚠", "starting": "…"}


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A number at the end of a run, or of a run so far."""

    name: str
    value: float
    unit: str = ""  # of the value; empty for a count


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run in the list."""

    name: str
    label: str  # its name, or of a cell of an experiment the condition and the seed
    state: str  # its phase while a process works on it, else its status
    is_running: bool
    ticks: int
    length: int
    agents: int
    nouns: str  # what it has: `people`
    digest: str
    note: str  # what stopped it, or why it waits; empty if there is nothing to say
    remarks: tuple[str, ...]  # what was not as configured
    domain: str
    figures: list[Figure]  # its main figures at the end, or so far


class RunList(msgspec.Struct, frozen=True, kw_only=True):
    """The runs in a directory.

    Args:
        differences: the settings in which they are not all the same, with a value for each run.
        is_run: whether the directory is itself the directory of a run; if so, the page opens this run.
        left_out: runs, and settings, that are not listed because there are too many.
    """

    root: str
    runs: list[RunLine]
    differences: list[Difference]
    is_run: bool
    runs_left_out: int = 0
    settings_left_out: int = 0


def list_part(found: RunList) -> list[Node]:
    """Return the list as a part of the page."""
    if not found.runs:
        begin = f"No run here: {found.root} has no directory of a run. Begin one with"
        return [tag("p", begin), tag("pre", "prism run"), tag("p", "and it will appear on this page.")]
    rows = [_row(line, place, found) for place, line in enumerate(found.runs)]
    left = f"; {found.runs_left_out:,} more are not listed" if found.runs_left_out else ""
    parts: list[Node] = [
        tag("p", f"{plural(len(rows), 'run')} in ", tag("code", found.root), left, class_="quiet"),
        tag("ul", *rows, class_="runs"),
    ]
    if found.settings_left_out:
        parts.append(tag("p", f"{plural(found.settings_left_out, 'setting')} more differ.", class_="quiet"))
    return parts


def _row(line: RunLine, place: int, found: RunList) -> Element:
    box = tag("input", type="checkbox", id=f"choose-{place}", value=line.name, aria_label=f"Compare {line.label}")
    link = tag("a", line.label, href=f"#/run/{quote(line.name, safe='')}", id=f"run-{place}")
    told = "; ".join(filter(None, [line.note, *line.remarks]))
    note = tag("span", told, class_="quiet") if told else None
    digest = f" · digest {line.digest[:8]}" if line.digest else ""
    settings = [(each.key, each.values[place]) for each in found.differences if each.values[place]]
    return tag(
        "li",
        tag("label", box, class_="choose") if len(found.runs) > 1 else None,
        tag("div", link, tag("span", line.domain, class_="quiet"), class_="run-name"),
        tag("div", state_in_words(line), note),
        tag(
            "div",
            tag("progress", max=max(line.length, 1), value=line.ticks, aria_label=f"Progress of {line.label}"),
            tag("span", f"{line.ticks:,} of {line.length:,} ticks"),
            tag("span", f"{line.agents:,} {line.nouns}{digest}", class_="quiet"),
        ),
        _pairs([(each.name, _value(each)) for each in line.figures], "outcome-figures", "Outcomes"),
        _pairs(settings, "settings", "Settings in which the runs differ"),
        class_="run",
    )


def state_in_words(line: RunLine) -> Element:
    """Return the state of a run: a mark and a word."""
    mark, kind = MARKS.get(line.state, "▶"), "running" if line.is_running else line.state
    words = f" {line.state.replace('_', ' ')}"
    return tag("span", tag("span", mark, aria_hidden="true"), words, class_=f"state state-{kind}")


def _pairs(pairs: Sequence[tuple[str, str]], looks: str, label: str) -> Element | None:
    """Return names and values in a row; None without any."""
    items = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", *items, class_=looks, aria_label=label) if items else None


def _value(one: Figure) -> str:
    if one.unit.startswith("%"):
        return f"{one.value:.2f}%"
    return count(one.value) if float(one.value).is_integer() else figure(one.value, 5)


def shown(text: str) -> str:
    """Return a text that JSON can hold: a byte of a file's name that is no UTF-8 is named by its number."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def name_of(path: Path) -> str:
    """Return the name of a run: that of its directory, or of the link to it, so that no two have the same."""
    return shown(path.resolve().name if path.name in ("", "..") else path.name)


class _Known(NamedTuple):
    """A run when it was last looked at."""

    marks: Marks  # the marks of its files; while they are the same, the other fields are valid
    run: ListedRun
    config: dict[str, Any]  # the settings in its journal; empty if they cannot be read
    show: Show
    figures: list[Figure]


class RunLister:
    """A lister of the runs in a directory; a run is read again only if its files have changed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = Lock()
        self._known: dict[Path, _Known] = {}

    def paths(self) -> dict[str, Path]:
        """Return `{name: directory}` of the runs: cells in the order of the plan, others from the newest on."""
        if self.root.name == CELLS and not self.root.exists():
            return {}
        found = {name_of(path): path for path in run_paths(self.root)}
        labels = self._labels()
        order = {name: place for place, name in enumerate(labels)}
        return {name: found[name] for name in sorted(found, key=lambda name: order.get(name, len(order)))}

    def _labels(self) -> dict[str, str]:
        """Return `{name of a cell: its conditions and its seed}`, in the order of the plan; empty for other runs."""
        if self.root.name != CELLS:
            return {}
        try:
            cells = current_plan(self.root.parent).cells
        except (ActorError, OSError):
            return {}
        conditions: dict[str, list[str]] = {}
        for cell in cells:
            conditions.setdefault(cell.key, []).append(cell.condition)
        return {cell.key: shown(f"{' = '.join(conditions[cell.key])}, seed {cell.seed}") for cell in cells}

    def label(self, name: str) -> str:
        """Return what the page calls a run: its name, or of a cell of an experiment its conditions and its seed."""
        return self._labels().get(name, name)

    def lines(self) -> RunList:
        found = self.paths()
        listed = dict(list(found.items())[:RUNS_MAX])
        with self._lock:
            looked = [self._look(path) for path in listed.values()]
        differences, labels = _differences(looked), self._labels()
        return RunList(
            root=shown(str(self.root)),
            runs=[_line(name, known, labels) for name, known in zip(listed, looked, strict=True)],
            differences=differences[:SETTINGS_MAX],
            is_run=[*found.values()] == [self.root],
            runs_left_out=len(found) - len(listed),
            settings_left_out=max(0, len(differences) - SETTINGS_MAX),
        )

    def line(self, path: Path) -> RunLine:
        with self._lock:
            return _line(name_of(path), self._look(path), self._labels())

    def _look(self, path: Path) -> _Known:
        """Return the record of a run, which is read again if its files have changed."""
        now = marks_of(path)
        known = self._known.get(path)
        if known is None or known.marks != now:
            try:
                config = _settings(path)
                show = known.show if known is not None and known.config == config else _show(path)
                figures, run = figures_of(path, show), list_run(path)
            except (
                ValueError,
                LookupError,
                TypeError,
                RecursionError,
            ):  # a stranger's run takes no other from the list
                config, show, figures = {}, Show(Config()), []
                run = ListedRun(path=path, status=RunStatus.DAMAGED)
            known = self._known[path] = _Known(now, run, config, show, figures)
        return known


def _differences(runs: list[_Known]) -> list[Difference]:
    """Return the settings in which runs of one domain differ, with a value for each run; others have none.

    A damaged run is left out: what can be read of its settings may not be what it ran with.
    """
    places: dict[str, list[int]] = {}
    for place, known in enumerate(runs):
        if known.run.status is not RunStatus.DAMAGED:
            places.setdefault(_domain(known.config), []).append(place)
    values: dict[str, list[str]] = {}
    for of_domain in places.values():
        for one in differing([settings_in_words(runs[place].config) for place in of_domain]):
            row = values.setdefault(one.key, [""] * len(runs))
            for place, value in zip(of_domain, one.values, strict=True):
                row[place] = value
    return [Difference(key=key, values=values[key]) for key in sorted(values)]


def _domain(config: dict[str, Any]) -> str:
    simulation = config.get("simulation")
    return str(simulation.get("domain", "")) if isinstance(simulation, dict) else ""


def _settings(path: Path) -> dict[str, Any]:
    try:
        return header_in(path).config
    except (ActorError, OSError):
        return {}


def _show(path: Path) -> Show:
    try:
        return show_of(read_resolved(path / CONFIG))
    except (PrismError, OSError):
        return Show(Config())


def figures_of(path: Path, show: Show) -> list[Figure]:
    """Return the few main figures of a run at its end, or so far; none if its `rounds.csv` cannot be read."""
    try:
        rounds = read_rounds(path)
    except ActorError:
        return []
    if not rounds.get("round"):
        return []
    figures = []
    for name in numbers_of(show, rounds)[:FIGURES_MAX]:
        each = show.named(name)
        figures.append(Figure(name=each.name, value=rounds[name][-1], unit="" if each.is_total else each.unit or " "))
    largest = read_summary(path).get("largest_cascade")
    if isinstance(largest, dict) and isinstance(size := largest.get("size"), int) and abs(size) < 1 << 53:
        figures.append(Figure(name=str(show.named("largest_cascade.size")), value=size))
    return figures


def _line(name: str, known: _Known, labels: Mapping[str, str]) -> RunLine:
    run, config = known.run, known.config
    phase, is_running = run.phase, run.holder is not None
    state = ("starting" if phase is None else phase.phase.value) if is_running else run.status.value
    since = "" if phase is None else f"for {duration(max(0.0, time.time() - phase.since))}"
    reason = (phase.reason if phase is not None else "") or run.stopped_by
    parent = "" if run.parent is None else f"fork of {run.parent}"
    note = "; ".join(filter(None, [since, reason, parent]))
    return RunLine(
        name=name,
        label=labels.get(name, name),
        state=state,
        is_running=is_running,
        ticks=run.ticks,
        length=run.length,
        agents=run.agents,
        nouns=known.show.agents,
        digest=run.digest,
        note=shown(note),
        remarks=tuple(map(shown, run.remarks)),
        domain=_domain(config),
        figures=known.figures,
    )
