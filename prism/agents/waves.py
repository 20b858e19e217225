"""One wave in columns: the triggers that a world sends at once, and the updates that it applies at once."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from prism.agents.turn import Trigger, Update
from prism.columns import Ints, OnAccess

C = TypeVar("C")

_agent = attrgetter("agent")
_kind = attrgetter("trigger", "from_state", "to_state", "source")


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


class Kind(NamedTuple):
    """A kind of update, which many agents can have. Worlds and counts look at it once, however many do."""

    trigger: str
    from_state: str
    to_state: str
    source: str


class Updates:
    """The updates of one wave, ascending by agent.

    Args:
        kinds: the kinds that occur, and `codes`: the number of each agent's among them.
        effects: `{agent: effect}` of the updates that have one of their own; reasons: of those that have one.
        of_kinds: the effect that all updates of a kind have, None for no effect; empty if no kind has an effect.
    """

    def __init__(  # its columns
        self,
        tick: int,
        agents: Ints,
        kinds: Sequence[Kind],
        codes: NDArray[np.intp],
        effects: Mapping[int, Any],
        reasons: Mapping[int, str],
        of_kinds: Sequence[Any] = (),
    ) -> None:
        self.tick = tick
        self.agents = agents
        self.kinds = kinds
        self.codes = codes
        self.effects = effects
        self.reasons = reasons
        self.of_kinds = of_kinds or (None,) * len(kinds)
        self._each: Sequence[Update[Any]] | None = None
        """The updates themselves, where they came one by one."""

    @classmethod
    def of(cls, updates: Sequence[Update[Any]], agents: Ints | None = None) -> Updates:
        """Return the columns of one or more updates of the same tick, ascending by agent."""
        count = len(updates)
        if agents is None:
            agents = np.fromiter(map(_agent, updates), dtype=np.int64, count=count)
        more = [each for each in updates if each.effect is not None or each.reason]
        numbers = defaultdict[tuple[str, ...], int](itertools.count().__next__)
        codes = np.fromiter(map(numbers.__getitem__, map(_kind, updates)), dtype=np.intp, count=count)
        found = cls(
            updates[0].tick,
            agents,
            tuple(map(Kind._make, numbers)),
            codes,
            {each.agent: each.effect for each in more if each.effect is not None},
            {each.agent: each.reason for each in more if each.reason},
        )
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
                self.effects.get(agent, self.of_kinds[code]),
                self.reasons.get(agent, ""),
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
            numbers = agents.tolist() if self.effects or self.reasons else ()
            piece = Updates(
                self.tick,
                agents,
                self.kinds,
                self.codes[cut],
                {agent: self.effects[agent] for agent in numbers if agent in self.effects},
                {agent: self.reasons[agent] for agent in numbers if agent in self.reasons},
                self.of_kinds,
            )
            piece._each = None if self._each is None else self._each[cut]
            yield piece

    def forms(self) -> Iterator[tuple[Kind, Any]]:
        """Return an iterator over the kinds, each with the effect that all its updates have."""
        return zip(self.kinds, self.of_kinds, strict=True)

    @cached_property
    def counts(self) -> list[int]:
        found: list[int] = np.bincount(self.codes, minlength=len(self.kinds)).tolist()
        return found
