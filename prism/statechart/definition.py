"""A chart as its author writes it: nested states, rows, delays and roles. `prism.statechart.flatten` makes it run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum, unique
from typing import Final

import msgspec

from prism.errors import StatechartError
from prism.kernel_delays import CONSTANT, GEOMETRIC, LOG_NORMAL, UNIFORM, delay_ticks


@unique
class DelayLaw(StrEnum):
    CONSTANT = "constant"
    FIELD = "field"
    UNIFORM = "uniform"
    GEOMETRIC = "geometric"
    LOG_NORMAL = "log_normal"


LAWS: Final[Mapping[str, int]] = {
    DelayLaw.CONSTANT: CONSTANT,
    DelayLaw.UNIFORM: UNIFORM,
    DelayLaw.GEOMETRIC: GEOMETRIC,
    DelayLaw.LOG_NORMAL: LOG_NORMAL,
}
"""`{law: its number in kernels}` of those that do not read a field."""


class Delay(msgspec.Struct, frozen=True, kw_only=True):
    """The time after which a state ends by itself: `trigger` comes so many ticks after the state was entered.

    Args:
        numbers: constant: the ticks; uniform: least and most; geometric: the mean; log_normal: the median, and the
            standard deviation of the logarithm.
        field: the field with the ticks, for the law `field`.
    """

    trigger: str
    law: DelayLaw = DelayLaw.CONSTANT
    numbers: tuple[float, ...] = (1.0,)
    field: str = ""

    @property
    def is_random(self) -> bool:
        return self.law not in (DelayLaw.CONSTANT, DelayLaw.FIELD)

    def ticks(self, draw: float = 0.0, read: Callable[[str], float] | None = None) -> int:
        """Return the delay in ticks: 1 or more."""
        if self.law is DelayLaw.FIELD:
            if read is None:
                raise StatechartError(f"a delay of {self.field} ticks needs a reader of fields")
            return int(delay_ticks(CONSTANT, float(read(self.field)), 0.0, draw))
        first, second = (*self.numbers, 0.0)[:2]
        return int(delay_ticks(LAWS[self.law], first, second, draw))

    def __str__(self) -> str:
        shown = ", ".join(f"{number:g}" for number in self.numbers)
        match self.law:
            case DelayLaw.CONSTANT:
                return f"after {shown} tick{'' if self.numbers == (1.0,) else 's'}"
            case DelayLaw.FIELD:
                return f"after {self.field} ticks"
            case _:
                return f"after {self.law.replace('_', '-')}({shown}) ticks"


class SetDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one of the agent's attributes, as its author writes it.

    Args:
        when: a condition without which it stays; empty if there is none.
    """

    name: str
    to: str
    when: str = ""
    line: int = 0


class RowDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A row as its author writes it.

    Args:
        target: the state that it leads to, which may have inner states; empty leaves the choice to the oracle.
        when: an expression, or a function as `module:name`; empty for the else.
        do: names of actions, or functions as `module:name`, in order.
        oracle: as in `Transition`.
        effect: what happens in the world once the row is taken; empty for nothing.
        sets: the attributes that change once it is taken.
    """

    trigger: str
    target: str = ""
    when: str = ""
    do: tuple[str, ...] = ()
    oracle: bool | None = None
    label: str = ""
    effect: str = ""
    sets: tuple[SetDefinition, ...] = ()
    line: int = 0


class StateDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A state as its author writes it, with its inner states.

    Args:
        name: unique in the chart.
        description: what a model reads of it as an option.
        role: what the world does for an agent in it; empty for nothing.
        effect: what happens in the world when its delay is over; empty for nothing.
        after: its delay; None if it lasts until a trigger comes.
        initial: the inner state that is entered with it; empty if it has none.
        on_entry: actions on entering it, before those of inner states.
        on_exit: actions on leaving it, after those of inner states.
        rows: its rows. They hold in every inner state too, after the inner state's own.
        states: its inner states.
    """

    name: str
    description: str = ""
    role: str = ""
    effect: str = ""
    after: Delay | None = None
    initial: str = ""
    on_entry: tuple[str, ...] = ()
    on_exit: tuple[str, ...] = ()
    rows: tuple[RowDefinition, ...] = ()
    states: tuple[StateDefinition, ...] = ()
    line: int = 0

    @property
    def entered(self) -> str:
        state = self
        while state.states:
            state = next(inner for inner in state.states if inner.name == state.initial)
        return state.name

    def walk(self, outer: tuple[StateDefinition, ...] = ()) -> Iterator[tuple[StateDefinition, ...]]:
        path = (*outer, self)
        yield path
        for state in self.states:
            yield from state.walk(path)


class ChartDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A chart as its author writes it."""

    name: str
    initial: str
    states: tuple[StateDefinition, ...]
    source: str = "chart"
    initial_line: int = 0

    def walk(self) -> Iterator[tuple[StateDefinition, ...]]:
        for state in self.states:
            yield from state.walk()
