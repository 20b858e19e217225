"""A chart as its author writes it, and the reader of its file. `prism.statechart.behaviour` makes it run.

    initial: idle
    states:
      idle:
        description: Stop browsing, wait for next round
        role: offline
        transitions:
          - {trigger: feed_ready, target: scrolling}
      ...

docs/behaviour.md describes every key. The records have the keys of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, cast

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from prism.checked import record_of
from prism.config.yaml_text import Document, read_document
from prism.errors import SettingError, StatechartError
from prism.expectations import found, join
from prism.kernel_rng import CONSTANT, DELAY_MAX, GEOMETRIC, LOG_NORMAL, UNIFORM, delay_ticks

STATES_MAX: Final = 200
"""The most states of a chart: every one is a time series in the metrics."""
Name = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,63}\Z", title="a name of lower-case letters, digits and _")]
"""A state's or trigger's name: it is a label in metrics, a column in tables and a word in prompts."""
# Other programs could not read drawings with control characters, and a model would see them.
Words = Annotated[str, Meta(pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*\Z", title="a text without control characters")]
# No pattern stands in a union: msgspec 0.22 frees it too early there.
Action = Annotated[str, Meta(min_length=1, title="the name of an action")]
ROW_TITLE: Final = "a row such as {trigger: sees_post, target: evaluating}"
TARGET_TITLE: Final = "the name of a state; without the key, the oracle chooses among the targets of the other rows"
Target = Annotated[str, Meta(min_length=1, title=TARGET_TITLE)]
Actions = Annotated[tuple[Action, ...], Meta(title="the name of an action, or a list of names")]
Formula = Annotated[str, Meta(min_length=1)] | float | int | bool
"""The text of an expression, which YAML may have read as a number, or as true or false."""
FIELD: Final = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")

LAWS: Final[Mapping[str, int]] = {
    "constant": CONSTANT,
    "uniform": UNIFORM,
    "geometric": GEOMETRIC,
    "log_normal": LOG_NORMAL,
}
"""`{law of a delay: its number in kernels}`."""


class Delay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The time after which a state ends by itself: `trigger` comes so many ticks after the state was entered.

    Args:
        ticks: a number of ticks, a field or a distribution. The last is `{uniform: [least, most]}`, `{geometric: mean}`
            or `{log_normal: [median, sigma]}`, with the standard deviation of the logarithm.

    Raises:
        SettingError: it is none of these.
    """

    ticks: Any
    trigger: Name

    def __post_init__(self) -> None:
        ticks = self.ticks
        if type(ticks) is int and 1 <= ticks <= DELAY_MAX:
            return
        if isinstance(ticks, str) and FIELD.fullmatch(ticks):
            return
        law, given = "", cast("Any", None)
        if isinstance(ticks, dict) and len(ticks) == 1:
            ((law, given),) = ticks.items()
        if law == "constant" or law not in LAWS:
            problem = (
                f"expected a number of ticks from 1 to {DELAY_MAX}, a field such as statechart.rest_ticks, or one of "
                f"{{uniform: [1, 5]}}, {{geometric: 4}}, {{log_normal: [3, 0.5]}}, got {found(ticks)}"
            )
            raise SettingError("delay", problem, keys=("ticks",))
        listed = given if isinstance(given, list) else [given]
        count = 1 if law == "geometric" else 2
        if len(listed) != count or not all(type(each) in (int, float) for each in listed):
            fits, expected = False, "a number" if count == 1 else f"{count} numbers in a list"
        else:
            first, last = listed[0], listed[-1]
            if law == "uniform":
                fits = 1 <= first <= last <= DELAY_MAX and first == first // 1 and last == last // 1
                expected = "whole numbers of ticks, least and most, from 1"
            elif law == "geometric":
                fits, expected = 1 <= first <= DELAY_MAX, "a mean of 1 tick or more"
            else:
                fits = 0 < first <= DELAY_MAX and 0 <= last <= 10
                expected = "a median above 0, and a sigma from 0 to 10"
        if not fits:
            raise SettingError("delay", f"expected {expected}, got {found(given)}", keys=(f"ticks.{law}",))

    @property
    def field(self) -> str:
        """The field that has the ticks; empty if no field has them."""
        return self.ticks if isinstance(self.ticks, str) else ""

    @property
    def law(self) -> str:
        return next(iter(self.ticks)) if isinstance(self.ticks, dict) else "constant"

    @property
    def numbers(self) -> list[float]:
        given = self.ticks[self.law] if isinstance(self.ticks, dict) else self.ticks
        return [*map(float, given if isinstance(given, list) else [given])]

    def drawn(self, draw: float = 0.0, read: Callable[[str], float] | None = None) -> int:
        """Return the delay in ticks: 1 or more."""
        if self.field:
            if read is None:
                raise StatechartError(f"a delay of {self.field} ticks needs a reader of fields")
            return int(delay_ticks(CONSTANT, float(read(self.field)), 0.0, draw))
        first, second = (*self.numbers, 0.0)[:2]
        return int(delay_ticks(LAWS[self.law], first, second, draw))

    def __str__(self) -> str:
        shown = self.field or ", ".join(f"{number:g}" for number in self.numbers)
        law = f"{self.law.replace('_', '-')}({shown})" if isinstance(self.ticks, dict) else shown
        return f"after {law} tick{'' if self.ticks == 1 else 's'}"


class SetDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change of one of the agent's attributes.

    Args:
        to: an expression for the new value.
        when: a condition without which it stays; empty for none.
    """

    to: Annotated[Formula, Meta(title="an expression")]
    when: Annotated[Formula, Meta(title="an expression")] = ""


class RowDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row, such as `{trigger: sees_post, target: evaluating}`.

    Args:
        target: empty leaves the choice to the oracle.
        when: an expression, or a function as `module:name`; empty for the else.
        do: names of actions, or functions as `module:name`, in order.
        place: its key in the file.
    """

    trigger: Name
    target: Target = ""
    when: Words = ""
    do: Actions = ()
    oracle: bool | None = None
    label: Words = ""
    effect: Words = ""
    set: Annotated[
        dict[str, Annotated[SetDefinition | Formula, Meta(title="an expression")]],
        Meta(min_length=1, title="a mapping such as {opinion: author.opinion}"),
    ] = {}
    place: str = msgspec.field(default="", name="\x7fplace")  # no file has this key


class StateDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A state, with its inner states.

    Args:
        description: what a model reads of it as an option.
        role: what the world does for an agent in it.
        effect: what happens in the world when its delay is over.
        on_entry: actions before those of inner states; on_exit: after those.
        transitions: its rows. They hold in every inner state too, after the inner state's own.
        name: unique in the chart; place: its key in the file.
    """

    description: Words = ""
    role: Words = ""
    effect: Words = ""
    after: Annotated[Delay, Meta(title="{ticks: 2, trigger: timeout}")] | None = None
    initial: Words = ""
    on_entry: Actions = ()
    on_exit: Actions = ()
    transitions: Annotated[
        tuple[Annotated[RowDefinition, Meta(title=ROW_TITLE)], ...], Meta(title="a list of rows")
    ] = ()
    states: States = {}
    name: str = msgspec.field(default="", name="\x7fname")
    place: str = msgspec.field(default="", name="\x7fplace")

    @property
    def entered(self) -> str:
        """The innermost state that is entered with it."""
        return self.states[self.initial].entered if self.states else self.name

    def walk(self, outer: tuple[StateDefinition, ...] = ()) -> Iterator[tuple[StateDefinition, ...]]:
        path = (*outer, self)
        yield path
        for state in self.states.values():
            yield from state.walk(path)


States = Annotated[
    dict[Name, Annotated[StateDefinition, Meta(title="a mapping")]],
    Meta(min_length=1, title="a mapping from names to states"),
]


class ChartDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chart, and the text that it was read from."""

    initial: Name
    states: States
    name: Words = ""
    file: Document = msgspec.field(default=Document({}, "chart", {}), name="\x7ffile")

    def walk(self) -> Iterator[tuple[StateDefinition, ...]]:
        """Yield each state with those around it, from the outermost to itself."""
        for state in self.states.values():
            yield from state.walk()


def read_chart(text: str, source: str) -> ChartDefinition:
    """Return the chart in a YAML text, or raise a ConfigError that names the line and the key."""
    file = read_document(text, source)
    plain = _tidied(file.value)
    try:  # takes a third of the time of `record_of`, which is needed only to name the key of an error
        chart = msgspec.convert(plain, ChartDefinition)
    except msgspec.ValidationError:
        try:
            chart = record_of(ChartDefinition, plain)
        except SettingError as error:
            raise file.refused(error.problem, error.keys[0]) from None
    return replace(chart, states=_placed(chart.states, "states", file, {}), file=file)


_MAY_BE_BLANK: Final = {"name", "initial", "description", "role", "effect", "on_entry", "on_exit", "transitions"} | {
    *("when", "do", "oracle", "label")
}


def _tidied(value: Any, key: str = "") -> Any:
    """Return a part of a chart without the spaces around texts and keys left blank; a single action becomes a list.

    Names of states and attributes, which are the keys of `states` and `set`, are kept without a value, too.
    """
    if isinstance(value, dict):
        is_of_names = key in ("states", "set")
        return {
            name: {} if each is None and key == "states" else _tidied(each, "" if is_of_names else name)
            for name, each in value.items()
            if each is not None or is_of_names or name not in _MAY_BE_BLANK
        }
    if isinstance(value, list):
        return [_tidied(each) for each in value]
    tidy = value.strip() if isinstance(value, str) else value
    return [tidy] if key in ("do", "on_entry", "on_exit") and isinstance(tidy, str) else tidy


def _placed(
    states: Mapping[str, StateDefinition], key: str, file: Document, known: dict[str, str]
) -> dict[str, StateDefinition]:
    """Return states with their names and places, which are added to `known`: `{name of a state: its place}`."""
    placed = {}
    for name, state in states.items():
        place, inner = join(key, name), state.states
        if name in known:
            raise file.refused(f"is a state in line {file.line(known[name])} already", place)
        known[name] = place
        if len(known) > STATES_MAX:
            raise file.refused(f"is one more than the {STATES_MAX} states that a chart may have", place)
        inside = _placed(inner, join(place, "states"), file, known)
        # A state with inner states has `initial`, and nothing that only an innermost state can have.
        if not inner and state.initial:
            raise file.refused("is for states with inner states", join(place, "initial"))
        if inner and state.initial not in inner:
            problem = f"expected one of its inner states ({', '.join(inner)}), got {state.initial or 'nothing'}"
            raise file.refused(problem, join(place, "initial"))
        for only_inner in ("after", "role", "effect") if inner else ():
            if getattr(state, only_inner):
                problem = f"is for innermost states; give it to {', '.join(inner)}"
                raise file.refused(problem, join(place, only_inner))
        rows = tuple(replace(row, place=f"{place}.transitions[{at}]") for at, row in enumerate(state.transitions))
        placed[name] = replace(state, name=name, place=place, transitions=rows, states=inside)
    return placed
