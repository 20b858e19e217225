"""How a run developed: `rounds.csv`, a row for each round."""

from __future__ import annotations

from actors.disk import Disk, put_whole
from actors.simulation import Simulation
from actors.store import RunStore

ROUNDS = "rounds.csv"


class RoundSeries:
    """Appends a row to a CSV file after each round. Every number but `round` and `tick` counts from the start.

    The columns are the same for every row: activations, transitions, questions, transitions by what settled them, and
    the whole numbers among the world's totals, such as posts and likes.

    Args:
        store: where the rows go, a header first in a new file.
        simulation: whose rounds they are.
    """

    def __init__(self, store: RunStore, simulation: Simulation, *, is_new: bool) -> None:
        self._simulation = simulation
        self._ticks_per_round = simulation.config.simulation.ticks_per_round
        self._store = store
        if is_new:
            self._store.line(ROUNDS, ",".join(self._row()))

    def after_tick(self, tick: int) -> None:
        """Add a row if `tick` ticks are whole rounds."""
        if tick % self._ticks_per_round == 0:
            self._store.line(ROUNDS, ",".join(map(str, self._row().values())))

    def _row(self) -> dict[str, int]:
        simulation, tally = self._simulation, self._simulation.tally
        totals = simulation.domain.world.totals()
        return {
            "round": simulation.engine.tick // self._ticks_per_round,
            "tick": simulation.engine.tick,
            "activations": tally.activations,
            "transitions": tally.transitions,
            "questions": tally.questions,
            **tally.decisions_by_source(),
            **{name: value for name, value in totals.items() if isinstance(value, int)},
        }


def cut_series(disk: Disk, tick: int) -> bool:
    """Leave out the rows of later ticks, and what a crash has torn: they come again. Whether a header is left."""
    if ROUNDS not in disk.names():
        return False
    data = disk.read(ROUNDS, 0, disk.size(ROUNDS))
    whole = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
    column = whole[0].decode(errors="replace").strip().split(",").index("tick") if whole else 0
    kept = [row for row in whole[1:] if _tick(row, column) <= tick]
    put_whole(disk, ROUNDS, [*whole[:1], *kept])
    return bool(whole)


def _tick(row: bytes, column: int) -> float:
    """The tick of a row; one that cannot be read is later than any."""
    cells = row.decode(errors="replace").strip().split(",")
    return int(cells[column]) if len(cells) > column and cells[column].isdigit() else float("inf")
