"""Counts of committed updates: one dictionary entry for each kind of update. Other counts are derived when read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from actors.core.state import CountersState
from prism.agents import MOVED, Source
from prism.agents.waves import Kind
from prism.domain import Domain
from prism.statechart import Statechart

_MOVING = tuple(each.value for each in (Source.RULE, Source.ORACLE, Source.LLM, Source.FALLBACK, Source.TIMEOUT))
_UNMOVING = tuple(each.value for each in (Source.NO_ROW, Source.CRASH, Source.QUARANTINE))


def round_of(counters: Counters, domain: Domain, ticks: int, ticks_per_round: int) -> dict[str, int | float]:
    """Return the numbers of a round that has just ended: the same columns for every row, with counts of the whole run.

    They end with the numbers among the world's totals, such as posts, or an interest rate.
    """
    return {
        "round": ticks // ticks_per_round,
        "tick": ticks,
        "activations": counters.activations,
        "transitions": counters.transitions,
        "questions": counters.questions,
        **counters.decisions_by_source(),
        **{
            name: int(value) if isinstance(value, int) else float(value)
            for name, value in domain.world.totals().items()
            if isinstance(value, int | float)
        },
    }


class Counters:
    """The counts of a run so far. States are listed in the order in which their enum declares them."""

    def __init__(self, chart: Statechart[Any], size: int) -> None:
        self._states = [state.value for state in type(chart.initial) if state in chart.states]
        self._initial = str(chart.initial.value)
        self._size = size
        self.rows: Counter[tuple[str, str, str, str]] = Counter()
        """`{(from_state, to_state, trigger, source): updates}`."""
        self.activations = 0
        """Triggers sent. A trigger with a decision in it is the second half of one, and does not count."""
        self.questions = 0
        """Turns that asked the oracle."""
        self.activations_recorded = 0
        """Those of ticks that earlier processes committed."""

    def add(self, kinds: Sequence[Kind], counts: Sequence[int]) -> None:
        """Count so many updates of each kind; counts beyond the kinds are 0."""
        for kind, count in zip(kinds, counts, strict=False):
            if count:
                self.rows[kind.from_state, kind.to_state, kind.trigger, kind.source] += count

    def state(self) -> CountersState:
        return CountersState(
            rows=tuple(sorted(self.rows.items())), activations=self.activations, questions=self.questions
        )

    def restore(self, state: CountersState) -> None:
        self.rows = Counter(dict(state.rows))
        self.activations, self.questions = state.activations, state.questions
        self.activations_recorded = state.activations

    @property
    def transitions(self) -> int:
        return sum(count for (*_, source), count in self.rows.items() if source in MOVED)

    def agents_by_state(self) -> dict[str, int]:
        """Return `{state: agents in it now}`: those that began in it, plus those that came, minus those that left."""
        counts = dict.fromkeys(self._states, 0)
        counts[self._initial] = self._size
        for (before, after, _, _), count in self.rows.items():
            counts[before] -= count
            counts[after] += count
        return counts

    def states_visited(self) -> list[str]:
        """Return the states that any agent has been in, in the chart's order."""
        entered = {after for _, after, _, _ in self.rows} | {self._initial}
        return [state for state in self._states if state in entered]

    def transitions_by_trigger(self) -> dict[str, int]:
        """Return `{trigger: transitions that it caused}`, ascending by name."""
        return dict(sorted(self._by(2, {}, moved=True).items()))

    def decisions_by_source(self) -> dict[str, int]:
        """Return transitions by what decided them: rules, the embedded oracle, a model, a fallback or a timeout."""
        return self._by(3, dict.fromkeys(_MOVING, 0), moved=True)

    def unmoved_by_source(self) -> dict[str, int]:
        """Return turns without a transition, by the reason: no row, a crash, or a quarantine."""
        return self._by(3, dict.fromkeys(_UNMOVING, 0), moved=False)

    def _by(self, place: int, counts: dict[str, int], *, moved: bool) -> dict[str, int]:
        for row, count in self.rows.items():
            if (row[3] in MOVED) == moved:
                counts[row[place]] = counts.get(row[place], 0) + count
        return counts
