"""The default statechart of a nation: a proposal a quarter, and what becomes of it.

    turn_begins   the nation decides on a policy; whatever became of the last one, a new quarter is a new proposal
    review        the validator accepts or rejects it: the one genuine choice
    apply         the engine works out what it does to the interest rate

All three are put to the oracle, because the answers have content. A rejected proposal goes no further.
"""

from __future__ import annotations

from typing import Any, Final

from prism.economy.nation import Nation, PolicyState, Situation
from prism.statechart import Statechart, Transition

PROPOSED, REJECTED, ACCEPTED, APPLIED = (
    PolicyState.PROPOSED,
    PolicyState.REJECTED,
    PolicyState.ACCEPTED,
    PolicyState.APPLIED,
)


def has_proposed(_: Nation, situation: Situation) -> bool:
    """There is a proposal to be judged."""
    return situation.action is not None


def carry_out(nation: Nation, _: Any) -> None:
    """Do what the oracle has said."""
    nation.carry_out()


ECONOMY_CHART: Final = Statechart(
    states=PolicyState,
    initial=PolicyState.OBSERVING,
    transitions=(
        # From wherever a quarter left it, be it a crash in the middle: no nation can get stuck.
        *(Transition("turn_begins", state, PROPOSED, action=carry_out, oracle=True) for state in PolicyState),
        # Rejecting comes first: what nobody has judged changes nothing.
        Transition("review", PROPOSED, REJECTED, has_proposed, carry_out, oracle=True),
        Transition("review", PROPOSED, ACCEPTED, has_proposed, carry_out, oracle=True),
        Transition("apply", ACCEPTED, APPLIED, action=carry_out, oracle=True),
    ),
)
