"""The conditions of an experiment: which settings each of them has, by a design or by a table in a CSV file.

Sampled designs are points between the ends of factors, by SALib and scipy, the same ones on every machine:

| kind | is | source |
|---|---|---|
| latin_hypercube | each range is cut into as many parts as there are points, and each part has one | McKay (1979) |
| sobol | two scrambled Sobol sequences, and the first with one factor after another from the second | Saltelli (2010) |
| morris | trajectories on a grid, on which one factor after another is changed | Morris (1991) |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from prism.columns import Floats
from prism.config.config import settings
from prism.config.load import given_setting
from prism.errors import ConfigError, SettingError
from prism.expectations import found, guess
from prism.quoting import as_text
from prism.text_files import read_table

CONDITIONS_MAX = 10_000
ReadTable = Callable[[str], tuple[str, str]]  # returns the text of a table, by its name, and where it is

Kind = Literal["list", "factorial", "one_at_a_time", "latin_hypercube", "sobol", "morris", "table"]
SAMPLED = ("latin_hypercube", "sobol", "morris")  # the kinds whose conditions are points that are sampled from ranges


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A condition: a world that is run under every seed."""

    name: str  # as the file has it, or made of the levels of its factors, or the number of a sampled point
    settings: dict[str, Any]  # `{dotted path: value}` on top of the base
    factors: dict[str, Any] = {}  # `{dotted path: level}` of a design with factors; empty for a list
    # its line in the file of a table, and `header`: that of the names of settings; None elsewhere
    line: int | None = None
    header: int | None = None


DIGITS = 6  # the significant digits of a drawn value: logarithms differ between machines, in the sixteenth digit


