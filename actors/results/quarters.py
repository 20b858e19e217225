"""The quarters of an economy as tables: the reasoning behind each step, and the indicators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from actors.record.run import Recorded, RecordedTick
from actors.results.rows import Tables
from actors.results.schema import Value
from prism.agents import Update
from prism.economy.nation import Applied, PolicyStep, Proposed, Reviewed


class _Proposal(msgspec.Struct):
    """A nation's proposal in a quarter, and its outcome."""

    action: str
    outcome: str = "proposed"
    rate: float | None = None


class Quarters:
    """The rows of `chains` and `indicators`."""

    def __init__(self, run: Recorded, tables: Tables) -> None:
        self._run = run
        self._names = run.config.economy.nations
        self._chains = tables.if_wanted("chains")
        self._indicators = tables.if_wanted("indicators")

    def take(self, tick: RecordedTick) -> None:
        """Add the rows of a quarter."""
        proposals: dict[int, _Proposal] = {}
        for update in tick.moved:
            if update.effect is None:
                continue
            step = msgspec.convert(update.effect, PolicyStep)
            _follow(proposals, update, step)
            if self._chains is not None:
                action = proposals[update.agent].action if update.agent in proposals else None
                self._chains.add(*self._start(tick, update.agent), *_chain(update, step, action))
        if self._indicators is not None:
            for agent, name in enumerate(self._names):
                found = proposals.get(agent)
                told = (None,) * 3 if found is None else (found.outcome, found.action, found.rate)
                self._indicators.add(self._run.name, tick.tick + 1, tick.tick, tick.time, agent, name, *told)

    def finish(self, rounds: Mapping[str, list[float]]) -> None:
        """Add the rows of the whole economy.

        Args:
            rounds: the columns of rounds.csv.
        """
        if self._indicators is None:
            return
        columns = ("interest_rate", "inflation", "gdp_growth", "unemployment", "total_economic_value")
        for place, ticks in enumerate(rounds.get("tick", ())):
            last = int(ticks) - 1
            values = (float(rounds[name][place]) if name in rounds else None for name in columns)
            moment = self._run.time_at(last)
            self._indicators.add(self._run.name, last + 1, last, moment, None, None, None, None, *values)

    def _start(self, tick: RecordedTick, agent: int) -> tuple[Value, ...]:
        return (self._run.name, tick.tick, tick.time, agent, self._names[agent])


def _follow(proposals: dict[int, _Proposal], update: Update[Any], step: PolicyStep) -> None:
    """Note what a step makes of the nation's proposal."""
    match step:
        case Proposed():
            proposals[update.agent] = _Proposal(action=step.decision.action)
        case Reviewed() if update.agent in proposals:
            proposals[update.agent].outcome = update.to_state
        case Applied() if update.agent in proposals:
            proposals[update.agent].outcome = update.to_state
            rate = step.decision.new_interest_rate if step.indicators is None else step.indicators.interest_rate
            proposals[update.agent].rate = rate


def _chain(update: Update[Any], step: PolicyStep, action: str | None) -> Iterator[Value]:
    """Yield the columns of a chain behind the nation's name."""
    chain = step.chain
    yield chain.component
    yield update.trigger
    yield chain.chain_id
    yield action
    yield step.decision.is_valid if isinstance(step, Reviewed) else None
    yield step.decision.new_interest_rate if isinstance(step, Applied) else None
    yield chain.reasoning
    yield chain.confidence
    yield chain.model or None
    yield chain.prompt or None
    yield chain.response
