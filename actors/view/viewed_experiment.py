"""An experiment as the page shows it: the states of its cells, and the charts of its report so far."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from actors.studies.experiments.outcome import OUTCOME
from actors.studies.experiments.record import CellState, cell_state, current_plan, read_experiment_record
from actors.view.run_list import shown
from actors.view.viewed_causes import Redrawn, problem_of_drawing

CELLS_SHOWN = 2000
"""The most cells that are listed."""
SECTIONS = ("statistics", "comparisons", "means", "predictions", "effects", "courses", "thresholds")
"""The sections of the report that are shown here, too."""


class ShownCell(NamedTuple):
    """A cell: its seed, the name of its run, and its state."""

    seed: int
    key: str
    state: str


class ShownCondition(msgspec.Struct, frozen=True, kw_only=True):
    """A condition with its cells."""

    name: str
    cells: list[ShownCell]


class ExperimentPage(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers at the head of an experiment's page."""

    question: str
    plan: str
    is_planned_first: bool  # whether the plan came before the first result
    counts: dict[str, int]  # `{state: cells}`
    conditions: list[ShownCondition]
    left_out: int  # cells that are not listed, because there are so many
    version: str  # changes when there is more to draw


class ViewedExperiment:
    """An experiment. Cells that are done are not looked at again, and charts are drawn when a cell has ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._done = dict[str, CellState]()
        self._drawn = Redrawn[list[Any]]()

    def now(self) -> ExperimentPage:
        plan = current_plan(self.path)
        counts = dict.fromkeys(CellState, 0)
        conditions: dict[str, list[ShownCell]] = {each.name: [] for each in plan.experiment.conditions}
        for place, cell in enumerate(plan.cells):
            state = self._done.get(cell.key) or cell_state(self.path, cell.key)
            if state is CellState.DONE:
                self._done[cell.key] = state
            counts[state] += 1
            if place < CELLS_SHOWN:
                conditions.setdefault(cell.condition, []).append(ShownCell(cell.seed, cell.key, state.value))
        return ExperimentPage(
            question=shown(plan.experiment.question),
            plan=plan.hash[:16],
            is_planned_first=not plan.cells_done,
            counts={state.value: count for state, count in counts.items()},
            conditions=[ShownCondition(name=shown(name), cells=cells) for name, cells in conditions.items() if cells],
            left_out=max(0, len(plan.cells) - CELLS_SHOWN),
            version=f"{plan.hash[:16]}-{counts[CellState.DONE]}-{_mark(self.path / OUTCOME)}",
        )

    def charts(self) -> list[Any]:
        """Return the sections of the report as trees of elements."""
        return self._drawn.get(self.now().version, self._sections)

    def _sections(self) -> list[Any]:
        if (problem := problem_of_drawing("the charts of an experiment")) is not None:
            return [problem]
        from actors.pages.experiment_report import experiment_sections, lead, remarks_of  # noqa: PLC0415
        from actors.pages.html import tag  # noqa: PLC0415
        from actors.pages.page_frame import drawn  # noqa: PLC0415  # altair is an optional package

        record = read_experiment_record(self.path)
        sections = [drawn(section) for section in experiment_sections(record) if section.name in SECTIONS]
        return [tag("div", lead(record), *remarks_of(record), class_="answers"), *sections]


def _mark(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
