"""The reader of chart files: a YAML text becomes a `ChartDefinition`, or one clear error with its line.

    initial: idle
    states:
      idle:
        description: Stop browsing, wait for next round
        role: offline
        transitions:
          - {trigger: feed_ready, target: scrolling}
      ...

docs/behaviour.md describes every key.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from prism.checked import record_of
from prism.config.yaml_text import Document, read_document
from prism.errors import ConfigError, SettingError
from prism.expectations import found, join
from prism.kernel_delays import DELAY_MAX
from prism.statechart.definition import ChartDefinition, Delay, DelayLaw, RowDefinition, SetDefinition, StateDefinition

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
Actions = Annotated[Action | tuple[Action, ...], Meta(title="the name of an action, or a list of names")]
Formula = Annotated[str, Meta(min_length=1)] | float | int | bool
"""The text of an expression, which YAML may have read as a number, or as true or false."""
FIELD: Final = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


class SetKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a change of an attribute.

    Args:
        to: an expression for the new value.
    """

    to: Annotated[Formula, Meta(title="an expression")]
    when: Annotated[Formula, Meta(title="an expression")] = ""


class RowKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a row, such as `{trigger: sees_post, target: evaluating}`."""

    trigger: Name
    target: Target = ""
    when: Words = ""
    do: Actions = ()
    oracle: bool | None = None
    label: Words = ""
    effect: Words = ""
    set: Annotated[
        dict[str, Annotated[SetKeys | Formula, Meta(title="an expression")]],
        Meta(min_length=1, title="a mapping such as {opinion: author.opinion}"),
    ] = {}


class AfterKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a delay.

    Args:
        ticks: a number of ticks, a field or a distribution.
    """

    ticks: Any
    trigger: Name


class StateKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a state."""

    description: Words = ""
    role: Words = ""
    effect: Words = ""
    after: Annotated[AfterKeys, Meta(title="{ticks: 2, trigger: timeout}")] | None = None
    initial: Words = ""
    on_entry: Actions = ()
    on_exit: Actions = ()
    transitions: Annotated[tuple[Annotated[RowKeys, Meta(title=ROW_TITLE)], ...], Meta(title="a list of rows")] = ()
    states: States = {}


State = Annotated[StateKeys | None, Meta(title="a mapping")]
States = Annotated[dict[Name, State], Meta(min_length=1, title="a mapping from names to states")]


class ChartKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a chart."""

    initial: Name
    states: States
    name: Words = ""


def read_chart(text: str, source: str) -> ChartDefinition:
    """Return the chart in a YAML text.

    Raises:
        ConfigError: the text is no chart; the message names the line and the key.
    """
    top = read_document(text, source)
    plain = _tidied(top.value)
    try:  # takes a third of the time of `record_of`, which is needed only to name the key of an error
        chart = msgspec.convert(plain, ChartKeys)
    except msgspec.ValidationError:
        try:
            chart = record_of(ChartKeys, plain)
        except SettingError as error:
            raise top.refused(error.problem, error.keys[0]) from None
    reader = _ChartReader(top)
    return ChartDefinition(
        name=chart.name,
        initial=chart.initial,
        states=reader.states(chart.states, ""),
        source=source,
        initial_line=top.line("initial") or 0,
    )


_KEYS: Final = (*ChartKeys.__struct_fields__, *StateKeys.__struct_fields__, *RowKeys.__struct_fields__)
_MAY_BE_BLANK: Final = {*_KEYS} - {"states", "after", "trigger", "target", "set"}


def _tidied(value: Any, *, of_names: bool = False) -> Any:
    """Return a part of a chart without the spaces around texts, and without keys that are left blank.

    Args:
        of_names: whether its keys are names of states or attributes: these are kept without a value, too.
    """
    if isinstance(value, dict):
        return {
            key: _tidied(each, of_names=not of_names and key in ("states", "set"))
            for key, each in value.items()
            if each is not None or of_names or key not in _MAY_BE_BLANK
        }
    if isinstance(value, list):
        return [*map(_tidied, value)]
    return value.strip() if isinstance(value, str) else value


