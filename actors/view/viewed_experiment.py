"""An experiment as the page shows it: the states of its cells."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from actors.pages.html import Element, Node, tag
from actors.pages.words import count
from actors.studies.experiments.outcome import OUTCOME
from actors.studies.experiments.plan import PlanFile
from actors.studies.experiments.record import CellLine, CellState, cell_state, current_plan
from actors.view.run_list import shown
from prism.wording import counted

CELLS_SHOWN = 2000
"""The most cells that are listed."""
MARKS = {CellState.DONE: "✓", CellState.RUNNING: "▶", CellState.INTERRUPTED: "■", CellState.WAITING: "·"}


def cells_of(path: Path) -> tuple[PlanFile, list[CellLine]]:
    """Return the plan of an experiment, and every cell of it with its state."""
    plan = current_plan(path)
    return plan, [CellLine(each.condition, each.seed, each.key, cell_state(path, each.key)) for each in plan.cells]


def version_of(path: Path) -> str:
    """Return a text that changes when there is more to draw."""
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
        return tag("span", MARKS[cell.state], role="img", aria_label=words, **looks)
    label = f"{condition}, {words}"
    return tag("a", MARKS[cell.state], href=f"#/run/{cell.key}", id=f"cell-{cell.key}", aria_label=label, **looks)
