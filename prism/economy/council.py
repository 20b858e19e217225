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
            before = _indicators(message.context)
        elif isinstance(message, Update):
            states[message.agent] = message.to_state
            stages.setdefault(message.agent, []).append(_stage(message))
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


def _indicators(context: Any) -> dict[str, float]:
    state = context.get("state") if isinstance(context, dict) else None
    found = state.get("global_state") if isinstance(state, dict) else None
    if not isinstance(found, dict):
        return {}
    return {INDICATORS[key].name: float(found[key]) for key in RATES if key in found}


def _stage(update: Update[Any]) -> Stage:
    effect = update.effect if isinstance(update.effect, dict) else {}
    decision, chain = _part(effect, "decision"), _part(effect, "chain")
    confidence = decision.get("confidence")
    return Stage(
        kind=str(effect.get("type", update.trigger)),
        text=_text(decision),
        reasoning=str(decision.get("reasoning", "")),
        confidence=float(confidence) if isinstance(confidence, int | float) else None,
        prompt=str(chain.get("prompt", "")),
        source=update.source,
        model=str(chain.get("model", "")),
        reason=update.reason,
    )


def _part(effect: dict[str, Any], name: str) -> dict[str, Any]:
    part = effect.get(name)
    return part if isinstance(part, dict) else {}


def _text(decision: dict[str, Any]) -> str:
    if "action" in decision:
        return str(decision["action"])
    if "is_valid" in decision:
        return "valid" if decision["is_valid"] else "not valid"
    if "new_interest_rate" in decision:
        return f"the interest rate becomes {decision['new_interest_rate']:.2f}%"
    return ""
