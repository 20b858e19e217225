"""A show: all that a domain tells of its runs. Its tables, the names of its numbers, and the panel of an agent.

It is not used while a run goes on, and it changes no run.
"""

# ruff: noqa: ARG002  # what a default does not need, a subclass does

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec
from numpy.typing import NDArray

from prism.agents.turn import Question, Update
from prism.answers import named
from prism.config import Config
from prism.events import Event, Intervened
from prism.tables import Column, Table, Value

Message = Update[Any] | Question[Any] | Event | Intervened
"""A message of a journal. Contexts and effects in it are plain values: lists, mappings, texts and numbers."""


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """A number of the world, which is a column of `rounds.csv`.

    Args:
        column: its name in the file and in `World.totals`.
        name: as people call it, such as `cars that wait`.
        unit: of its values; empty for a count.
        target: the level that is aimed at; None without one.
        is_total: True for a total from the start of the run, of which a round has the increase; False for a level.
    """

    column: str
    name: str
    unit: str = ""
    is_total: bool = False
    target: float | None = None

    def __str__(self) -> str:
        return f"{self.name}, {self.unit}" if self.unit else self.name


class Show:
    """All that a domain tells of its runs. Each part has a default: a subclass says what the domain has.

    The module that a configuration names as its domain has the subclass under the name `SHOW`.

    Args:
        config: of the run.
        settings: those of a user's domain, below `domain`; None for a domain that comes with PRISM.
    """

    agent: str = "agent"
    """The noun for one of its agents."""
    agents: str = "agents"
    """The noun for several of them."""
    round: str = "round"
    """The noun for a round of its runs."""
    title: str = "The world over time"
    """The title of the chart of its numbers."""
    pictures: Collection[str] = ("states",)
    """The pictures of its runs beside those of every run, on the local page and in reports.

    `states`: how many agents are in each over time; `network`: people and their ties; `cascades`: trees of posts, and
    feeds; `quarters`: a council of nations, and indicators beside history. The latter three are drawn from the settings
    of the domains that come with PRISM, so no other domain has them.
    """
    numbers: Sequence[Number] = ()
    """The numbers that charts show; without any they show every number of the world."""
    compared: Sequence[str] = ()
    """The measures, by their places, by which runs are compared in sentences; without any there are no sentences."""
    tables: Sequence[Table] = ()
    """Its own tables, each with the query for its rows."""
    functions: Sequence[Callable[[str], str | None]] = ()
    """Functions that these queries call by their names."""
    post_field: str = ""
    """The field of what a trigger shows that is a post; empty without one."""
    agent_columns: Sequence[Column] = ()
    """Further columns of the table `agents`, whose values `agent_values` has."""

    def __init__(self, config: Config, settings: Any = None) -> None:
        self.config = config
        self.settings = settings

    @property
    def event_tables(self) -> Collection[str]:
        """The tables of `prism.events` that `prism export` writes even if they have no rows."""
        return ()

    def named(self, column: str) -> Number:
        """Return what people call a column of `rounds.csv` or a measure; its own words if it has no other name."""
        words = named(column)
        found = (each for each in self.numbers if each.column == column)
        return next(found, Number(column=column, name=words.name, unit=words.scale))

    def round_names(self, ticks: Sequence[int]) -> Sequence[str]:
        """Return the names of rounds, whose last ticks are given; none where rounds have numbers alone."""
        return ()

    def name(self, agent: int) -> str:
        """Return the name of an agent; empty if it has none."""
        return ""

    def called(self, agent: int) -> str:
        """Return what a page calls an agent: its name, or its number, such as `person 825`."""
        return self.name(agent) or f"{self.agent} {agent:,}"

    def agent_values(self, domain: Any) -> Mapping[str, Sequence[Value] | NDArray[Any]]:
        """Return `{column of agent_columns: the value of each agent at the start}`; a column that is left out is empty.

        Args:
            domain: the domain as a run has it before its first tick.
        """
        return {}

    def panel(self, agent: int, messages: Sequence[Message]) -> Mapping[str, Any]:
        """Return what is shown of an agent beside its state, by name.

        Args:
            messages: its updates and questions, and what took place because of it, up to the tick that is shown. Old
                ones may be left out.
        """
        return {}

    def council(self, tick: int, messages: Sequence[Message]) -> Any:
        """Return what the page shows of a tick if `quarters` are among the pictures, by all its messages."""
        return None

    def effect_name(self, effect: Any) -> str | None:
        """Return the effect of an update in a word, for the table `transitions`; None if it has no name."""
        return effect or None if isinstance(effect, str) else None

    def seen(self, context: Any) -> Mapping[str, Any]:
        """Return what an agent saw with a trigger, by name."""
        return context if isinstance(context, Mapping) else {"context": context}
