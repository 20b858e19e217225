"""An experiment as the page shows it: the states of its cells, and the sections of its report so far."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from actors.pages.html import Element, Node, tag
from actors.pages.words import count, plural
from actors.studies.experiments.outcome import OUTCOME
from actors.studies.experiments.plan import PlanFile
from actors.studies.experiments.record import CellLine, CellState, cell_state, current_plan, read_experiment_record
from actors.view.drawn import Redrawn, problem_of_drawing, written
from actors.view.run_list import shown

CELLS_SHOWN = 2000
"""The most cells that are listed."""
MARKS = {CellState.DONE: "✓", CellState.RUNNING: "▶", CellState.INTERRUPTED: "■", CellState.WAITING: "·"}


class ViewedExperiment:
    """An experiment. Cells that are done are not looked at again, and sections are drawn when a cell has ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._done = dict[str, CellState]()
        self._drawn = Redrawn()

    def now(self) -> tuple[PlanFile, list[CellLine]]:
        """Return the plan, and every cell of it with its state."""
        plan, cells = current_plan(self.path), list[CellLine]()
        for each in plan.cells:
            state = self._done.get(each.key) or cell_state(self.path, each.key)
            if state is CellState.DONE:
                self._done[each.key] = state
            cells.append(CellLine(each.condition, each.seed, each.key, state))
        return plan, cells

    @property
    def version(self) -> str:
        """A text that changes when there is more to draw."""
        plan, cells = self.now()
        outcome = self.path / OUTCOME
        mark = outcome.stat().st_mtime_ns if outcome.exists() else 0
        return f"{plan.hash[:16]}-{sum(cell.state is CellState.DONE for cell in cells)}-{mark}"

    def cells_part(self) -> list[Node]:
        """Return the cells by condition and seed, each with its state and a link to its run."""
        plan, cells = self.now()
        counts, conditions = Counter(cell.state for cell in cells), dict[str, list[CellLine]]()
        for cell in cells[:CELLS_SHOWN]:
            conditions.setdefault(shown(cell.condition), []).append(cell)
        told = ", ".join(f"{count(counts[state])} {state}" for state in CellState if counts[state])
        planned = "when there were results already" if plan.cells_done else "before the first result"
        left = max(0, len(cells) - CELLS_SHOWN)
        more = f" {plural(left, 'cell')} more are not listed." if left else ""
        rows = (
            tag("tr", tag("th", name, scope="row"), tag("td", *(_cell(name, cell) for cell in of)))
            for name, of in conditions.items()
        )
        table = tag("table", tag("tbody", *rows), class_="cells")
        return [
            tag("p", f"Cells: {told}. Plan {plan.hash[:16]}, made {planned}.{more}", class_="quiet"),
            tag("div", table, class_="scroller", tabindex=0, role="region", aria_label="Cells"),
        ]

    def sections_part(self) -> str:
        """Return the answers and the sections of the report."""
        return self._drawn.get(self.path, self.version, self._sections)

    def _sections(self) -> str:
        if (problem := problem_of_drawing("the charts of an experiment")) is not None:
            return written([problem])
        from actors.pages.experiment_report import experiment_sections, lead, remarks_of  # noqa: PLC0415
        from actors.pages.page_frame import drawn  # noqa: PLC0415  # altair is an optional package

        record = read_experiment_record(self.path)
        sections = [drawn(each) for each in experiment_sections(record) if each is not None]
        return written([lead(record), *remarks_of(record), *sections])


def _cell(condition: str, cell: CellLine) -> Element:
    words = f"seed {cell.seed}: {cell.state}"
    looks = {"class_": f"cell cell-{cell.state}", "title": words}
    if cell.state is CellState.WAITING:
        return tag("span", MARKS[cell.state], role="img", aria_label=words, **looks)
    label = f"{condition}, {words}"
    return tag("a", MARKS[cell.state], href=f"#/run/{cell.key}", id=f"cell-{cell.key}", aria_label=label, **looks)
