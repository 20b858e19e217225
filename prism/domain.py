"""What the runtime asks of a domain. Social feeds and economies answer it; so can a domain of your own.

The runtime knows triggers, updates and questions. What they mean is the world's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from prism.agents.stateful import StatefulAgent
from prism.agents.turn import Question, Trigger, Update
from prism.columns import Column, Columns
from prism.llm.port import LanguageModel
from prism.measure import Measure
from prism.statechart import Oracle, Statechart


class World(Protocol):
    """The state of everything, and the only thing the engine writes to.

    The calls that change it are made by the engine alone: in each tick first for the triggers, then for the decisions
    that are due, then for the reactions, each time in the order of agent numbers. So a world needs no locks, and must
    not depend on anything but what it is told.
    """

    def triggers(self, tick: int) -> Sequence[Trigger[Any]]:
        """What happens to whom in this tick: ascending by agent, at most one each.

        None for those who deliberate, and none for those whose last update says `quarantine`: nobody would answer.
        """

    def reactions(self, tick: int) -> Sequence[Trigger[Any]]:  # noqa: ARG002  # most worlds have none
        """What happens in the same tick because of what has been applied in it; asked for again until nothing does.

        The rules of `triggers` hold for each call. Source: the macrosteps of Harel & Naamad (1996).
        """
        return ()

    def apply(self, update: Update[Any]) -> None:
        """An agent took its turn: carry out what it did, and plan what happens to it next."""

    def deliberates(self, question: Question[Any]) -> None:
        """An agent waits for the oracle: nothing happens to it until its decision comes back as an update."""

    def totals(self) -> dict[str, Any]:
        """What the run's summary says about this world, as JSON values."""

    def measures(self) -> Sequence[Measure]:
        """What is shown of this world while it runs: the same names and labels each time. Asked for between ticks."""
        return ()

    def columns(self) -> Iterator[Column]:
        """Everything that `restore` needs to go on from here as if nothing had happened, piece by piece.

        Asked for between two ticks. Nothing changes until the last piece has been taken.
        """

    def restore(self, columns: Columns) -> None:
        """Become the world whose columns these are. Called once, on a new world, before its first tick."""


class Domain(Protocol):
    """A kind of world, with its people and its chart."""

    @property
    def size(self) -> int:
        """How many agents there are, numbered from 0."""

    @property
    def chart(self) -> Statechart[Any]:
        """The statechart they share."""

    @property
    def world(self) -> World:
        """The world they live in."""

    @property
    def context_type(self) -> Any:
        """The type of what triggers carry; `None` for nothing."""

    @property
    def effect_type(self) -> Any:
        """The type of what updates do beyond the state; `None` for nothing."""

    @property
    def priority(self) -> int:
        """Whose questions go first where several kinds wait for one oracle: 0 before 1, an economy before a feed."""

    def agent(self, agent_id: int) -> StatefulAgent[Any]:
        """The agent as its last applied update left it: a new one at the start, the same one after a restart."""

    def asker(self, question: Question[Any]) -> StatefulAgent[Any]:
        """Who asks a question, as an oracle may see them: their persona, state and tick."""

    @property
    def checkpoint_every_ticks(self) -> int:
        """How often a checkpoint is worth its price, unless the configuration says otherwise."""

    def oracle(self, model: LanguageModel | None = None) -> Oracle[Any]:
        """The oracle that asks this model, or without one the embedded oracle, which needs no server."""
