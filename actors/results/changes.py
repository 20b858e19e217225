"""The only reader of a journal's changes of ties and attributes, by people and by interventions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from actors.record.messages import those_of
from prism.events import AttributeSet, Intervened, TieChanged

Changed = TieChanged | AttributeSet | Intervened
"""A message that may change a tie or an attribute."""


class TieChange(NamedTuple):
    """A tie that is made or ended."""

    tick: int  # the first tick in which the change holds
    one: int
    other: int
    follows: bool  # True if the tie is made, False if it is ended


def changes_in(messages: Iterable[bytes]) -> Iterator[Changed]:
    """Return a tick's messages that may change a tie or an attribute, as they were encoded."""
    return those_of(messages, TieChanged, AttributeSet, Intervened)


def tie_changes(messages: Iterable[Changed], number: Callable[[Any], int]) -> Iterator[TieChange]:
    """Yield the ties that messages make and end, in order. A mute changes no tie.

    A change of a person holds from the next tick on, and that of an intervention from its tick on.

    Args:
        number: returns the number of a person whom an intervention names.
    """
    for each in messages:
        if isinstance(each, TieChanged) and each.kind != "mute":
            yield TieChange(each.tick + 1, each.agent, each.whom, each.kind == "follow")
        elif isinstance(each, Intervened):
            for kind in ("follow", "unfollow"):
                for one, other in each.content.get(kind) or ():
                    yield TieChange(each.tick, number(one), number(other), kind == "follow")