class Range(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A setting that takes any value between two ends.

    Args:
        low, high: the ends, which belong to it.
        scale: `log` for values whose logarithm is uniform, such as rates over several powers of ten.
        whole: whether it takes whole numbers alone.
    """

    low: int | float
    high: int | float
    scale: Literal["linear", "log"] = "linear"
    whole: bool = False

    @property
    def problem(self) -> str:
        """The reason why it is no range, in words; empty if it is one."""
        if self.low >= self.high:
            return f"expected a low below the high, got {self.low:g} and {self.high:g}"
        if self.scale == "log" and self.low <= 0:
            return f"a range on a log scale needs a low above 0, got {self.low:g}"
        if self.whole and (self.low % 1 or self.high % 1):
            return f"expected whole numbers as low and high, got {self.low:g} and {self.high:g}"
        return ""

    def value_at(self, place: float) -> float | int:
        """Return the value at a place in the range, 0 to 1; each whole number has an equal part of a linear range."""
        place = min(1.0, max(0.0, place))
        if self.whole and self.scale == "linear":
            return int(min(self.high, self.low + math.floor(place * (self.high - self.low + 1))))
        if self.scale == "log":
            value = math.exp(math.log(self.low) + place * (math.log(self.high) - math.log(self.low)))
        else:
            value = self.low + place * (self.high - self.low)
        value = min(max(round(value) if self.whole else float(f"{value:.{DIGITS}g}"), self.low), self.high)
        return int(value) if self.whole else value

    def place_of(self, value: float) -> float:
        """Return the place of a value in the range, 0 to 1; the nearer end for a value outside."""
        if self.whole and self.scale == "linear":
            place = (value - self.low + 0.5) / (self.high - self.low + 1)
        elif self.scale == "log":
            place = (math.log(max(value, self.low)) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            place = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, place))


class Design(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A design, as the file has it.

    Args:
        kind: `list` of named conditions; `factorial`, every combination of the levels; `one_at_a_time`, the first
            level of each factor, and each other level alone; `latin_hypercube`, `sobol` and `morris`, points that are
            sampled; `table`, the rows of a CSV file.
        conditions: `{name: {dotted path: value}}` of a list.
        factors: `{dotted path: levels, or a range}` of the other kinds; ranges only where points are sampled.
        samples: points of a Latin hypercube; base points of a Sobol design, a power of 2.
        trajectories: of a Morris design; each has one point more than there are factors.
        levels: the grid of a Morris design; an even number.
        seed: of the sampled points; the same seed gives the same points.
        file: of a table, beside the file of the experiment.
    """

    kind: Kind = "list"
    conditions: dict[str, dict[str, Any]] = {}
    factors: dict[str, list[Any] | Range] = {}
    samples: Annotated[int, Meta(ge=2, le=CONDITIONS_MAX)] | None = None
    trajectories: Annotated[int, Meta(ge=2, le=CONDITIONS_MAX)] | None = None
    levels: Annotated[int, Meta(ge=2, le=1000)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    file: str | None = None


KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "list": (("conditions",), ()),
    "factorial": (("factors",), ()),
    "one_at_a_time": (("factors",), ()),
    "latin_hypercube": (("factors", "samples"), ("seed",)),
    "sobol": (("factors", "samples"), ("seed",)),
    "morris": (("factors", "trajectories"), ("seed", "levels")),
    "table": (("file",), ()),
}
"""`{kind: (the keys that it needs, those that it may have besides)}`."""


def refusal(key: str, problem: str) -> SettingError:
    """Return the error of a file at one of its keys."""
    return SettingError("file", problem, keys=[key])


def check_design(design: Design) -> None:
    """Refuse a design with keys of another kind, or with impossible factors."""
    needed, optional = KEYS[design.kind]
    given = [name for name in Design.__struct_fields__ if getattr(design, name) not in (None, {})]
    if strange := [name for name in given if name not in (*needed, *optional, "kind")]:
        problem = f"a design of kind {design.kind} has {' and '.join(needed)}, not {strange[0]}"
        raise refusal(f"design.{strange[0]}", problem)
    if missing := [name for name in needed if name not in given]:
        raise refusal("design", f"expected {missing[0]} for a design of kind {design.kind}")
    types = {each.path: each.type for each in settings()}
    for name, factor in design.factors.items():
        of_setting = types.get(name, "float")
        if not isinstance(factor, Range):
            texts = [as_text(level) for level in factor]
            twice = next((text for text in texts if texts.count(text) > 1), None)
            problem = "" if twice is None else f"the level {twice} stands twice"
            problem = problem if len(factor) > 1 else f"expected two levels or more, got {found(factor)}"
        elif design.kind not in SAMPLED:
            problem = f"a design of kind {design.kind} has lists of levels; ranges are for {', '.join(SAMPLED)}"
        elif factor.problem:
            problem = factor.problem
        elif not of_setting.startswith(("float", "int")):  # of a setting that is known here
            problem = f"this setting is {of_setting}, so it has no range: expected a list of levels"
        else:
            is_broken = of_setting.startswith("int") and not factor.whole
            problem = "this setting takes whole numbers: expected whole: true" if is_broken else ""
        if problem:
            raise refusal(f"design.factors.{name}", problem)


def conditions_of(design: Design, read_table: ReadTable | None = None) -> tuple[Condition, ...]:
    """Return the conditions of a design, in the order of the file and in that which their analysis needs."""
    if design.kind == "list":
        return tuple(Condition(name=name, settings=given) for name, given in design.conditions.items())
    if design.kind == "table":
        if read_table is None:
            raise refusal("design.file", f"{design.file}: no files can be read here")
        return _conditions_in(*read_table(design.file or ""))
    if design.kind in SAMPLED:
        points = unit_points(design)
        chosen = [
            {name: _value(design, name, unit) for name, unit in zip(design.factors, point, strict=True)}
            for point in points.tolist()
        ]
        names = [_numbered(number, len(points)) for number in range(1, len(points) + 1)]
    else:
        factors = {name: levels for name, levels in design.factors.items() if not isinstance(levels, Range)}
        if design.kind == "factorial":
            _refuse_too_many(math.prod(map(len, factors.values())), "design.factors", "combinations")
            chosen = [dict(zip(factors, levels, strict=True)) for levels in product(*factors.values())]
        else:
            base = {name: levels[0] for name, levels in factors.items()}
            chosen = [base, *({**base, name: level} for name, levels in factors.items() for level in levels[1:])]
        # A condition is named by the last word of each factor, with its level.
        words = ([f"{key.rpartition('.')[2]}={as_text(level)}" for key, level in each.items()] for each in chosen)
        names = [" ".join(each) for each in words]
    return tuple(Condition(name=name, settings=each, factors=each) for name, each in zip(names, chosen, strict=True))


def _numbered(number: int, of: int) -> str:
    return f"c{number:0{len(str(of))}d}"


def levels_of(factor: str, design: Design, conditions: Sequence[Condition]) -> dict[str, list[str]]:
    """Return `{level: the names of its conditions}` of a factor, in the order of the design."""
    found: dict[str, list[str]] = {}
    for each in conditions_for(factor, design.kind, conditions):
        found.setdefault(as_text(each.factors[factor]), []).append(each.name)
    return found


def conditions_for(factor: str, kind: str, conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions for a factor; in a one-at-a-time design, those with the others at first levels."""
    first = conditions[0].factors if kind == "one_at_a_time" else {}
    return [
        each
        for each in conditions
        if all(each.factors.get(name) == level for name, level in first.items() if name != factor)
    ]


def check_known(name: str, known: Sequence[str], what: str, key: str) -> None:
    """Refuse a name that is none of the known measures or conditions."""
    if name not in known:
        raise refusal(key, f"no {name!r} among the {what}: {guess(name, known)}")


def check_contrast(contrast: Sequence[str], conditions: Sequence[str], key: str) -> None:
    """Refuse a contrast of anything but two different conditions."""
    for name in contrast:
        check_known(name, conditions, "conditions", key)
    if len({*contrast}) < len(contrast):
        raise refusal(key, "expected two different conditions")


def _refuse_too_many(count: int, key: str, what: str = "conditions") -> None:
    if count > CONDITIONS_MAX:
        raise refusal(key, f"expected at most {CONDITIONS_MAX:,} conditions, got {count:,} {what}")


NAME = "name"


def _conditions_in(text: str, source: str) -> tuple[Condition, ...]:
    """Return the conditions of a table: a header with settings and perhaps `name`, and a row for each condition.

    A cell is read as a value in a configuration: `3`, `0.5`, `true`, `hot`. Without names, a row is called by its
    number: `c1` is the first one below the header.
    """
    table = read_table(text.removeprefix("\ufeff"), source, {NAME, *(each.path for each in settings())})
    top, header, rows = table.line, table.header, [*table.rows]
    if not 0 < len(rows) <= CONDITIONS_MAX:
        expected = f"expected a line with the names of settings, and 1 to {CONDITIONS_MAX:,} lines below it"
        raise ConfigError(source, f"{expected}; got {len(rows):,}")
    if "" in header or len({*header}) < len(header) or {*header} == {NAME}:
        raise ConfigError(source, "expected columns with the names of different settings, such as feed.size", line=top)
    found, lines = list[Condition](), dict[str, int]()
    for number, (line, row) in enumerate(rows, start=1):
        name, values = _numbered(number, len(rows)), dict[str, Any]()
        for column, cell in zip(header, row, strict=True):
            if not cell:
                raise ConfigError(source, "is empty: expected a value in every row", key=column, line=line)
            if column == NAME:
                name = cell
                continue
            try:
                values[column] = given_setting(cell, source, column)
            except ConfigError as error:
                raise ConfigError(source, error.problem, key=column, line=line) from None
        if name in lines:
            raise ConfigError(source, f"the name {name} stands in line {lines[name]}, too", key=NAME, line=line)
        lines[name] = line
        found.append(Condition(name=name, settings=values, factors=values, line=line, header=top))
    return tuple(found)


SEED = 1
LEVELS = 4  # the grid of a Morris design; Morris (1991) has four levels, too


def unit_points(design: Design) -> Floats:
    """Return the points of a design, one a row and a factor a column, between 0 and 1."""
    factors, seed = len(design.factors), SEED if design.seed is None else design.seed
    samples, trajectories, levels = design.samples or 0, design.trajectories or 0, design.levels or LEVELS
    points: Floats
    if design.kind == "latin_hypercube":
        _refuse_too_many(samples, "design.samples")
        from scipy.stats import qmc  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

        points = qmc.LatinHypercube(factors, rng=np.random.default_rng(seed)).random(samples)
    elif design.kind == "sobol":
        if samples & (samples - 1):
            below, above = 1 << (samples.bit_length() - 1), 1 << samples.bit_length()
            problem = f"a Sobol sequence is balanced for a power of 2 alone: expected {below} or {above}, got {samples}"
            raise refusal("design.samples", problem)
        _refuse_too_many(samples * (factors + 2), "design.samples", f"points ({samples:,} x ({factors} factors + 2))")
        from SALib.sample import sobol  # noqa: PLC0415  # an extra

        random = np.random.default_rng(seed)
        points = sobol.sample(problem_of(design), samples, calc_second_order=False, seed=random)
    else:
        if levels % 2:
            raise refusal("design.levels", f"expected an even number of levels, got {levels}")
        said = f"points ({trajectories:,} x ({factors} factors + 1))"
        _refuse_too_many(trajectories * (factors + 1), "design.trajectories", said)
        from SALib.sample import morris  # noqa: PLC0415  # an extra

        points = morris.sample(problem_of(design), trajectories, num_levels=levels, seed=seed).clip(0.0, 1.0)
    return points


def problem_of(design: Design) -> dict[str, Any]:
    """Return the factors as SALib has them, each from 0 to 1."""
    return {"num_vars": len(design.factors), "names": [*design.factors], "bounds": [[0.0, 1.0]] * len(design.factors)}


def _value(design: Design, name: str, unit: float) -> Any:
    """Return a factor's value at a place from 0 to 1.

    The points of a Morris design lie on a grid that has both ends, so they are rounded to the nearest level or whole
    number. Elsewhere each level and whole number has an equal part of the range.
    """
    factor, is_grid = design.factors[name], design.kind == "morris"
    if not isinstance(factor, Range):
        last = len(factor) - 1
        return factor[round(unit * last + 1e-9) if is_grid else min(int(unit * (last + 1)), last)]
    if is_grid and factor.whole and factor.scale == "linear":
        return int(factor.low) + round(unit * (factor.high - factor.low) + 1e-9)
    return factor.value_at(unit)
