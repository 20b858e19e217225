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
from collections.abc import Collection, Mapping
from typing import Any, Final

from prism.config.yaml_text import Entry, read_document, without_lines
from prism.errors import ConfigError
from prism.expectations import found, guess, join
from prism.kernel_delays import DELAY_MAX
from prism.statechart.definition import ChartDefinition, Delay, DelayLaw, RowDefinition, SetDefinition, StateDefinition

NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""A state's or trigger's name: it is a label in metrics, a column in tables and a word in prompts."""
FIELD: Final = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that no text may have: other programs could not read the drawings, and a model would see them."""
STATES_MAX: Final = 200
"""The most states of a chart: every one is a time series in the metrics."""

CHART_KEYS: Final = ("name", "initial", "states")
STATE_KEYS: Final = (
    "description",
    "role",
    "effect",
    "after",
    "initial",
    "on_entry",
    "on_exit",
    "transitions",
    "states",
)
ROW_KEYS: Final = ("trigger", "target", "when", "do", "oracle", "label", "effect", "set")
SET_KEYS: Final = ("to", "when")
AFTER_KEYS: Final = ("ticks", "trigger")
_LAWS: Final = {DelayLaw.UNIFORM: 2, DelayLaw.GEOMETRIC: 1, DelayLaw.LOG_NORMAL: 2}


def read_chart(text: str, source: str) -> ChartDefinition:
    """Return the chart in a YAML text.

    Raises:
        ConfigError: the text is no chart; the message names the line and the key.
    """
    return _ChartReader(source).chart(read_document(text, source))


