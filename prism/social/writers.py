"""The states of people in which a post is under way, so that a model may write its text."""

from __future__ import annotations

from typing import Any, Final

from prism.social.effects import Effect
from prism.statechart.behaviour import Behaviour

_WITH_TEXT: Final = frozenset({Effect.REPLY, Effect.RESHARE, Effect.POST})


def writing_states(behaviour: Behaviour[Any]) -> frozenset[Any]:
    """Return the states in which a text is under way: those that a reply, reshare or post leaves, and those before.

    A state with a role is none of them: there the person has finished, or has not begun.
    """
    states = {
        behaviour.states(before)
        for moves in behaviour.effects.values()
        for (before, _), effect in moves.items()
        if effect in _WITH_TEXT
    }
    found = {state for state in states if state not in behaviour.roles}
    while True:
        before = {
            row.source
            for row in behaviour.chart.transitions
            if row.target in found and row.source not in behaviour.roles
        }
        if before <= found:
            return frozenset(found)
        found |= before
