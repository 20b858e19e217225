"""The ties that people and interventions make and end during a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from prism.events import AttributeSet, Intervened, TieChanged

Changed = TieChanged | AttributeSet | Intervened
"""A message that may change a tie or an attribute."""

BOUND: Final = ("follow", "unfollow")
"""The changes that make or end a tie. A mute does neither."""


class TieChange(NamedTuple):
    """A tie that is made or ended."""

    tick: int  # the first tick in which the change holds
    one: int
    other: int
    follows: bool  # True if the tie is made, False if it is ended


def tie_changes(messages: Iterable[Changed], number: Callable[[Any], int]) -> Iterator[TieChange]:
    """Yield the ties that messages make and end, in order. A mute changes no tie.

    A change of a person holds from the next tick on, and that of an intervention from its tick on.

    Args:
        number: returns the number of a person whom an intervention names.
    """
    for each in messages:
        if isinstance(each, TieChanged) and each.kind in BOUND:
            yield TieChange(each.tick + 1, each.agent, each.whom, each.kind == "follow")
        elif isinstance(each, Intervened):
            yield from ties_from_outside(each.tick, each.content, number)


def ties_from_outside(tick: int, content: Any, number: Callable[[Any], int]) -> Iterator[TieChange]:
    for kind in BOUND:
        for one, other in content.get(kind) or ():
            yield TieChange(tick, number(one), number(other), kind == "follow")
