"""The world of an economy: one quarter a tick, in which nations propose, are judged, and move the common interest rate.

    turn_begins   every nation, all at once: it sees the state that the last quarter left
    review        every nation that has proposed, all at once
    apply         one nation after the other, in their order: each sees the rate that the one before it left
    and then      a shock may move the rate, the other indicators respond (`prism.economy.macro`), and the turn is over

All of it is one tick, so it is committed as a whole or not at all. A proposal that was not accepted, because of the
validator or of a crash, is skipped in its turn and changes nothing.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from prism.agents.turn import MOVED, Question, Source, Trigger, Update
from prism.checked import field_types
from prism.columns import Column, Columns, pack, pack_items
from prism.config import Config
from prism.config.interventions import InterventionConfig, numbered_nation, with_settings
from prism.config.model import InitialConfig
from prism.domain import Measure, World
from prism.economy.macro import Lags, draw_shocks, rate_with_shock, step
from prism.economy.nation import Applied, PolicyState, PolicyStep, Proposed, Reviewed, Situation
from prism.errors import ConfigError
from prism.models import Action, GlobalState, LLMReasoningChain, NationState, SimulationState

_log = logging.getLogger(__name__)

INDICATORS: Final = {
    "interest_rate": ("prism_economy_interest_rate", "Interest rate, percent a year."),
    "inflation": ("prism_economy_inflation", "Inflation, percent a year."),
    "gdp_growth": ("prism_economy_gdp_growth", "Growth of output, percent a year."),
    "unemployment": ("prism_economy_unemployment", "Unemployment, percent of the labour force."),
    "total_economic_value": ("prism_economy_total_value", "Total economic value, in the unit of the configuration."),
}
"""`{indicator: (its metric, the metric's help text)}`."""
COUNTS: Final = ("proposed", "accepted", "rejected", "applied")
"""The results of proposals. A nation that crashed before it was accepted counts as rejected."""


class EconomyWorld(World):
    """The state of the economy, and that of each nation's proposal; lists are indexed by the nation's number.

    `lags` are the past of the first quarter; None for an economy that was constant at `start` for a year.
    """

    def __init__(self, config: Config, start: GlobalState, lags: Lags | None = None) -> None:
        self.config = config
        self.draws = config.simulation.seed  # the seed of the shocks
        self.names = config.economy.nations
        nations = {
            name: NationState(name=name, economic_strength=strength)
            for name, strength in zip(self.names, config.economy.strengths, strict=True)
        }
        # the state after the last applied action; its chains are those of the latest whole turn
        self.state = SimulationState(turn=0, agents=nations, global_state=start)
        # the past that the next quarter looks back on; no nation sees it
        self.lags = Lags.beginning(start, config.economy.macro) if lags is None else lags
        self.stages: list[PolicyState] = [PolicyState.OBSERVING] * len(self.names)
        self.entered: list[int] = [0] * len(self.names)
        self.actions: dict[int, Action] = {}  # the proposals of this quarter, by nation
        self.quarantined: dict[int, None] = {}
        self.silenced: dict[int, int | None] = {}  # `{nation: the tick at which it takes part again, or None}`
        self.interventions: list[InterventionConfig] = []  # those so far
        self.counts: Counter[str] = Counter()
        self.path = RatePath.beginning(start.interest_rate)
        self._latest: Action | None = None  # applied latest, for a person who looks at the run; no checkpoint has it
        self._chains: list[LLMReasoningChain] = []
        self._waiting: list[int] = []  # the nations whose proposal is not yet applied or skipped, last first
        self._is_reviewed = self._is_over = True

    def triggers(self, tick: int) -> list[Trigger[Situation]]:
        """Return the beginning of the quarter for every nation."""
        self.actions, self._chains = {}, []
        if self.silenced:
            self.silenced = {nation: until for nation, until in self.silenced.items() if until is None or until > tick}
        self._waiting = [nation for nation in range(len(self.names)) if nation not in self.silenced][::-1]
        self._is_reviewed = self._is_over = False
        taking_part = [nation for nation in reversed(self._waiting) if nation not in self.quarantined]
        return [Trigger(tick, nation, "turn_begins", self._situation()) for nation in taking_part]

    def reactions(self, tick: int) -> list[Trigger[Situation]]:
        """Return the reviews, then one application after the other; the last of them ends the turn."""
        if not self._is_reviewed:
            self._is_reviewed = True
            if self.actions:
                return [Trigger(tick, nation, "review", self._situation(nation)) for nation in self.actions]
        while self._waiting:
            nation = self._waiting.pop()
            # A nation's proposal of this quarter is applied only if it was validated and accepted.
            action = self.actions.get(nation)
            if action is not None and action.validated and self.stages[nation] is PolicyState.ACCEPTED:
                return [Trigger(tick, nation, "apply", self._situation(nation))]
            self.counts["rejected"] += 1
            _log.info("SKIPPED Agent [%s] due to unvalidated Action", self.names[nation])
        if not self._is_over:
            # End the turn: the other indicators respond to the rate that the nations have set.
            economy, now = self.config.economy, self.state.global_state
            shocks = draw_shocks(economy.macro, self.draws, tick)
            rate = rate_with_shock(now.interest_rate, shocks.rate, economy.taylor.rate_floor)
            self.path.add(rate)
            after, self.lags = step(replace(now, interest_rate=rate), self.lags, economy.macro, shocks)
            self.state = replace(
                self.state, turn=self.state.turn + 1, global_state=after, reasoning_chains=tuple(self._chains)
            )
            self.actions, self._chains, self._is_over = {}, [], True
        return []

    def apply(self, update: Update[PolicyStep]) -> None:
        """Commit one nation's turn, and carry out its step."""
        if update.source == Source.QUARANTINE:
            self.quarantined[update.agent] = None
        if update.source not in MOVED:
            return
        self.stages[update.agent] = PolicyState(update.to_state)
        self.entered[update.agent] = update.tick
        outcome = update.effect
        if outcome is None:
            if update.trigger == "turn_begins":
                self._waiting.remove(update.agent)
            return
        self._chains.append(outcome.chain)
        match outcome:
            case Proposed(decision=policy, chain=chain):
                self.counts["proposed"] += 1
                self.actions[update.agent] = Action.proposed(self.names[update.agent], policy, chain)
            case Reviewed(decision=verdict):
                self.counts["accepted"] += update.to_state == PolicyState.ACCEPTED
                self.actions[update.agent] = self.actions[update.agent].marked(verdict)
            case Applied():
                self.counts["applied"] += 1
                self._latest = self.actions[update.agent]
                self.state = outcome.applied_to(self.state)

    def deliberates(self, question: Question[Situation]) -> None:
        """Do nothing: the answer comes in the same tick, so nothing can happen to the nation before it."""

    def intervene(self, tick: int, intervention: InterventionConfig) -> None:  # noqa: ARG002  # the state has the time
        self.interventions.append(intervention)
        now = self.state.global_state
        moved = {name: shocked(name, getattr(now, name), by) for name, by in (intervention.shock or {}).items()}
        self.state = replace(self.state, global_state=replace(now, **moved))
        self._adopt(intervention)

    def totals(self) -> dict[str, Any]:
        now = self.state.global_state
        return {
            **{name: round(float(getattr(now, name)), DIGITS) for name in INDICATORS},
            **{name: self.counts[name] for name in COUNTS},
            "interest_rate_path": self.path.summary(),
        }

    def measures(self) -> list[Measure]:
        now = self.state.global_state
        found = [
            Measure(name=name, help=about, kind="gauge", value=getattr(now, key))
            for key, (name, about) in INDICATORS.items()
        ]
        text = "Proposals by what became of them; an applied one was accepted before."
        proposals = partial(Measure, name="prism_economy_proposals_total", help=text, kind="counter")
        return found + [proposals(labels={"outcome": name}, value=self.counts[name]) for name in COUNTS]

    def highlights(self) -> list[str]:
        now, path = self.state.global_state, self.path
        rate = f"interest rate {now.interest_rate:.2f}%, from {path.lowest:.2f}% to {path.highest:.2f}% so far"
        others = f"inflation {now.inflation:.2f}%, growth {now.gdp_growth:.2f}%, unemployment {now.unemployment:.2f}%"
        lines = [f"{rate}; it moved in {path.changes:,} of {path.quarters:,} quarters", others]
        if self._latest is not None:
            lines.append(f'applied latest: {self._latest.agent_name}, "{self._latest.action_string}"')
        return lines

    def columns(self) -> Iterator[Column]:
        """Yield the state, the nations' stages and the counts, for `restore`. Between two ticks no turn is open."""
        yield from pack("state", [self.state])
        yield from pack("lags", [self.lags])
        yield from pack("stages", self.stages)
        yield from pack("entered", self.entered)
        yield from pack("quarantined", list(self.quarantined))
        yield from pack_items("counts", self.counts)
        yield from pack("path", [self.path])
        if self.interventions:
            yield from pack("interventions", self.interventions)

    def restore(self, columns: Columns) -> None:
        """Take over the state in these columns, with the strengths of this configuration; refuse other nations."""
        state = columns.value("state", SimulationState)
        if tuple(state.agents) != tuple(self.names):
            problem = f"expected the nations of the run so far, {', '.join(state.agents)}, got {', '.join(self.names)}"
            raise ConfigError("configuration", problem, key="economy.nations")
        self.state = replace(state, agents=self.state.agents)
        self.lags = columns.value("lags", Lags)
        self.stages = columns.values("stages", PolicyState)
        self.entered = columns.values("entered", int)
        self.quarantined = dict.fromkeys(columns.values("quarantined", int))
        self.counts = Counter(columns.items("counts", str, int))
        self.path = columns.value("path", RatePath)
        if "interventions" in columns.unread:
            self.interventions = columns.values("interventions", InterventionConfig)
            for intervention in self.interventions:
                self._adopt(intervention)

    def _adopt(self, intervention: InterventionConfig) -> None:
        """Take over the lasting effects of an intervention, except the indicators, which are in the columns."""
        if intervention.set is not None:
            self.config = with_settings(self.config, intervention.set)
        until, length = intervention.until_round, self.config.simulation.ticks_per_round
        for nation in intervention.silence or ():
            self.silenced[numbered_nation(nation, self.names)] = None if until is None else (until - 1) * length

    def _situation(self, nation: int | None = None) -> Situation:
        """Return the context for a nation: before its proposal with all the nations, then with itself alone.

        A question is in the journal with its whole context. So the context does not hold the reasoning of the last
        turn, and the context of a proposal does not grow with the number of nations.
        """
        if nation is None:
            return Situation(state=replace(self.state, reasoning_chains=()))
        name = self.names[nation]
        own = replace(self.state, reasoning_chains=(), agents={name: self.state.agents[name]})
        return Situation(state=own, action=self.actions[nation])


