"""The council of nations in one quarter of an economy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from prism.agents.turn import Question, Update
from prism.answers import INDICATORS, RATES
from prism.config.model import EconomyConfig
from prism.show import Message


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One answer about a nation's proposal.

    Args:
        kind: `proposed`, `reviewed` or `applied`.
        text: what was proposed, judged or done; `reasoning`: why.
        confidence: from 0 to 1; None if it was not given. A model states its own confidence; the embedded oracle
            computes a probability by its formula.
        prompt: the question as a model read it; empty if no model was asked.
    """

    kind: str
    text: str
    reasoning: str
    confidence: float | None
    prompt: str
    source: str
    model: str
    reason: str = ""


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """A nation in the council: how far its proposal came, and each stage of it.

    Args:
        share: its part of all economic strength, from 0 to 1.
    """

    agent: int
    name: str
    share: float
    state: str
    stages: list[Stage]


class Council(msgspec.Struct, frozen=True, kw_only=True):
    """The council in one quarter.

    Args:
        before: the indicators that the nations saw, by name.
    """

    tick: int
    before: dict[str, float]
    seats: list[Seat]


def council_of(messages: Iterable[Message], economy: EconomyConfig, tick: int) -> Council:
    before: dict[str, float] = {}
    stages: dict[int, list[Stage]] = {}
    states: dict[int, str] = {}
    for message in messages:
        if isinstance(message, Question) and not before:
            found = _part(_part(message.context, "state"), "global_state")
            before = {INDICATORS[key].name: float(found[key]) for key in RATES if key in found}
        elif isinstance(message, Update):
            states[message.agent] = message.to_state
            decision, chain = _part(message.effect, "decision"), _part(message.effect, "chain")
            kind, confidence = message.trigger, decision.get("confidence")
            stage = Stage(
                kind=str(message.effect.get("type", kind)) if isinstance(message.effect, dict) else kind,
                text=_text(decision),
                reasoning=str(decision.get("reasoning", "")),
                confidence=float(confidence) if isinstance(confidence, int | float) else None,
                prompt=str(chain.get("prompt", "")),
                source=message.source,
                model=str(chain.get("model", "")),
                reason=message.reason,
            )
            stages.setdefault(message.agent, []).append(stage)
    whole = sum(economy.strengths)
    seats = [
        Seat(
            agent=agent,
            name=name,
            share=economy.strengths[agent] / whole,
            state=states.get(agent, ""),
            stages=stages.get(agent, []),
        )
        for agent, name in enumerate(economy.nations)
    ]
    return Council(tick=tick, before=before, seats=seats)


def _part(whole: Any, name: str) -> dict[str, Any]:
    part = whole.get(name) if isinstance(whole, dict) else None
    return part if isinstance(part, dict) else {}


def _text(decision: dict[str, Any]) -> str:
    if "action" in decision:
        return str(decision["action"])
    if "is_valid" in decision:
        return "valid" if decision["is_valid"] else "not valid"
    if "new_interest_rate" in decision:
        return f"the interest rate becomes {decision['new_interest_rate']:.2f}%"
    return ""
