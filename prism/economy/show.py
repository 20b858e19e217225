"""Tables, names and panels of an economy: its nations, its indicators, and the reasoning behind each step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Any, Final

import msgspec

from prism.agents.turn import Update
from prism.answers import INDICATORS, named
from prism.clock import SimulatedClock
from prism.economy.components import clock_of
from prism.economy.council import Council, council_of
from prism.economy.moments import real_columns
from prism.economy.nation import Applied, PolicyStep, Proposed, Reviewed
from prism.economy.series_file import parse_series
from prism.quarter import Quarter
from prism.show import Message, Number, Row, Show, Tick
from prism.tables import AGENT, AT, BOOLEAN, INTEGER, NAME, NUMBER, RUN, TEXT, TICK, Table, Value, column

CHAINS: Final = Table(
    name="chains",
    about="the reasoning behind a step of a nation's proposal",
    columns=(
        RUN,
        TICK,
        AT,
        AGENT,
        column("nation", TEXT, "name of the nation"),
        column("component", NAME, "who reasoned: agent, validator or engine"),
        column("trigger", NAME, "step of the quarter: turn_begins, review or apply"),
        column("chain", TEXT, "id of the chain, as the log has it"),
        column("action", TEXT, "action proposed, judged or applied"),
        column("is_valid", BOOLEAN, "what the validator found"),
        column("new_interest_rate", NUMBER, "rate that the engine set", "percent a year"),
        column("reasoning", TEXT, "reasoning in words"),
        column("confidence", NUMBER, "confidence of the component, 0 to 1"),
        column("model", TEXT, "model that answered"),
        column("prompt", TEXT, "question; empty for the embedded oracle"),
        column("response", TEXT, "answer, unchanged"),
    ),
)
QUARTERS: Final = Table(
    name="indicators",
    about="a quarter: of each nation, and, after these rows, of the whole economy at the end of each round",
    columns=(
        RUN,
        column("quarter", INTEGER, "the quarter, from 1 on"),
        TICK,
        AT,
        column("agent", INTEGER, "the nation; empty for the whole economy", key="agents.agent"),
        column("nation", TEXT, "its name"),
        column("outcome", NAME, "of the proposal: applied, accepted, rejected or proposed"),
        column("action", TEXT, "what the nation proposed"),
        column("interest_rate", NUMBER, "after the nation's action; for the economy at the end", "percent a year"),
        column("inflation", NUMBER, "at the end of the quarter", "percent a year"),
        column("gdp_growth", NUMBER, "growth of output, at the end of the quarter", "percent a year"),
        column("unemployment", NUMBER, "at the end of the quarter", "percent of the labour force"),
        column("total_economic_value", NUMBER, "at the end of the quarter", "as configured"),
    ),
)


class _Proposal(msgspec.Struct):
    """A nation's proposal in a quarter, and its outcome."""

    action: str
    outcome: str = "proposed"
    rate: float | None = None


class Quarters:
    """The rows of `chains` and `indicators`."""

    def __init__(self, names: Sequence[str], clock: SimulatedClock) -> None:
        self._names = names
        self._clock = clock

    def take(self, tick: Tick) -> Iterator[Row]:
        proposals: dict[int, _Proposal] = {}
        for update in tick.moved:
            if update.effect is None:
                continue
            step = msgspec.convert(update.effect, PolicyStep)
            match step:
                case Proposed():
                    proposals[update.agent] = _Proposal(action=step.decision.action)
                case Reviewed() if update.agent in proposals:
                    proposals[update.agent].outcome = update.to_state
                case Applied() if update.agent in proposals:
                    proposals[update.agent].outcome = update.to_state
                    rate = step.decision.new_interest_rate if step.indicators is None else step.indicators.interest_rate
                    proposals[update.agent].rate = rate
            action = proposals[update.agent].action if update.agent in proposals else None
            start = (tick.tick, tick.time, update.agent, self._names[update.agent])
            yield CHAINS.name, (*start, *_chain(update, step, action))
        for agent, name in enumerate(self._names):
            found = proposals.get(agent)
            told = (None,) * 3 if found is None else (found.outcome, found.action, found.rate)
            yield QUARTERS.name, (tick.tick + 1, tick.tick, tick.time, agent, name, *told)

    def finish(self, ticks: int, rounds: Mapping[str, Sequence[float]]) -> Iterator[Row]:  # noqa: ARG002
        for place, end in enumerate(rounds.get("tick", ())):
            last = int(end) - 1
            values = (float(rounds[name][place]) if name in rounds else None for name in INDICATORS)
            moment = self._clock.microseconds_at(last)
            yield QUARTERS.name, (last + 1, last, moment, None, None, None, None, *values)


class EconomyShow(Show):
    """The tables, names and panels of an economy."""

    agent = "nation"
    agents = "nations"
    round = "quarter"
    title = "Indicators"
    pictures = ("quarters",)  # at the end of a quarter all nations are in the same state
    numbers = tuple(Number(column=name, name=each.name, unit=each.unit) for name, each in INDICATORS.items())
    compared = ("rounds.mean.inflation", "rounds.mean.unemployment")
    tables = (CHAINS, QUARTERS)
    agent_columns = (column("economic_strength", NUMBER, "strength of a nation"),)

    def named(self, column: str) -> Number:
        """Return what people call a column, also a count of proposals."""
        found = named(column, INDICATORS)
        target = self.config.economy.taylor.inflation_target if column == "inflation" else None
        return Number(column=column, name=found.name, unit=found.unit, target=target)

    def round_names(self, ticks: Sequence[int]) -> Sequence[str]:
        """Return the quarters after the real one from which the economy starts, or else those of simulated dates."""
        start = self.config.economy.initial.quarter
        if start is not None:
            following = accumulate(ticks, lambda quarter, _: quarter.following, initial=Quarter.parse(start))
            return [str(quarter) for quarter in islice(following, 1, None)]
        try:
            dates = map(clock_of(self.config).at, ticks)
            return [str(Quarter(date.year, (date.month + 2) // 3)) for date in dates]
        except OverflowError:  # later than the last year that a date can have
            return []

    @property
    def history_file(self) -> str | None:
        """The file of figures that the economy starts from."""
        return self.config.economy.initial.path

    def history(self, data: bytes, name: str) -> dict[str, dict[str, float]]:
        """Return the indicators of real quarters."""
        figures = parse_series(data, name).quarters
        quarters = [str(each.quarter) for each in figures]
        columns = real_columns(figures)
        return {
            key: dict(zip(quarters[len(quarters) - len(column) :], column, strict=True))
            for key, column in columns.items()
        }

    def name(self, agent: int) -> str:
        return self.config.economy.nations[agent]

    def gatherer(self) -> Quarters:
        """Return a gatherer of the rows of `chains` and `indicators`."""
        return Quarters(self.config.economy.nations, clock_of(self.config))

    def agent_values(self, domain: Any) -> dict[str, Sequence[Value]]:  # noqa: ARG002
        return {"economic_strength": self.config.economy.strengths}

    def panel(self, agent: int, messages: Sequence[Message]) -> dict[str, Any]:  # noqa: ARG002
        """Return what is shown of a nation beside its state."""
        return {"economic strength (units of account)": self.config.economy.strengths[agent]}

    def council(self, tick: int, messages: Sequence[Message]) -> Council:
        return council_of(messages, self.config.economy, tick)

    def effect_name(self, effect: Any) -> str | None:
        """Return the step of a nation's proposal."""
        return str(effect["type"])


SHOW = EconomyShow


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
