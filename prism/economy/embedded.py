"""The embedded economy: an adviser of nations, a validator and an engine that need no server and no model.

They answer the questions of a language model, with the same records. Every number in their reasoning is the one that
was used. Their confidence is a probability with a stated meaning:

- of a change of the rate: that the new rate is nearer than the old one to the right rate. The rule's rate is taken as
  right, with a normal error of standard deviation `economy.taylor.rate_error`;
- of no change: that the right rate, in the same sense, is within a proposal's reach (`rate_step_max`) of the old one;
- of a judgement on relevance: Laplace's rule of succession over the words that led to it, (n + 1) / (n + 2).
"""

from __future__ import annotations

import math
import re
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from prism.clock import SimulatedClock
from prism.config import Config
from prism.config.model import EconomyConfig, TaylorConfig
from prism.economy.macro import output_gap, policy_rate, taylor_rate
from prism.economy.nation import clock_of
from prism.economy.oracle import Components
from prism.models import (
    RATE_PERCENT,
    Action,
    Component,
    GlobalState,
    LLMReasoningChain,
    PolicyDecision,
    SimulationState,
    StateUpdateDecision,
    ValidationResult,
    is_economic,
)
from prism.rng import Draw, normal

_CLAUSE_END: Final = re.compile(r"[;:!?\n]|[.,](?=\s|$)|\b(?:and|but|then)\b")
_RATE: Final = (
    r"(?:the |our |its )?(?:(?:central bank|bank|policy|interest|key|base|benchmark|short-term|federal funds) )*rates?"
)
_UNIT: Final = r"basis[ -]points?|bps?|%|per ?cent(?:age points?)?|points?"
_CLAUSE: Final = re.compile(
    rf"(?:(?P<up>raise|increase|hike|lift)|(?P<down>lower|cut|reduce|decrease)|(?P<hold>keep|hold|maintain|leave)|set)"
    rf" {_RATE}(?: from [0-9.]+ ?%)?(?: unchanged| (?P<way>by|to|at) (?P<number>-?[0-9]{{1,4}}(?:\.[0-9]{{1,10}})?)"
    rf" ?(?P<unit>{_UNIT}))?",
    re.IGNORECASE,
)


class RateChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the interest rate, as far as an action states it."""

    direction: int  # 1 for up, -1 for down, 0 for neither
    points: float | None = None  # the number of percentage points, 0 or more; None if the action does not say
    # the rate that the action names, in percent, which then decides alone; None if it names none
    level: float | None = None


def read_rate_change(action: str) -> RateChange | None:
    """Return the change of the interest rate that an action asks for; None if no clause of it is understood as one.

    A clause counts only if all of it is understood, such as `Raise the interest rate by 0.25 percentage points` or `set
    the policy rate to 3%`. So a clause with a negation or a range of amounts changes nothing, and neither does one
    about another rate.
    """
    for clause in _CLAUSE_END.split(action):
        found = _CLAUSE.fullmatch(" ".join(clause.split()))
        if found is None:
            continue
        direction = 1 if found["up"] else -1 if found["down"] else 0
        if found["hold"]:
            return RateChange(direction=0)
        if found["number"] is None:
            if direction:
                return RateChange(direction=direction)
            continue
        number = float(found["number"]) / (100.0 if found["unit"].lower().startswith("b") else 1.0)
        if found["way"].lower() != "by":
            return RateChange(direction=direction, level=number)
        if direction and number >= 0.0:
            return RateChange(direction=direction, points=number)
    return None


D = TypeVar("D", PolicyDecision, ValidationResult, StateUpdateDecision)
EMBEDDED = "embedded"  # the `model` in the reasoning of a run without a model


class EmbeddedEconomy:
    """The formulas: each nation proposes a step towards the rate of its own Taylor rule, and moves the common rate.

    Nations differ in the weights of inflation and output: each weight of the rule is multiplied by a log-normal factor
    with mean 1, drawn once from the seed, with `economy.preference_spread` as the spread of its logarithm.

    Each nation moves the rate by its share, that of its economic strength, of the change that it asks for. So the
    nations of a turn together move it by the weighted mean of their proposals, in any order.
    """

    def __init__(self, economy: EconomyConfig, seed: int) -> None:
        self._economy = economy
        self._nations: dict[str, tuple[TaylorConfig, float]] = {}  # `{nation: (its rule, its share)}`
        rule, spread, total = economy.taylor, economy.preference_spread, math.fsum(economy.strengths)
        for nation, (name, strength) in enumerate(zip(economy.nations, economy.strengths, strict=True)):
            inflation, output = (
                weight * math.exp(spread * normal(seed, nation, 0, Draw.PREFERENCE, index) - spread * spread / 2.0)
                for index, weight in enumerate((rule.inflation_weight, rule.output_weight))
            )
            self._nations[name] = replace(rule, inflation_weight=inflation, output_weight=output), strength / total

    def _nation(self, name: str) -> tuple[TaylorConfig, float]:
        if name not in self._nations:
            raise ValueError(f"expected one of the nations {', '.join(self._nations)}, got {name!r}")
        return self._nations[name]

    def _rule_rate(self, state: GlobalState, rule: TaylorConfig) -> float:
        """Return the rule's rate, neither smoothed nor bounded."""
        return taylor_rate(state.inflation, output_gap(state.unemployment, self._economy.macro), rule)

    def propose(self, nation: str, state: GlobalState) -> PolicyDecision:
        """Return a nation's proposal under the indicators of `state`; a ValueError for an unknown nation."""
        rule, _ = self._nation(nation)
        rate, inflation, unemployment = state.interest_rate, state.inflation, state.unemployment
        asked, output = self._rule_rate(state, rule), output_gap(unemployment, self._economy.macro)
        aim = policy_rate(asked, rate, rule)
        # The multiple of the step that is nearest to the gap, within a proposal's reach and above the floor.
        most = math.floor(rule.rate_step_max / rule.rate_step + 1e-9)
        steps = max(-most, min(most, round((aim - rate) / rule.rate_step)))
        if steps < 0:
            steps = -min(-steps, max(0, math.floor((rate - rule.rate_floor) / rule.rate_step + 1e-9)))
        change = steps * rule.rate_step
        action = f"Keep the interest rate at {rate:.2f}%"
        if change:
            verb = "Raise" if change > 0 else "Lower"
            action = f"{verb} the interest rate by {_points(abs(change))} percentage points"
        kept = f", of which smoothing keeps {rule.smoothing:.0%}" if rule.smoothing else ""
        bounded = f", and the floor is {rule.rate_floor:.2f}%" if asked < rule.rate_floor else ""
        off, slack = inflation - rule.inflation_target, unemployment - self._economy.macro.natural_unemployment
        return PolicyDecision(
            action=action,
            reasoning=f"Inflation is {inflation:.2f}%, {off:+.2f} points from its target. Unemployment is "
            f"{unemployment:.2f}%, {slack:+.2f} points from its natural rate: an output gap of {output:+.2f}% by "
            f"Okun's law. The rule asks for {rule.neutral_rate:.2f} + {inflation:.2f} + {rule.inflation_weight:.2f} x "
            f"({off:.2f}) + {rule.output_weight:.2f} x ({output:.2f}) = {asked:.2f}%. The rate is "
            f"{rate:.2f}%{kept}{bounded}, so the aim is {aim:.2f}%. In steps of {_points(rule.rate_step)} and of no "
            f"more than {_points(rule.rate_step_max)} at a time, the change is {change:+.2f}.",
            confidence=_confidence(rate, rate + change, asked, rule),
        )

    def evaluate(self, action: Action, state: GlobalState) -> StateUpdateDecision:
        """Return the interest rate after an action; a ValueError if it is of an unknown nation."""
        _, share = self._nation(action.agent_name)
        rule, old = self._economy.taylor, state.interest_rate
        asked = self._rule_rate(state, rule)
        wanted, origin = _requested_change(read_rate_change(action.action_string), old, asked)
        granted = min(max(wanted, -rule.rate_step_max), rule.rate_step_max)
        new = old + share * granted
        # The floor stops a fall; it does not raise a rate that is below it already.
        new = min(max(new, min(old, rule.rate_floor), RATE_PERCENT[0]), RATE_PERCENT[1])
        return StateUpdateDecision(
            new_interest_rate=new,
            reasoning=f"{origin} A proposal may change the rate by {_points(rule.rate_step_max)} points, which leaves "
            f"{granted:+.2f}; {share:.1%} of all economic strength makes it {share * granted:+.2f}. From {old:.2f}%, "
            f"with a floor of {rule.rate_floor:.2f}%, the rate goes to {new:.2f}%. The rule asks for {asked:.2f}%.",
            confidence=_confidence(old, new, asked, rule),
            action_applied=action.action_string,
        )


