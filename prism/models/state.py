"""The state of an economy: its nations, its indicators, and the reasoning that led to them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from prism.checked import Checked
from prism.models.answers import LLMReasoningChain, StateUpdateDecision


class NationState(Checked, frozen=True, kw_only=True):
    """A nation.

    Raises:
        ValueError: the name is blank, or the strength is not a finite number of 0 or more.
    """

    name: str
    economic_strength: Annotated[float, Meta(ge=0.0)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name.strip():
            raise ValueError(f"name: expected a text that is not blank, got {self.name!r}")


class GlobalState(Checked, frozen=True, kw_only=True):
    """The indicators that every nation sees. The defaults are an economy at rest: a neutral real rate of 2%.

    Args:
        interest_rate: the policy rate, in percent a year.
        inflation: in percent a year.
        gdp_growth: in percent a year.
        unemployment: in percent of the labour force, from 0 to 100.
        total_economic_value: in units of account, 0 or more.

    Raises:
        ValueError: a value that is not finite, or out of its range.
    """

    interest_rate: float = 4.0
    inflation: float = 2.0
    gdp_growth: float = 2.0
    unemployment: Annotated[float, Meta(ge=0.0, le=100.0)] = 5.0
    total_economic_value: Annotated[float, Meta(ge=0.0)] = 1000.0

    def described(self) -> str:
        rows = (
            ("GDP Growth", self.gdp_growth),
            ("Inflation", self.inflation),
            ("Unemployment", self.unemployment),
            ("Interest Rate", self.interest_rate),
        )
        return "\n".join(f"- {name}: {round(value, 2)}%" for name, value in rows)


class SimulationState(Checked, frozen=True, kw_only=True):
    """An economy after a turn.

    Args:
        turn: the number of turns so far; a turn is a tick of the simulated clock.
        reasoning_chains: the reasoning of the last turn, in the order of its actions.

    Raises:
        ValueError: a negative turn, or a nation under another name than its own.
    """

    turn: Annotated[int, Meta(ge=0)]
    agents: dict[str, NationState]
    global_state: GlobalState
    reasoning_chains: tuple[LLMReasoningChain, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, nation in self.agents.items():
            if name != nation.name:
                raise ValueError(f"agents: expected {nation.name!r} under its own name, got it under {name!r}")

    def updated(self, decision: StateUpdateDecision) -> SimulationState:
        """Return the state with the interest rate of an engine's answer, and all else unchanged."""
        return replace(self, global_state=replace(self.global_state, interest_rate=decision.new_interest_rate))