class _ChartReader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._lines: dict[str, int] = {}

    def chart(self, top: Mapping[str, Entry]) -> ChartDefinition:
        self._known(top, CHART_KEYS, "", 1)
        for required in ("initial", "states"):
            if required not in top:
                raise ConfigError(self._source, f"a chart needs the key {required}", line=1)
        initial = top["initial"]
        return ChartDefinition(
            name=self._text(top.get("name"), "name"),
            initial=self._name(initial.value, "initial", initial.line),
            states=self._states(top["states"], ""),
            source=self._source,
            initial_line=initial.line,
        )

    def _states(self, entry: Entry, path: str) -> tuple[StateDefinition, ...]:
        key = join(path, "states")
        if not isinstance(entry.value, dict) or not entry.value:
            raise self._refused(key, f"expected a mapping from names to states, got {found(entry.value)}", entry.line)
        return tuple(self._state(name, each, join(key, name)) for name, each in entry.value.items())

    def _state(self, name: str, entry: Entry, path: str) -> StateDefinition:
        self._name(name, path, entry.line)
        if name in self._lines:
            raise self._refused(path, f"is a state in line {self._lines[name]} already", entry.line)
        self._lines[name] = entry.line
        if len(self._lines) > STATES_MAX:
            raise self._refused(path, f"is one more than the {STATES_MAX} states that a chart may have", entry.line)
        value = {} if entry.value is None else entry.value
        if not isinstance(value, dict):
            raise self._refused(path, f"expected a mapping, got {found(without_lines(value))}", entry.line)
        self._known(value, STATE_KEYS, path, entry.line)
        inner = self._states(value["states"], path) if "states" in value else ()
        state = StateDefinition(
            name=name,
            description=self._text(value.get("description"), join(path, "description")),
            role=self._text(value.get("role"), join(path, "role")),
            effect=self._text(value.get("effect"), join(path, "effect")),
            after=self._after(value["after"], join(path, "after")) if "after" in value else None,
            initial=self._text(value.get("initial"), join(path, "initial")),
            on_entry=self._texts(value.get("on_entry"), join(path, "on_entry")),
            on_exit=self._texts(value.get("on_exit"), join(path, "on_exit")),
            rows=self._rows(value.get("transitions"), join(path, "transitions")),
            states=inner,
            line=entry.line,
        )
        self._check_nesting(state, value, path)
        return state

    def _check_nesting(self, state: StateDefinition, value: Mapping[str, Entry], path: str) -> None:
        """Refuse a state with inner states that lacks `initial`, or has what only an innermost state can have."""
        if not state.states:
            if state.initial:
                raise self._refused(join(path, "initial"), "is for states with inner states", value["initial"].line)
            return
        names = [inner.name for inner in state.states]
        if state.initial not in names:
            problem = f"expected one of its inner states ({', '.join(names)}), got {state.initial or 'nothing'}"
            line = value["initial"].line if "initial" in value else state.line
            raise self._refused(join(path, "initial"), problem, line)
        for key in ("after", "role", "effect"):
            if key in value:
                problem = f"is for innermost states; give it to {', '.join(names)}"
                raise self._refused(join(path, key), problem, value[key].line)

    def _rows(self, entry: Entry | None, path: str) -> tuple[RowDefinition, ...]:
        if entry is None or entry.value is None:
            return ()
        if not isinstance(entry.value, list):
            raise self._refused(path, f"expected a list of rows, got {found(without_lines(entry.value))}", entry.line)
        return tuple(self._row(row, f"{path}[{place}]", entry.line) for place, row in enumerate(entry.value))

    def _row(self, row: object, path: str, line: int) -> RowDefinition:
        if not isinstance(row, dict) or not row:
            problem = f"expected a row such as {{trigger: sees_post, target: evaluating}}, got {found(row)}"
            raise self._refused(path, problem, line)
        line = min(each.line for each in row.values())
        self._known(row, ROW_KEYS, path, line)
        if "trigger" not in row:
            raise self._refused(path, "a row needs a trigger", line)
        oracle = row["oracle"].value if "oracle" in row else None
        if not isinstance(oracle, bool | None):
            raise self._refused(
                join(path, "oracle"), f"expected true or false, got {found(oracle)}", row["oracle"].line
            )
        target = self._text(row.get("target"), join(path, "target"))
        if "target" in row and not target:
            raise self._refused(
                join(path, "target"),
                "expected the name of a state; without the key, the oracle chooses among the targets of the other rows",
                row["target"].line,
            )
        return RowDefinition(
            trigger=self._name(row["trigger"].value, join(path, "trigger"), row["trigger"].line),
            target=target,
            when=self._text(row.get("when"), join(path, "when")),
            do=self._texts(row.get("do"), join(path, "do")),
            oracle=oracle,
            label=self._text(row.get("label"), join(path, "label")),
            effect=self._text(row.get("effect"), join(path, "effect")),
            sets=self._sets(row["set"], join(path, "set")) if "set" in row else (),
            line=line,
        )

    def _sets(self, entry: Entry, path: str) -> tuple[SetDefinition, ...]:
        if not isinstance(entry.value, dict) or not entry.value:
            problem = f"expected a mapping such as {{opinion: author.opinion}}, got {found(without_lines(entry.value))}"
            raise self._refused(path, problem, entry.line)
        return tuple(self._set(name, each, join(path, name)) for name, each in entry.value.items())

    def _set(self, name: str, entry: Entry, path: str) -> SetDefinition:
        value = entry.value
        if not isinstance(value, dict):
            return SetDefinition(name=name, to=self._value(entry, path), line=entry.line)
        self._known(value, SET_KEYS, path, entry.line)
        if "to" not in value:
            raise self._refused(path, "needs to, an expression for the new value", entry.line)
        when = self._value(value["when"], join(path, "when")) if "when" in value else ""
        return SetDefinition(name=name, to=self._value(value["to"], join(path, "to")), when=when, line=entry.line)

    def _value(self, entry: Entry, path: str) -> str:
        """Return the text of an expression, which YAML may have read as a number, or as true or false."""
        value = entry.value
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int | float):
            return f"{value}"
        text = self._text(entry, path)
        if not text:
            raise self._refused(path, f"expected an expression, got {found(value)}", entry.line)
        return text

    def _after(self, entry: Entry, path: str) -> Delay:
        value = entry.value
        if not isinstance(value, dict):
            problem = f"expected {{ticks: 2, trigger: timeout}}, got {found(without_lines(value))}"
            raise self._refused(path, problem, entry.line)
        self._known(value, AFTER_KEYS, path, entry.line)
        for required in AFTER_KEYS:
            if required not in value:
                raise self._refused(path, f"a delay needs {required}", entry.line)
        trigger = self._name(value["trigger"].value, join(path, "trigger"), value["trigger"].line)
        return self._delay(trigger, value["ticks"], join(path, "ticks"))

    def _delay(self, trigger: str, entry: Entry, path: str) -> Delay:
        ticks = entry.value
        if isinstance(ticks, int) and not isinstance(ticks, bool) and 1 <= ticks <= DELAY_MAX:
            return Delay(trigger=trigger, numbers=(float(ticks),))
        if isinstance(ticks, str) and FIELD.fullmatch(ticks):
            return Delay(trigger=trigger, law=DelayLaw.FIELD, numbers=(), field=ticks)
        if isinstance(ticks, dict) and len(ticks) == 1:
            ((law, inner),) = ticks.items()
            if law in _LAWS:
                return self._drawn(trigger, DelayLaw(law), inner, join(path, law))
        problem = (
            f"expected a number of ticks from 1 to {DELAY_MAX}, a field such as statechart.rest_ticks, or one of "
            f"{{uniform: [1, 5]}}, {{geometric: 4}}, {{log_normal: [3, 0.5]}}, got {found(without_lines(ticks))}"
        )
        raise self._refused(path, problem, entry.line)

    def _drawn(self, trigger: str, law: DelayLaw, entry: Entry, path: str) -> Delay:
        value = without_lines(entry.value)
        given: list[Any] = value if isinstance(value, list) else [value]
        stated = [each for each in given if isinstance(each, int | float) and not isinstance(each, bool)]
        count = _LAWS[law]
        if not len(stated) == len(given) == count:
            expected = "a number" if count == 1 else f"{count} numbers in a list"
            raise self._refused(path, f"expected {expected}, got {found(value)}", entry.line)
        # An int may be too large for a float. Beyond the limits its size makes no difference: it is refused.
        numbers = [float(max(-1, min(each, DELAY_MAX + 1))) for each in stated]
        first, last = numbers[0], numbers[-1]
        fits = {
            DelayLaw.UNIFORM: 1 <= first <= last <= DELAY_MAX and first.is_integer() and last.is_integer(),
            DelayLaw.GEOMETRIC: 1 <= first <= DELAY_MAX,
            DelayLaw.LOG_NORMAL: 0 < first <= DELAY_MAX and 0 <= last <= 10,
        }
        if not fits[law]:
            expected = {
                DelayLaw.UNIFORM: "whole numbers of ticks, least and most, from 1",
                DelayLaw.GEOMETRIC: "a mean of 1 tick or more",
                DelayLaw.LOG_NORMAL: "a median above 0, and a sigma from 0 to 10",
            }[law]
            raise self._refused(path, f"expected {expected}, got {found(value)}", entry.line)
        return Delay(trigger=trigger, law=law, numbers=tuple(numbers))

    def _name(self, value: object, path: str, line: int) -> str:
        if not isinstance(value, str) or not NAME.fullmatch(value):
            problem = f"expected a name of lower-case letters, digits and _, got {found(without_lines(value))}"
            raise self._refused(path, problem, line)
        return value

    def _text(self, entry: Entry | None, path: str) -> str:
        if entry is None or entry.value is None:
            return ""
        if not isinstance(entry.value, str):
            raise self._refused(path, f"expected a text, got {found(without_lines(entry.value))}", entry.line)
        if CONTROL.search(entry.value):
            problem = f"expected a text without control characters, got {ascii(entry.value)[:60]}"
            raise self._refused(path, problem, entry.line)
        return entry.value.strip()

    def _texts(self, entry: Entry | None, path: str) -> tuple[str, ...]:
        if entry is None or entry.value is None:
            return ()
        values: list[Any] = entry.value if isinstance(entry.value, list) else [entry.value]
        for value in values:
            if not isinstance(value, str) or not value.strip():
                problem = f"expected the name of an action, or a list of names, got {found(without_lines(value))}"
                raise self._refused(path, problem, entry.line)
        return tuple(value.strip() for value in values)

    def _known(self, entries: Mapping[str, Entry], keys: Collection[str], path: str, line: int) -> None:
        for key, entry in entries.items():
            if key not in keys:
                raise self._refused(join(path, key), f"unknown key; {guess(key, keys)}", entry.line or line)

    def _refused(self, key: str, problem: str, line: int) -> ConfigError:
        return ConfigError(self._source, problem, key=key, line=line)