def validated(action: Action) -> ValidationResult:
    """Return the judgement whether an action is economic policy: if it has one economic word, whatever its others."""
    words = re.findall(r"\w+", action.action_string)
    telling = [word for word in words if is_economic(word)]
    why = f"Economic policy by its words: {', '.join(map(repr, dict.fromkeys(telling[:5])))}."
    if not telling:
        why = f"None of its {len(words)} words is about rates, taxes, spending, trade, prices, work or production."
    evidence = len(telling) or len(words)
    return ValidationResult(
        is_valid=bool(telling),
        reasoning=why[:2000],
        confidence=(evidence + 1) / (evidence + 2),
        action_evaluated=action.action_string,
    )


def embedded_components(config: Config) -> Components:
    """Return components that use the formulas of this module."""
    economy, clock = EmbeddedEconomy(config.economy, config.simulation.seed), clock_of(config)
    common = _Embedded("", economy, clock)
    agents = {name: _Embedded(name, economy, clock) for name in config.economy.nations}
    return Components(agents=agents, validator=common, engine=common)


class _Embedded:
    """The agent of one nation, the validator and the engine, with the reasoning that a run records."""

    def __init__(self, nation: str, economy: EmbeddedEconomy, clock: SimulatedClock) -> None:
        self._nation, self._economy, self._clock = nation, economy, clock

    async def propose(self, state: SimulationState) -> tuple[PolicyDecision, LLMReasoningChain]:
        made = self._economy.propose(self._nation, state.global_state)
        return self._with_chain("agent", self._nation, made, state.turn)

    async def validate_action(self, action: Action, *, turn: int = 0) -> tuple[ValidationResult, LLMReasoningChain]:
        return self._with_chain("validator", action.agent_name, validated(action), turn)

    async def evaluate(
        self, action: Action, global_state: GlobalState, *, turn: int | None = None
    ) -> tuple[StateUpdateDecision, LLMReasoningChain]:
        made = self._economy.evaluate(action, global_state)
        return self._with_chain("engine", action.agent_name, made, turn or 0)

    def _with_chain(self, component: Component, name: str, made: D, turn: int) -> tuple[D, LLMReasoningChain]:
        """Return a decision that was computed and its record: without a prompt, and without a measured time."""
        return made, LLMReasoningChain(
            component=component,
            agent_name=name,
            prompt="",
            response=msgspec.json.encode(made).decode(),
            reasoning=made.reasoning,
            timestamp=self._clock.at(turn),
            duration_ms=0,
            model=EMBEDDED,
            retry_count=0,
            confidence=made.confidence,
        )


def _requested_change(change: RateChange | None, old: float, asked: float) -> tuple[float, str]:
    if change is None:
        return 0.0, "The action names no change of the rate that is understood here, so the rate stays as it is."
    if change.level is not None:
        return change.level - old, f"The action names a rate of {change.level:.2f}%, {change.level - old:+.2f} points."
    if change.direction == 0:
        return 0.0, "The action keeps the interest rate as it is."
    if change.points is not None:
        wanted = change.direction * change.points
        return wanted, f"The action asks for {wanted:+.2f} points."
    # The action gives only the direction, so the rule's rate gives the size; a change away from that rate is 0.
    wanted = change.direction * max(0.0, change.direction * (asked - old))
    return wanted, f"The action leaves the size open; the rule's rate of {asked:.2f}% makes it {wanted:+.2f} points."


def _confidence(old: float, new: float, asked: float, rule: TaylorConfig) -> float:
    """Return the confidence in a rate, as the module's docstring defines it."""
    if new == old:
        reach, gap = rule.rate_step_max, asked - old
        return _normal_cdf((reach - gap) / rule.rate_error) - _normal_cdf((-reach - gap) / rule.rate_error)
    beyond_halfway = (asked - (old + new) / 2.0) / rule.rate_error
    return _normal_cdf(beyond_halfway if new > old else -beyond_halfway)


def _normal_cdf(deviate: float) -> float:
    return 0.5 * math.erfc(-deviate / math.sqrt(2.0))


def _points(points: float) -> str:
    """Return a number of points with two decimals, or with all its decimals if two would change it."""
    return f"{points:.2f}" if math.isclose(points, round(points, 2), rel_tol=1e-12) else f"{points:.10g}"
