"""One wave in columns: the triggers that a world sends at once, and the updates that it applies at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from prism.agents.turn import Trigger, Update
from prism.columns import Ints, OnAccess

C = TypeVar("C")

Encoded = tuple[bytes, Sequence[int]]
"""Messages one after the other, and the place after each."""


class Wave(OnAccess[Trigger[C]]):
    """The triggers of one wave in columns, ascending by agent. Each trigger is made when it is asked for.

    Its contents are valid until the world applies an update.

    Args:
        names: the names of triggers, and `codes`: the number of each agent's among them.
    """

    def __init__(self, tick: int, agents: Ints, names: Sequence[str], codes: Ints) -> None:
        self.tick = tick
        self.agents = agents
        self.names = names
        self.codes = codes

    def __len__(self) -> int:
        return len(self.agents)

    def made(self, place: int) -> Trigger[C]:
        return self.trigger(int(self.agents[place]), self.names[self.codes[place]])

    @abstractmethod
    def trigger(self, agent: int, name: str) -> Trigger[C]: ...

    def encoded(self) -> Encoded | None:
        """Return the triggers as they are sent to agents; None if each must be encoded by itself."""
        return None


TEXT_MAX: Final = 32
"""The most characters of an effect that is part of a kind."""


class Kind(NamedTuple):
    """A kind of update, which many agents can have. Worlds and counts look at it once, however many do.

    Args:
        effect: the effect, if it is a short text; empty for no effect, and for one that an update has of its own.
    """

    trigger: str
    from_state: str
    to_state: str
    source: str
    effect: str = ""
    reason: str = ""

    @property
    def action(self) -> str | None:
        """The effect that all updates of this kind have; None for no effect."""
        return self.effect or None


def kind_of(update: Update[Any]) -> Kind:
    effect: Any = update.effect
    is_short = isinstance(effect, str) and len(effect) <= TEXT_MAX
    return Kind(
        update.trigger,
        update.from_state,
        update.to_state,
        update.source,
        effect if is_short else "",
        update.reason,
    )


class Updates:
    """The updates of one wave, ascending by agent.

    Args:
        kinds: the kinds that occur, and `codes`: the number of each agent's among them.
        effects: `{agent: effect}` of the updates that have one of their own.
    """

    def __init__(
        self,
        tick: int,
        agents: Ints,
        kinds: Sequence[Kind],
        codes: NDArray[np.intp],
        effects: Mapping[int, Any] = MappingProxyType({}),
    ) -> None:
        self.tick = tick
        self.agents = agents
        self.kinds = kinds
        self.codes = codes
        self.effects = effects

    @classmethod
    def of(cls, updates: Sequence[Update[Any]]) -> Updates:
        """Return the columns of one or more updates of the same tick, ascending by agent."""
        numbers: dict[Kind, int] = {}
        agents, codes = np.empty((2, len(updates)), dtype=np.int64)
        effects: dict[int, Any] = {}
        for place, each in enumerate(updates):
            kind = kind_of(each)
            agents[place], codes[place] = each.agent, numbers.setdefault(kind, len(numbers))
            if each.effect is not None and not kind.effect:
                effects[each.agent] = each.effect
        return cls(updates[0].tick, agents, tuple(numbers), codes, effects)

    def __len__(self) -> int:
        return len(self.agents)

    def __iter__(self) -> Iterator[Update[Any]]:
        return (
            Update(
                self.tick,
                agent,
                (kind := self.kinds[code]).trigger,
                kind.from_state,
                kind.to_state,
                kind.source,
                self.effects.get(agent, kind.action),
                kind.reason,
            )
            for agent, code in zip(self.agents.tolist(), self.codes.tolist(), strict=True)
        )

    @property
    def counts(self) -> list[int]:
        found: list[int] = np.bincount(self.codes, minlength=len(self.kinds)).tolist()
        return found
