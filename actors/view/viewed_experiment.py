"""An experiment as the page shows it: the states of its cells, and the sections of its report so far."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from actors.pages.html import Element, Node, tag
from actors.pages.words import count, plural
from actors.studies.experiments.outcome import OUTCOME
from actors.studies.experiments.record import CellState, cell_state, current_plan, read_experiment_record
from actors.view.drawn import Redrawn, problem_of_drawing, written
from actors.view.run_list import shown

CELLS_SHOWN = 2000
"""The most cells that are listed."""
MARKS = {CellState.DONE: "✓", CellState.RUNNING: "▶", CellState.INTERRUPTED: "■", CellState.WAITING: "·"}


class ShownCell(NamedTuple):
    """A cell: its seed, the name of its run, and its state."""

    seed: int
    key: str
    state: CellState


class ExperimentPage(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers at the head of an experiment's page."""

    question: str
    plan: str
    is_planned_first: bool  # whether the plan came before the first result
    counts: dict[CellState, int]
    conditions: dict[str, list[ShownCell]]
    left_out: int  # cells that are not listed, because there are so many
    version: str  # changes when there is more to draw


class ViewedExperiment:
    """An experiment. Cells that are done are not looked at again, and sections are drawn when a cell has ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._done = dict[str, CellState]()
        self._drawn = Redrawn()

    def now(self) -> ExperimentPage:
        plan = current_plan(self.path)
        counts = dict.fromkeys(CellState, 0)
        conditions: dict[str, list[ShownCell]] = {shown(each.name): [] for each in plan.experiment.conditions}
        for place, cell in enumerate(plan.cells):
            state = self._done.get(cell.key) or cell_state(self.path, cell.key)
            if state is CellState.DONE:
                self._done[cell.key] = state
            counts[state] += 1
            if place < CELLS_SHOWN:
                conditions.setdefault(shown(cell.condition), []).append(ShownCell(cell.seed, cell.key, state))
        return ExperimentPage(
            question=shown(plan.experiment.question),
            plan=plan.hash[:16],
            is_planned_first=not plan.cells_done,
            counts=counts,
            conditions={name: cells for name, cells in conditions.items() if cells},
            left_out=max(0, len(plan.cells) - CELLS_SHOWN),
            version=f"{plan.hash[:16]}-{counts[CellState.DONE]}-{_mark(self.path / OUTCOME)}",
        )

    def cells_part(self) -> list[Node]:
        """Return the cells by condition and seed, each with its state and a link to its run."""
        page = self.now()
        told = ", ".join(f"{count(number)} {state}" for state, number in page.counts.items() if number)
        planned = "before the first result" if page.is_planned_first else "when there were results already"
        rows = [
            tag("tr", tag("th", name, scope="row"), tag("td", *(_cell(name, cell) for cell in cells)))
            for name, cells in page.conditions.items()
        ]
        left = f" {plural(page.left_out, 'cell')} more are not listed." if page.left_out else ""
        table = tag("table", tag("tbody", *rows), class_="cells")
        return [
            tag("p", f"Cells: {told}. Plan {page.plan}, made {planned}.{left}", class_="quiet"),
            tag("div", table, class_="scroller", tabindex=0, role="region", aria_label="Cells"),
        ]

    def sections_part(self) -> str:
        """Return the answers and the sections of the report."""
        return self._drawn.get(self.path, self.now().version, self._sections)

    def _sections(self) -> str:
        if (problem := problem_of_drawing("the charts of an experiment")) is not None:
            return written([problem])
        from actors.pages.experiment_report import experiment_sections, lead, remarks_of  # noqa: PLC0415
        from actors.pages.page_frame import drawn  # noqa: PLC0415  # altair is an optional package

        record = read_experiment_record(self.path)
        return written([lead(record), *remarks_of(record), *map(drawn, experiment_sections(record))])


def _cell(condition: str, cell: ShownCell) -> Element:
    words = f"seed {cell.seed}: {cell.state}"
    looks = {"class_": f"cell cell-{cell.state}", "title": words}
    if cell.state is CellState.WAITING:
        return tag("span", MARKS[cell.state], role="img", aria_label=words, **looks)
    label = f"{condition}, {words}"
    return tag("a", MARKS[cell.state], href=f"#/run/{cell.key}", id=f"cell-{cell.key}", aria_label=label, **looks)


def _mark(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
