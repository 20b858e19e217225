"""One wave in columns: the triggers that a world sends at once, and the updates that it applies at once."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from prism.agents.turn import Trigger, Update
from prism.columns import Ints, OnAccess

C = TypeVar("C")

_agent = attrgetter("agent")


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


def _kind_of(update: Update[Any]) -> tuple[Any, ...]:
    effect = update.effect if is_short(update.effect) else ""
    return update.trigger, update.from_state, update.to_state, update.source, effect, update.reason


def is_short(effect: Any) -> bool:
    """Return whether an effect is part of its update's kind."""
    return isinstance(effect, str) and 0 < len(effect) <= TEXT_MAX


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
        self._each: Sequence[Update[Any]] | None = None
        """The updates themselves, where they came one by one."""

    @classmethod
    def of(cls, updates: Sequence[Update[Any]], agents: Ints | None = None) -> Updates:
        """Return the columns of one or more updates of the same tick, ascending by agent."""
        count = len(updates)
        if agents is None:
            agents = np.fromiter(map(_agent, updates), dtype=np.int64, count=count)
        numbers = defaultdict[tuple[Any, ...], int](itertools.count().__next__)
        codes = np.fromiter(map(numbers.__getitem__, map(_kind_of, updates)), dtype=np.intp, count=count)
        more = {each.agent: each.effect for each in updates if each.effect is not None and not is_short(each.effect)}
        found = cls(updates[0].tick, agents, tuple(map(Kind._make, numbers)), codes, more)
        found._each = updates
        return found

    def __len__(self) -> int:
        return len(self.agents)

    def __iter__(self) -> Iterator[Update[Any]]:
        if self._each is not None:
            return iter(self._each)
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

    def pieces(self, most: int) -> Iterator[Updates]:
        """Yield these updates in pieces of at most so many."""
        if len(self) <= most:
            yield self
            return
        for start in range(0, len(self), most):
            cut = slice(start, start + most)
            agents = self.agents[cut]
            numbers = agents.tolist() if self.effects else ()
            effects = {agent: self.effects[agent] for agent in numbers if agent in self.effects}
            piece = Updates(self.tick, agents, self.kinds, self.codes[cut], effects)
            piece._each = None if self._each is None else self._each[cut]
            yield piece

    @cached_property
    def counts(self) -> list[int]:
        found: list[int] = np.bincount(self.codes, minlength=len(self.kinds)).tolist()
        return found
