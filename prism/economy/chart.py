"""The default statechart of a nation: one proposal a quarter, its review and its effect.

    turn_begins   the nation decides on a policy; every quarter has a new proposal, whatever happened to the last one
    review        the validator accepts or rejects it: the only choice between two states
    apply         the engine works out the effect on the interest rate

All three are put to the oracle, because the answers have content. A rejected proposal goes no further.
"""

from __future__ import annotations

from typing import Final

from prism.economy.nation import Nation, PolicyState, Situation
from prism.statechart import Statechart, Transition

_, PROPOSED, REJECTED, ACCEPTED, APPLIED = PolicyState


def has_proposed(_: Nation, situation: Situation) -> bool:
    return situation.action is not None


ECONOMY_CHART: Final = Statechart(
    states=PolicyState,
    initial=PolicyState.OBSERVING,
    transitions=(
        # From every state, because a quarter may end in any of them after a crash: no nation can get stuck.
        *(Transition("turn_begins", state, PROPOSED, action=Nation.carry_out, oracle=True) for state in PolicyState),
        # Rejecting comes first, so a proposal that was not judged changes nothing.
        Transition("review", PROPOSED, REJECTED, has_proposed, Nation.carry_out, oracle=True),
        Transition("review", PROPOSED, ACCEPTED, has_proposed, Nation.carry_out, oracle=True),
        Transition("apply", ACCEPTED, APPLIED, action=Nation.carry_out, oracle=True),
    ),
)