class _ChartReader:
    def __init__(self, top: Document) -> None:
        self._top = top
        self._lines: dict[str, int] = {}

    def states(self, states: dict[str, StateKeys | None], path: str) -> tuple[StateDefinition, ...]:
        key = join(path, "states")
        return tuple(self._state(name, each or StateKeys(), join(key, name)) for name, each in states.items())

    def _state(self, name: str, given: StateKeys, path: str) -> StateDefinition:
        if name in self._lines:
            raise self._refused(path, f"is a state in line {self._lines[name]} already")
        self._lines[name] = line = self._top.line(path) or 0
        if len(self._lines) > STATES_MAX:
            raise self._refused(path, f"is one more than the {STATES_MAX} states that a chart may have")
        inner = self.states(given.states, path)
        # A state with inner states has `initial`, and nothing that only an innermost state can have.
        if not given.states and given.initial:
            raise self._refused(join(path, "initial"), "is for states with inner states")
        if given.states and given.initial not in given.states:
            problem = f"expected one of its inner states ({', '.join(given.states)}), got {given.initial or 'nothing'}"
            raise self._refused(join(path, "initial"), problem)
        for key in ("after", "role", "effect") if given.states else ():
            if getattr(given, key):
                raise self._refused(join(path, key), f"is for innermost states; give it to {', '.join(given.states)}")
        rows = enumerate(given.transitions)
        return StateDefinition(
            name=name,
            description=given.description,
            role=given.role,
            effect=given.effect,
            after=None if given.after is None else self._delay(given.after, join(path, "after.ticks")),
            initial=given.initial,
            on_entry=_names(given.on_entry),
            on_exit=_names(given.on_exit),
            rows=tuple(self._row(row, f"{path}.transitions[{place}]") for place, row in rows),
            states=inner,
            line=line,
        )

    def _row(self, row: RowKeys, path: str) -> RowDefinition:
        sets = []
        for name, each in row.set.items():
            change = each if isinstance(each, SetKeys) else SetKeys(to=each)
            line = self._top.line(f"{path}.set.{name}") or 0
            sets.append(SetDefinition(name=name, to=_text(change.to), when=_text(change.when), line=line))
        return RowDefinition(
            trigger=row.trigger,
            target=row.target,
            when=row.when,
            do=_names(row.do),
            oracle=row.oracle,
            label=row.label,
            effect=row.effect,
            sets=tuple(sets),
            line=self._top.line(path) or 0,
        )

    def _delay(self, after: AfterKeys, path: str) -> Delay:
        ticks, trigger = after.ticks, after.trigger
        if isinstance(ticks, int) and not isinstance(ticks, bool) and 1 <= ticks <= DELAY_MAX:
            return Delay(trigger=trigger, numbers=(float(ticks),))
        if isinstance(ticks, str) and FIELD.fullmatch(ticks):
            return Delay(trigger=trigger, law=DelayLaw.FIELD, numbers=(), field=ticks)
        law, given = next(iter(ticks.items())) if isinstance(ticks, dict) and len(ticks) == 1 else ("", None)
        if law not in _LAWS:
            raise self._refused(
                path,
                f"expected a number of ticks from 1 to {DELAY_MAX}, a field such as statechart.rest_ticks, or one of "
                f"{{uniform: [1, 5]}}, {{geometric: 4}}, {{log_normal: [3, 0.5]}}, got {found(ticks)}",
            )
        listed = given if isinstance(given, list) else [given]
        stated = [each for each in listed if isinstance(each, int | float) and not isinstance(each, bool)]
        if not len(stated) == len(listed) == _LAWS[law]:
            expected = "a number" if _LAWS[law] == 1 else f"{_LAWS[law]} numbers in a list"
            raise self._refused(join(path, law), f"expected {expected}, got {found(given)}")
        # An int may be too large for a float. Beyond the limits its size makes no difference: it is refused.
        numbers = [float(max(-1, min(each, DELAY_MAX + 1))) for each in stated]
        first, last = numbers[0], numbers[-1]
        fits, expected = {
            DelayLaw.UNIFORM: (
                1 <= first <= last <= DELAY_MAX and first.is_integer() and last.is_integer(),
                "whole numbers of ticks, least and most, from 1",
            ),
            DelayLaw.GEOMETRIC: (1 <= first <= DELAY_MAX, "a mean of 1 tick or more"),
            DelayLaw.LOG_NORMAL: (
                0 < first <= DELAY_MAX and 0 <= last <= 10,
                "a median above 0, and a sigma from 0 to 10",
            ),
        }[DelayLaw(law)]
        if not fits:
            raise self._refused(join(path, law), f"expected {expected}, got {found(given)}")
        return Delay(trigger=trigger, law=DelayLaw(law), numbers=tuple(numbers))

    def _refused(self, key: str, problem: str) -> ConfigError:
        return self._top.refused(problem, key)


_LAWS: Final[dict[str, int]] = {DelayLaw.UNIFORM: 2, DelayLaw.GEOMETRIC: 1, DelayLaw.LOG_NORMAL: 2}
"""`{law: how many numbers it has}`."""


def _names(given: Actions) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


def _text(given: Formula) -> str:
    return str(given).lower() if isinstance(given, bool) else str(given)
