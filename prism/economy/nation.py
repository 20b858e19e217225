"""A nation as an agent: the state of its proposal, the steps of its policy, and the statechart that orders them."""

from __future__ import annotations

from enum import StrEnum, unique
from typing import Any, ClassVar, Final

import msgspec
from msgspec.structs import replace

from prism.agents.stateful import StatefulAgent
from prism.checked import Checked
from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.config import Config
from prism.models import (
    Action,
    GlobalState,
    LLMReasoningChain,
    PolicyDecision,
    SimulationState,
    StateUpdateDecision,
    ValidationResult,
)
from prism.statechart import Statechart, Transition


@unique
class PolicyState(StrEnum):
    """The state of a nation's proposal. Records, summaries and metrics use the values."""

    OBSERVING = "observing"
    PROPOSED = "proposed"
    REJECTED = "rejected"
    ACCEPTED = "accepted"
    APPLIED = "applied"


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """The context of a nation's trigger."""

    # the economy now, without the reasoning that led to it. If the trigger is about a proposal, only this nation is in
    # it.
    state: SimulationState
    action: Action | None = None  # the nation's own proposal; None before there is one


class Proposed(Checked, frozen=True, kw_only=True, tag="proposed"):
    """The first step: a nation has decided on a policy."""

    decision: PolicyDecision
    chain: LLMReasoningChain


class Reviewed(Checked, frozen=True, kw_only=True, tag="reviewed"):
    """The second step: a validator has judged a proposal."""

    decision: ValidationResult
    chain: LLMReasoningChain


class Applied(Checked, frozen=True, kw_only=True, tag="applied", omit_defaults=True):
    """The third step: an engine has worked out the effect of a valid proposal."""

    decision: StateUpdateDecision  # the new interest rate
    chain: LLMReasoningChain
    # the indicators after the update; None if the engine changes only the rate
    indicators: GlobalState | None = None

    def applied_to(self, state: SimulationState) -> SimulationState:
        """Return the state after the step. Its nations, turn and reasoning are those of `state`."""
        if self.indicators is None:
            return state.updated(self.decision)
        return replace(state, global_state=self.indicators)


PolicyStep = Proposed | Reviewed | Applied
"""One step of a policy. Each is complete: nothing else is needed to carry it out, or to explain it."""

STEPS: Final[dict[str, type[PolicyStep]]] = {"turn_begins": Proposed, "review": Reviewed, "apply": Applied}
"""`{trigger: the step it leads to}`. Each is put to the oracle, even with one option, because its answer has
content."""


def decided_otherwise(content: str, state: str) -> str:
    """Return an answer's content, as JSON, after another choice: a review with the new verdict, otherwise empty."""
    try:
        given = msgspec.json.decode(content, type=Reviewed)
    except msgspec.DecodeError:
        return ""
    decision = replace(given.decision, is_valid=state == PolicyState.ACCEPTED)
    return msgspec.json.encode(replace(given, decision=decision)).decode()


class Nation(StatefulAgent[PolicyState]):
    """A nation: its name, and the state of its proposal."""

    __slots__ = ("_answer", "_step", "name")

    states: ClassVar[type[PolicyState]] = PolicyState
    open_triggers: ClassVar[frozenset[str]] = frozenset(STEPS)

    def __init__(
        self,
        agent_id: int,
        name: str,
        state: PolicyState = PolicyState.OBSERVING,
        *,
        tick: int = 0,
        max_history_depth: int = 50,
        clock: SimulatedClock = DEFAULT_CLOCK,
    ) -> None:
        super().__init__(agent_id, state, tick=tick, max_history_depth=max_history_depth, clock=clock)
        self.name = name
        self._answer: PolicyStep | None = None
        self._step: PolicyStep | None = None

    def answered(self, trigger: str, content: str) -> None:
        """Take the answer to a question, without the parts that depend on a clock.

        The time that an answer took, and how often it had to be asked for, stay in the oracle's log: the same answers
        give the same journal, however fast they come.

        Raises:
            msgspec.ValidationError: the answer is to another question, or a value in it is out of its bounds.
        """
        answer = msgspec.json.decode(content, type=STEPS[trigger])
        self._answer = replace(answer, chain=replace(answer.chain, duration_ms=0, retry_count=0))

    def carry_out(self, _: Situation) -> None:
        """Make the latest answer the effect of this turn: the action of every row."""
        self._step, self._answer = self._answer, None

    def effect(self) -> PolicyStep | None:
        """Return the step for the world to carry out; None if the oracle was not asked."""
        return self._step

    def remembered(self, context: Any) -> Any:
        if not isinstance(context, Situation):
            return super().remembered(context)
        proposal = {} if context.action is None else {"action": context.action.action_string}
        return {"turn": context.state.turn, **proposal}


def clock_of(config: Config) -> SimulatedClock:
    """Return the clock that gives a run's history and reasoning their timestamps."""
    return SimulatedClock(config.simulation.epoch, config.simulation.tick_seconds)


def has_proposed(_: Nation, situation: Situation) -> bool:
    return situation.action is not None


_, PROPOSED, REJECTED, ACCEPTED, APPLIED = PolicyState
ECONOMY_CHART: Final = Statechart(
    states=PolicyState,
    initial=PolicyState.OBSERVING,
    transitions=(
        # The nation decides on a policy, from every state: a quarter may end in any of them after a crash, and no
        # nation gets stuck.
        *(Transition("turn_begins", state, PROPOSED, action=Nation.carry_out, oracle=True) for state in PolicyState),
        # The validator judges it: the only choice. Rejecting comes first, so a proposal without a judgement changes
        # nothing.
        Transition("review", PROPOSED, REJECTED, has_proposed, Nation.carry_out, oracle=True),
        Transition("review", PROPOSED, ACCEPTED, has_proposed, Nation.carry_out, oracle=True),
        # The engine works out the effect on the interest rate.
        Transition("apply", ACCEPTED, APPLIED, action=Nation.carry_out, oracle=True),
    ),
)
"""One proposal a quarter, its review and its effect. All are put to the oracle, because the answers have content."""
