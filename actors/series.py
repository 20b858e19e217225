"""How a run developed: `rounds.csv`, a row for each round."""

from __future__ import annotations

from actors.lines import LineFile
from actors.simulation import Simulation


class RoundSeries:
    """Appends a row to a CSV file after each round. Every number but `round` and `tick` counts from the start.

    The columns are the same for every row: activations, transitions, questions, transitions by what settled them, and
    the whole numbers among the world's totals, such as posts and likes.

    Args:
        file: where the rows go, a header first.
        simulation: whose rounds they are.
    """

    def __init__(self, file: LineFile, simulation: Simulation) -> None:
        self._simulation = simulation
        self._ticks_per_round = simulation.config.simulation.ticks_per_round
        self._file = file
        self._file.put(",".join(self._row()))

    def after_tick(self, tick: int) -> None:
        """Add a row if `tick` ticks are whole rounds."""
        if tick % self._ticks_per_round == 0:
            self._file.put(",".join(map(str, self._row().values())))

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