DIGITS: Final = 4  # decimals in summaries: a ten-thousandth of a point


class RatePath(msgspec.Struct):
    """The interest rate at the start and at the end of each quarter, summarised."""

    last: float
    lowest: float  # lowest, highest: the extremes, the rate before the first quarter included
    highest: float
    quarters: int = 0
    changes: int = 0  # the quarters in which the rate moved
    # mean, squares: over the ends of quarters, the mean, and the sum of squared deviations from it. Source: Welford
    # (1962).
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def beginning(cls, rate: float) -> RatePath:
        return cls(rate, rate, rate)

    def add(self, rate: float) -> None:
        self.quarters += 1
        self.changes += rate != self.last
        self.last = rate
        self.lowest, self.highest = min(self.lowest, rate), max(self.highest, rate)
        deviation = rate - self.mean
        self.mean += deviation / self.quarters
        self.squares += deviation * (rate - self.mean)

    def summary(self) -> dict[str, float]:
        """Return the path as JSON values, in percent; the standard deviation is over the quarters so far."""
        spread = math.sqrt(self.squares / self.quarters) if self.quarters else 0.0
        numbers = {"lowest": self.lowest, "mean": self.mean, "highest": self.highest, "standard_deviation": spread}
        return {name: round(float(number), DIGITS) for name, number in numbers.items()} | {"changes": self.changes}


def shocked(name: str, value: float, shock: float) -> float:
    """Return an indicator after a shock, within the range that it may start in."""
    moved = value * (1.0 + shock / 100.0) if name == "total_economic_value" else value + shock
    kind: Any = msgspec.inspect.type_info(field_types(InitialConfig)[name])
    bounds: Any = kind.type if isinstance(kind, msgspec.inspect.Metadata) else kind
    at_least = max(moved, bounds.ge or 0.0)  # the value of an economy is the one that has no `ge`: it is > 0
    return float(at_least if bounds.le is None else min(at_least, bounds.le))
