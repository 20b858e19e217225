"""The settings that a page may change: numbers, choices and yes or no, with bounds and meaning; and a chart's numbers.

A page may not change texts, so it can name no file, no code and no server. Every value passes the checks that a file's
values pass, and interventions do, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
import yaml
from msgspec import inspect
from msgspec.structs import FieldInfo, fields, replace

from actors.core.files import write_file
from actors.factory.domains import chart_text, is_own, look_at_chart
from actors.factory.input_files import kept_name, note_places
from actors.factory.own_code import find_own_domain
from actors.factory.shipped import examples
from prism.answers import setting_in_words
from prism.checked import converted
from prism.config import AttributeConfig, Config, Section, settings
from prism.config.attributes import PLACE as ATTRIBUTES
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.load import load_placed_config
from prism.config.model import ALGORITHMS
from prism.config.section import is_section, sections_of
from prism.errors import ConfigError, SettingError, together
from prism.expectations import join
from prism.statechart import read_chart

NUMBER: Final = re.compile(r"\"[^\"]*\"|'[^']*'|(?<![\w.])(\d+(?:\.\d+)?)(?![\w.])")
"""A number, or a text in quotes, in which none is looked for."""
PLACES: Final = ("after", "when", "set")  # the keys of a state or a row below which numbers can be changed


class ChartNumber(NamedTuple):
    """One number of a chart, from `start` to `end` of its text."""

    start: int
    end: int
    label: str  # `resting: after ticks`
    about: str  # its line, and what stands there
    value: float  # a whole number is an int


def numbers_in(text: str) -> list[ChartNumber]:
    """Return the numbers of a chart that can be changed, in the order of its text."""
    return sorted(_below(text, yaml.compose(text, Loader=yaml.SafeLoader), "", ""))


def with_numbers(text: str, values: Mapping[int, float]) -> str:
    """Return a chart with other values of its numbers, each known by its place among `numbers_in`."""
    found = numbers_in(text)
    for place in sorted(values, reverse=True):  # from the end, so that the places before stay
        digits = f"{values[place]:.6f}".rstrip("0").removesuffix(".")
        text = f"{text[: found[place].start]}{digits}{text[found[place].end :]}"
    return text


def _below(text: str, node: Any, owner: str, key: str) -> Iterator[ChartNumber]:
    """Yield the numbers below a node of a state or a row, its owner. `key`: the keys from one of `PLACES` on to it."""
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _below(text, each, owner, key)
    elif isinstance(node, yaml.MappingNode):
        inner = {one.value: other for one, other in node.value}
        if "trigger" in inner and not key:
            owner = f"{owner} → {inner['target'].value if 'target' in inner else 'oracle'}"
        for name, each in inner.items():
            if name == "states" and not key:
                for state, below in each.value:
                    yield from _below(text, below, state.value, "")
            elif key or name in (*PLACES, "transitions"):
                yield from _below(text, each, owner, f"{key} {name}".removeprefix(" transitions").strip())
    elif key and not key.endswith("trigger"):
        first, last = node.start_mark.index, node.end_mark.index
        inside = (first + 1, last - 1) if node.style in {'"', "'"} else (first, last)
        for found in NUMBER.finditer(text, *inside):
            if found[1] is not None:
                label = f"{owner}: {key}".replace("_", " ")
                about = f"line {node.start_mark.line + 1} of the chart"
                about += "" if found[1] == node.value else f": {node.value}"
                value = int(found[1]) if key.startswith("after") and "." not in found[1] else float(found[1])
                yield ChartNumber(found.start(1), found.end(1), label, about, value)


CHOICE: Final = "oracle.choice"
CHANGED_BY: Final[Mapping[str, Sequence[str]]] = {
    "social": ("simulation", "population", "feed", "statechart", CHOICE),
    "economy": ("simulation", "economy"),
}
"""`{domain: the sections whose settings a page may change}`; those of others change no result. A domain of its own has
its own settings."""
CLOCK: Final = frozenset({"simulation.ticks_per_round", "simulation.tick_seconds"})
"""Settings that a first study leaves alone, though an example has them."""
CHART, CHART_NAME, CHART_MOST = "chart.", "chart.yaml", 10_000
"""The beginning of the paths of a chart's numbers, the name of a copy of the default chart, and their upper bound."""
AGENT_TICKS_MAX: Final = 50_000_000
"""The most agents times ticks of a run from the page: about ten seconds, and some hundred MB of temporary files."""
AGENTS_MAX: Final = 200_000
FIRST_MAX: Final = 20
SOURCE: Final = "the page"

Changes = Mapping[str, Any]


