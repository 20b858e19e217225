"""One wave in columns: the triggers that a world sends at once, and the updates that it applies at once."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from prism.agents.turn import Trigger, Update
from prism.columns import Ints

C = TypeVar("C")

_agent = attrgetter("agent")
_kind = attrgetter("trigger", "from_state", "to_state", "source")


class Wave(Sequence[Trigger[C]]):
    """The triggers of one wave in columns, ascending by agent. Each trigger is made when it is asked for.

    What it says holds until the world applies an update.

    Args:
        tick: the tick.
        agents: the agents, ascending.
        names: the names of triggers, and `codes`: the number of each agent's among them.
    """

    def __init__(self, tick: int, agents: Ints, names: Sequence[str], codes: NDArray[np.int16]) -> None:
        self.tick = tick
        self.agents = agents
        self.names = names
        self.codes = codes

    def __len__(self) -> int:
        return len(self.agents)

    @overload
    def __getitem__(self, place: int) -> Trigger[C]: ...
    @overload
    def __getitem__(self, place: slice) -> list[Trigger[C]]: ...
    def __getitem__(self, place: int | slice) -> Trigger[C] | list[Trigger[C]]:
        """Return the trigger at a place, or those of a slice."""
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        return self.trigger(int(self.agents[place]), self.names[self.codes[place]])

    def at(self, places: Ints) -> list[Trigger[C]]:
        """Return the triggers at these places. A world that can make them in columns is faster."""
        return [self[place] for place in places.tolist()]

    @abstractmethod
    def trigger(self, agent: int, name: str) -> Trigger[C]:
        """Return the trigger of an agent."""

    @abstractmethod
    def states(self) -> tuple[Sequence[Any], NDArray[np.int16]]:
        """Return the states of the chart, and the number of each agent's among them."""

    def act(self, places: NDArray[np.intp], action: Any) -> Sequence[Any] | None:  # noqa: ARG002  # most have none
        """Return the effects of an action of the agents at these places; None if each must be asked."""
        return None

    @abstractmethod
    def read(self, places: NDArray[np.intp], fields: Collection[str]) -> Mapping[str, NDArray[Any]] | None:
        """Return `{field: its values at these places}`; None if a field has no column, or not at all these places."""


class DecidedWave(Wave[C]):
    """The triggers of one tick that bring decisions. Its `read` and `act` are about what was in view at the question.

    Args:
        tick: the tick.
        triggers: the triggers with their decisions, ascending by agent.
        entered: the tick in which each agent entered its state.
    """

    def __init__(self, tick: int, triggers: Sequence[Trigger[C]], entered: Ints) -> None:
        numbers = defaultdict[str, int](itertools.count().__next__)
        names = np.array([numbers[each.name] for each in triggers], dtype=np.int16)
        super().__init__(tick, np.array([each.agent for each in triggers], dtype=np.int64), [*numbers], names)
        self.triggers = triggers
        decisions = [each.decision for each in triggers]
        self.asked = np.array([-1 if each is None else each.asked for each in decisions], dtype=np.int64)
        """The tick of each question."""
        chosen = defaultdict[tuple[str, str], int](itertools.count().__next__)
        codes = [
            -1 if each is None or each.reason or each.content else chosen[each.state, each.source] for each in decisions
        ]
        self.chosen = np.array(codes, dtype=np.intp)
        """The number of each answer among `answers`; -1 of a fallback, and of an answer with content."""
        self.answers = [*chosen]
        """`(option taken, source)` of each answer that occurs."""
        self.is_plain = (self.chosen >= 0) & (self.asked >= entered)
        """True where the option is taken, and nothing else: the agent has not moved since, and there is no content."""

    def trigger(self, agent: int, name: str) -> Trigger[C]:  # noqa: ARG002  # as in `Wave`
        """Return the trigger of an agent, who has only one."""
        return self.triggers[int(np.searchsorted(self.agents, agent))]


class Kind(NamedTuple):
    """A kind of update, which many agents can have. Worlds and counts look at it once, however many do."""

    trigger: str
    from_state: str
    to_state: str
    source: str


class Updates:
    """The updates of one wave, ascending by agent.

    Args:
        tick: the tick.
        agents: the agents, ascending.
        kinds: the kinds that occur, and `codes`: the number of each agent's among them.
        effects: `{agent: effect}` of the updates that have one.
        reasons: `{agent: reason}` of those that have one.
    """

    def __init__(
        self,
        tick: int,
        agents: Ints,
        kinds: Sequence[Kind],
        codes: NDArray[np.intp],
        effects: Mapping[int, Any],
        reasons: Mapping[int, str],
    ) -> None:
        self.tick = tick
        self.agents = agents
        self.kinds = kinds
        self.codes = codes
        self.effects = effects
        self.reasons = reasons
        self._each: Sequence[Update[Any]] | None = None
        """The updates themselves, where they came one by one."""

    @classmethod
    def of(cls, updates: Sequence[Update[Any]], agents: Ints | None = None) -> Updates:
        """Return the columns of updates that are ascending by agent, all of one tick; there is one at least.

        Args:
            agents: their agents, where they are known.
        """
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
        """Return an iterator over them, one by one."""
        return self._made() if self._each is None else iter(self._each)

    def _made(self) -> Iterator[Update[Any]]:
        effects, reasons = self.effects, self.reasons
        for agent, code in zip(self.agents.tolist(), self.codes.tolist(), strict=True):
            kind = self.kinds[code]
            yield Update(
                self.tick,
                agent,
                kind.trigger,
                kind.from_state,
                kind.to_state,
                kind.source,
                effects.get(agent),
                reasons.get(agent, ""),
            )

    @cached_property
    def counts(self) -> list[int]:
        """The number of updates of each kind."""
        found: list[int] = np.bincount(self.codes, minlength=len(self.kinds)).tolist()
        return found