class Control(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One setting that a page may change."""

    path: str
    label: str  # what people call it
    kind: Literal["number", "whole", "choice", "yes"]  # how it is changed; a whole number has no fraction
    value: Any
    meaning: str  # its declaration's, with the source
    unit: str = ""
    least: float | None = None  # least, most: the declared bounds of a number; None without one
    most: float | None = None
    low: float = 0.0  # low, high, step: of the slider, which spans the usual part of the bounds
    high: float = 1.0
    step: float = 1.0
    options: Sequence[str] = ()
    is_first: bool = False  # shown without a search


class Controls:
    """The settings of one configuration that a page may change. `place`: the directory of charts with other numbers."""

    def __init__(self, base: Config, place: Path) -> None:
        self.base, self._place = base, place
        self._own: type[Section] | None = find_own_domain(base.simulation).settings if is_own(base) else None
        # A chart's functions are found beside its file, so a chart that names some stays where it is.
        has_text = base.simulation.domain == "social" and not look_at_chart(base).functions
        self._chart = chart_text(base) if has_text else ""
        found = {each.path: each for each in self._controls()}
        # Those that `prism init` writes are shown first, then the user's own, in their order.
        example = examples()["economy" if base.simulation.domain == "economy" else "default"]
        written = list[str]()
        if self._own is None:
            given = load_placed_config(example.text(), example.name, environment={}, overrides=()).places
            written = [each.path for each in settings() if each.path in given and each.path not in CLOCK]
        values, places = msgspec.to_builtins(base), ("domain", ATTRIBUTES, f"{CHOICE}.states", f"{CHOICE}.attributes")
        own = [path for place in places for path, _ in _numbers(_at(values, place), place)]
        of_chart = [each for each in found if each.startswith(CHART) and base.statechart.file]
        first = [*written, *own, *of_chart, "simulation.rounds", "simulation.seed"]
        first = [*dict.fromkeys(first)][:FIRST_MAX]
        self.all: Mapping[str, Control] = {
            path: replace(found[path], is_first=path in first)
            for path in dict.fromkeys([*first, *found])
            if path in found
        }

    def configured(self, changes: Changes) -> Config:
        """Return the configuration with what a page has changed; its interventions come after those of the file.

        It raises a ConfigError that tells of all settings that the page may not change, or that cannot be held.
        """
        tree, numbers, wrong = msgspec.to_builtins(self.base), dict[int, float](), list[ConfigError]()
        for path, value in changes.items():
            control, (*outer, last) = self.all.get(path), path.split(".")
            if path == INTERVENTIONS:
                tree[path] = [*tree[path], *value] if isinstance(value, list) else value
            elif control is None:
                wrong.append(ConfigError(SOURCE, "is no setting that the page may change", key=path[:80]))
            elif control.kind == "choice" and value not in control.options:
                problem = f"expected one of: {', '.join(control.options)}, got {value!r:.80}"
                wrong.append(ConfigError(SOURCE, problem, key=path))
            elif path.startswith(CHART):
                try:
                    numbers[int(last)] = converted(_Whole if control.kind == "whole" else _Number, value, path)
                except SettingError as error:
                    wrong.append(ConfigError(SOURCE, error.problem, key=control.label))
            else:
                _at(tree, ".".join(outer))[last] = value
        if numbers and not wrong:
            # Write a chart where a run would keep it, and return its name.
            text = with_numbers(self._chart, numbers)
            data, file = text.encode(), self.base.statechart.file
            read_chart(text, "the chart")
            name = kept_name(sha256(data).hexdigest(), CHART_NAME if file is None else file)
            (self._place / name).parent.mkdir(parents=True, exist_ok=True)
            write_file(self._place / name, data)
            note_places([name], self._place)
            tree["statechart"]["file"] = name
        try:
            given = _different(msgspec.to_builtins(Config()), tree)
            config = load_placed_config(None, SOURCE, environment={}, overrides=given, own=self._own).config
        except ConfigError as error:
            wrong += [error, *error.others]
        if wrong:
            raise together(wrong)
        people, length = config.population.size if config.deliberates else 1, config.simulation.length
        for key, what, size, most in (
            ("population.size", "people", people, AGENTS_MAX),
            ("simulation.rounds", "people times ticks", people * length, AGENT_TICKS_MAX),
        ):
            if size > most:
                problem = f"expected at most {most:,} {what} on this page, got {size:,}; `prism run` takes more"
                raise ConfigError(SOURCE, problem, key=key)
        return config

    def _controls(self) -> Iterator[Control]:
        changed = CHANGED_BY.get(self.base.simulation.domain, ("simulation",))
        sections = {
            path: kind
            for path, kind in sections_of(Config).items()
            if f"{path}.".startswith(tuple(f"{each}." for each in changed))
        }
        if self._own is not None:
            sections |= {join("domain", path).rstrip("."): kind for path, kind in sections_of(self._own).items()}
        values = msgspec.to_builtins(self.base)
        for path, section in sections.items():
            for field in fields(section):
                place = join(path, field.name)
                value = _at(values, place)
                if isinstance(value, dict):
                    for inner, given in _numbers(value, place):
                        about = _ATTRIBUTE[inner.rpartition(".")[2]] if place == ATTRIBUTES else field
                        yield from _control(inner, inspect.type_info(type(given)), given, _meaning(about))
                elif place == "feed.algorithm":
                    algorithms = inspect.LiteralType((*dict.fromkeys([*ALGORITHMS, value]),))
                    yield from _control(place, algorithms, value, _meaning(field))
                elif not is_section(field.type):
                    yield from _control(place, inspect.type_info(field.type), value, _meaning(field))
        for number, each in enumerate(numbers_in(self._chart) if self._chart else ()):
            kind = inspect.type_info(_Whole if isinstance(each.value, int) else _Number)
            yield from _control(f"{CHART}{number}", kind, each.value, each.about, each.label)


_ATTRIBUTE: Final = {field.name: field for field in fields(AttributeConfig)}
_Whole, _Number = (Annotated[kind, msgspec.Meta(ge=0, le=CHART_MOST)] for kind in (int, float))


def _meaning(field: FieldInfo) -> str:
    kind = inspect.type_info(field.type)
    return str((kind.extra_json_schema or {}).get("description", "")) if isinstance(kind, inspect.Metadata) else ""


def _control(path: str, kind: inspect.Type, value: Any, meaning: str, label: str = "") -> Iterator[Control]:
    """Yield the control of a setting, if it is a number, a choice or a yes or no; the value may be none instead."""
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        if isinstance(kind, inspect.Metadata):
            kind = kind.type
        else:
            kind, *others = (each for each in kind.types if not isinstance(each, inspect.NoneType))
            if others:
                return
    common: dict[str, Any] = {"path": path, "label": label or setting_in_words(path)}
    common |= {"value": value, "meaning": meaning}
    if isinstance(kind, inspect.BoolType):
        yield Control(kind="yes", **common)
    elif isinstance(kind, inspect.LiteralType):
        options = [str(each) for each in kind.values if each != "profiles" or value == each]  # which needs a file
        yield Control(kind="choice", options=options, **common)
    elif isinstance(kind, inspect.IntType | inspect.FloatType):
        least = kind.ge if kind.ge is not None else kind.gt
        most = kind.le if kind.le is not None else kind.lt
        wide = _round_up(4 * abs(value or 10))
        low = max(-wide if least is None and (value or 0) < 0 else least or 0.0, -wide)
        high = wide if most is None or (most - low > 1 and most > wide) else most
        step = _round_up((high - low) / 200)
        step = max(1.0, step) if isinstance(kind, inspect.IntType) else step
        # The value is a place of the slider.
        low = step * math.ceil(low / step + (0.5 if kind.gt == low else 0))
        common["unit"] = next((unit for end, unit in _UNITS.items() if path.endswith(end)), "")
        shape: Literal["whole", "number"] = "whole" if isinstance(kind, inspect.IntType) else "number"
        yield Control(kind=shape, least=least, most=most, low=low, high=high, step=step, **common)


_UNITS: Final = {"_s": "s", "_seconds": "s", "_minutes": "min", "_ticks": "ticks", "rounds": "rounds"}


def differences(base: Config, config: Config) -> dict[str, Any]:
    """Return `{dotted path: value}` of the settings in which a configuration differs, as a file would give them."""
    return _different(msgspec.to_builtins(base), msgspec.to_builtins(config))


def _different(base: Any, tree: Any) -> dict[str, Any]:
    return {path: _at(tree, path) for path in _SETTINGS if _at(base, path) != _at(tree, path)}


_SETTINGS: Final = [
    join(path, each.name)
    for path, section in sections_of(Config).items()
    for each in fields(section)
    if not is_section(each.type)
]


def _numbers(value: Mapping[str, Any], path: str) -> Iterator[tuple[str, float | bool]]:
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _numbers(inner, join(path, name))
        elif isinstance(inner, bool | int | float) and "." not in name:
            yield join(path, name), inner


def _round_up(value: float) -> float:
    """Return the next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(each * power for each in (1, 2, 5, 10) if each * power >= value * (1 - 1e-9))


def _at(values: Any, path: str) -> Any:
    """Return the value at a dotted path of nested mappings; None if there is none."""
    for key in filter(None, path.split(".")):
        values = values.get(key) if isinstance(values, Mapping) else None
    return values
