"""People's own attributes: their declaration, and the names of measures over them, such as `ei_index_party`."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from prism.config.section import Section, Text, setting
from prism.errors import SettingError
from prism.expectations import found, guess, join

NUMBER_MAX: Final = 10**15
"""The largest number in an attribute, and without its sign the smallest: each int up to it is a float, too."""
PLACE: Final = "population.attributes"
POSTS_PLACE: Final = "population.posts.attributes"
WEIGHTS: Final = "oracle.choice.attributes"
NAME_LENGTH_MAX: Final = 60

TRAITS: Final = ("openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism")
"""The five traits of personality, which every person has."""

TAKEN_NAMES: Final = frozenset(
    {
        *TRAITS,
        *("name", "interests", "personality", "activity", "attributes", "traits", "facts", "told", "persona"),
        *("intentions", "weights", "intend", "remembered", "recalled", "effect", "enter", "answered", "with_answer"),
        *("engagement_threshold", "low_threshold", "high_threshold", "timeout_threshold", "pending_action"),
        *("agent", "agent_id", "seed", "state", "states", "tick", "ticks", "ticks_in_state", "entered", "clock"),
        *("state_history", "max_history_depth", "open_triggers", "fields", "field", "to_json", "running", "run"),
        *("relevance", "should_engage", "is_interested", "start", "stop", "view", "post", "feed", "context"),
        *("event", "trigger", "round", "world", "rng", "follow"),
    }
)
"""Names that people, their guards and their prompts already use for something else."""

TAKEN_OF_POSTS: Final = frozenset(
    {
        *("id", "author", "text", "topics", "created", "engagements", "across", "author_followers", "relevance"),
        *("topic_match", "popularity", "appeal", "quality", "exposures", "fatigue", "followed", "likes", "replies"),
        *("reshares", "age_ticks", "velocity"),
    }
)
"""Names that every post has for something else."""

Value = float | int | bool | str
"""The value of an attribute."""

Number = Annotated[float, Meta(ge=-1e15, le=1e15)]

_NUMBERS = ("float", "int")
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "min": _NUMBERS,
    "max": _NUMBERS,
    "mean": _NUMBERS,
    "sd": _NUMBERS,
    "values": ("text",),
    "weights": ("text",),
    "probability": ("bool",),
}
"""The types that have a key, for the keys that not all types have."""
_DISTRIBUTION: Final = ("mean", "sd", "weights", "probability")
"""The keys that say how a value is drawn, and nothing else."""


class AttributeConfig(Section, omit_defaults=True):
    """The declaration of one attribute of people: its type and range, and where each person's value comes from.

    Raises:
        SettingError: a value cannot be held, or the keys contradict each other.
    """

    type: Annotated[Literal["float", "int", "bool", "text"], Meta(description="type of its values")]
    min: Number | None = setting(None, "least value of a number; none: no limit")
    max: Number | None = setting(None, "largest value of a number; none: no limit")
    mean: Number | None = setting(
        None, "mean of a normal distribution that values are drawn from, clipped to min and max"
    )
    sd: float | None = setting(None, "standard deviation of the distribution, before clipping", ge=0.0, le=1e15)
    values: tuple[Text, ...] = setting((), "all possible texts; empty: any text")
    weights: tuple[Annotated[float, Meta(ge=0.0, le=1e9)], ...] = setting(
        (), "weights of the values when drawn; empty: equal"
    )
    probability: float | None = setting(None, "probability of true when drawn", ge=0.0, le=1.0)
    default: float | int | bool | str | None = setting(None, "value of a person for whom the profile file has none")
    column: str | None = setting(None, "column of the profile file; none: the one with the same name", min_length=1)
    prompt: bool = setting(True, "tell a model the person's value")
    description: str | None = setting(
        None, "what the value means, for the model and for readers: `-1 is left, 1 is right`", min_length=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.type == "int":
            for name in ("min", "max"):
                _hold_as(int, self, name)
        if self.type == "float":
            _hold_as(float, self, "default")
        for places, problem in self._problems():
            raise SettingError(type(self).__name__, problem, keys=places.split())

    @property
    def expected(self) -> str:
        """The values that it may have, in words: `int 13 to 99`, `one of: north, south`."""
        if self.type == "bool":
            return "true or false"
        if self.type == "text":
            return f"one of: {', '.join(self.values)}" if self.values else "text"
        if self.min is not None and self.max is not None:
            return f"{self.type} {self.min:.15g} to {self.max:.15g}"
        bounds = [f">= {self.min:.15g}"] if self.min is not None else []
        bounds += [f"<= {self.max:.15g}"] if self.max is not None else []
        return " ".join([self.type, *bounds])

    @property
    def is_drawn(self) -> bool:
        """True if it says how its values are drawn, so that no column gives them."""
        return any(_is_set(getattr(self, name)) for name in _DISTRIBUTION)

    @property
    def is_complete(self) -> bool:
        """True if every person can have a value without a column of a profile file."""
        has_range = self.min is not None and self.max is not None
        return self.column is None and (self.is_drawn or self.default is not None or has_range or bool(self.values))

    def label(self, name: str) -> str:
        """Return the attribute as a prompt states it: its name, and its description if it has one."""
        return name if self.description is None else f"{name} ({self.description})"

    @property
    def ways(self) -> str:
        """The keys that give a value of its type without a column, in words."""
        if self.type in _NUMBERS:
            return "min and max, mean and sd, or default"
        return "probability or default" if self.type == "bool" else "values or default"

    def holds(self, value: object) -> bool:
        """Return whether an attribute may have this value. An int is no float here, and a bool is no number."""
        if type(value) is float or type(value) is int:
            low = -NUMBER_MAX if self.min is None else self.min
            high = NUMBER_MAX if self.max is None else self.max
            return type(value).__name__ == self.type and low <= value <= high
        if isinstance(value, str):
            return self.type == "text" and (not self.values or value in self.values)
        return self.type == "bool" and isinstance(value, bool)

    def _problems(self) -> Iterator[tuple[str, str]]:
        """Yield wrong keys, the first one to blame unless more is known, and what was expected."""
        for name, kinds in _KINDS.items():
            if _is_set(getattr(self, name)) and self.type not in kinds:
                yield f"{name} type", f"belongs to type {' or '.join(kinds)}: expected none for type {self.type}"
        if self.type in _NUMBERS:
            yield from self._number_problems()
        yield from self._text_problems()
        for name in ("column", "default"):
            if self.is_drawn and getattr(self, name) is not None:
                drawn = next(key for key in _DISTRIBUTION if _is_set(getattr(self, key)))
                yield f"{name} {drawn}", f"expected either {name} or {drawn}: a value is read or drawn, not both"
        if self.default is not None and not self.holds(self.default):
            yield "default min max values", f"expected {self.expected}, got {found(self.default)}"

    def _number_problems(self) -> Iterator[tuple[str, str]]:
        for name in ("min", "max"):
            if self.type == "int" and type(getattr(self, name)) is float:
                yield name, f"expected int, got {found(getattr(self, name))}"
        if self.min is not None and self.max is not None and self.min > self.max:
            yield "min max", f"expected min <= max, got {self.min:.15g} and {self.max:.15g}"
        if (self.mean is None) != (self.sd is None):
            given, missing = ("mean", "sd") if self.sd is None else ("sd", "mean")
            yield f"{given} {missing}", f"expected both mean and sd, or neither: {missing} is missing"
        low = self.mean if self.min is None else self.min
        high = self.mean if self.max is None else self.max
        if self.mean is not None and low is not None and high is not None and not low <= self.mean <= high:
            yield "mean min max", f"expected a mean from min to max, {self.expected}, got {self.mean:.15g}"

    def _text_problems(self) -> Iterator[tuple[str, str]]:
        repeated = next((value for index, value in enumerate(self.values) if value in self.values[:index]), None)
        if repeated is not None:
            yield "values", f"expected values that differ, got {found(repeated)} more than once"
        # They stand on lines of prompts and of `prism validate`, and a file's values come without spaces around them.
        for index, value in enumerate(self.values):
            if not value.isprintable() or value != value.strip():
                yield f"values[{index}]", f"expected a text on one line without spaces around it, got {found(value)}"
        if self.weights and len(self.weights) != len(self.values):
            yield (
                "weights values",
                f"expected a weight for each of the values, got {len(self.weights)} for {len(self.values)} values",
            )
        if self.weights and not sum(self.weights) > 0.0:
            yield "weights", "expected at least one weight above 0"
        for name in ("column", "description"):
            text = getattr(self, name)
            if text is not None and (not text.isprintable() or not text.strip()):
                yield name, f"expected a text on one line, got {found(text)}"


def misnamed(names: Iterable[str], place: str) -> Iterator[tuple[str, str]]:
    """Yield the names that no attribute can have, each below the key `attributes`, and why.

    Args:
        place: where they are declared.
    """
    for name in names:
        problem = ""
        if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name) or name.startswith("_"):
            problem = (
                "expected a name of letters, digits and underscores that begins with a letter and is no Python word"
            )
        elif len(name) > NAME_LENGTH_MAX:
            problem = f"expected a name of at most {NAME_LENGTH_MAX} characters, got {len(name)}"
        elif place == POSTS_PLACE and name in TAKEN_OF_POSTS:
            problem = "is a name that every post has for something else: expected another one"
        elif place == PLACE and name in TRAITS:
            problem = "is a trait that every person has: expected another name"
        elif place == PLACE and name in TAKEN_NAMES:
            problem = "is a name that people already have for something else: expected another one"
        if problem:
            yield join("attributes", name), problem


def _hold_as(kind: type[float], declaration: AttributeConfig, name: str) -> None:
    """Hold a number as an int or a float, if it means the same."""
    value = getattr(declaration, name)
    if type(value) in (int, float) and kind(value) == value:
        msgspec.structs.force_setattr(declaration, name, kind(value))


def _is_set(value: object) -> bool:
    """Return whether a key of a declaration was given a value."""
    return value is not None and value != ()


MEASURES: Final = "population.measures"
ATTENTION: Final = ("followers", "reshares")
"""The attention that people get: followers, and reshares of their posts since the run began."""
NUMBERS: Final = ("float", "int")
GROUPS: Final = ("text", "bool")
OF_ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    "ei_index": GROUPS,
    "modularity": GROUPS,
    "assortativity": (*GROUPS, *NUMBERS),
    "bimodality": NUMBERS,
    "variance": NUMBERS,
    "correlation": NUMBERS,
}
"""`{measure of an attribute: the types that it may have}`."""
OF_TIES: Final = ("ei_index", "modularity", "assortativity")
"""The measures of an attribute over ties."""
FORMS: Final = (*(f"{kind}_ATTRIBUTE" for kind in OF_ATTRIBUTES if kind != "correlation"),)
_EXPECTED: Final = ", ".join((*FORMS, *(f"correlation_ATTRIBUTE_{each}" for each in ATTENTION)))


class MeasureName(NamedTuple):
    """The parts of a measure's name.

    Args:
        kind: one of OF_ATTRIBUTES, or `gini`.
        attribute: the attribute; empty for `gini`.
        attention: one of ATTENTION; empty if it plays no part.
    """

    kind: str
    attribute: str
    attention: str


def measure_name(name: str) -> MeasureName | None:
    """Return the parts of a measure's name; None for any other text."""
    if name in [f"gini_{each}" for each in ATTENTION]:
        return MeasureName("gini", "", name.removeprefix("gini_"))
    kind = next((each for each in OF_ATTRIBUTES if name.startswith(f"{each}_")), "")
    rest, attention = name.removeprefix(f"{kind}_"), ""
    if kind == "correlation":
        rest, _, attention = rest.rpartition("_")
    is_whole = kind and rest and (kind != "correlation" or attention in ATTENTION)
    return MeasureName(kind, rest, attention) if is_whole else None


def unknown_measure(name: str, known: Iterable[str], declared: Mapping[str, AttributeConfig] | None = None) -> str:
    """Return why a run of people has no such measure, and how it gets it; or the known one that was meant.

    Args:
        known: the measures that it has.
        declared: the attributes of its people; None if they are not known.
    """
    if measure_name(name) is None:
        return f"no measure {name!r}: {guess(name, known)}"
    problem = "" if declared is None else measure_problem(name, declared)
    return problem or f"no measure {name!r}: add it to {MEASURES}"


def measure_problem(name: str, declared: Mapping[str, AttributeConfig]) -> str:
    """Return the reason why people with these attributes cannot have a measure; empty if they can."""
    measure = measure_name(name)
    if measure is None:
        ginis = ", ".join(f"gini_{each}" for each in ATTENTION)
        return f"no measure {name!r}: expected {ginis}, {_EXPECTED}"
    if not measure.attribute:
        return ""
    if measure.attribute not in declared:
        known = guess(measure.attribute, list(declared)) if declared else "population.attributes declares none"
        return f"{name}: no attribute {measure.attribute!r}: {known}"
    needed, got = OF_ATTRIBUTES[measure.kind], declared[measure.attribute].type
    if got in needed:
        return ""
    return f"{name}: expected an attribute of type {' or '.join(needed)}, got {measure.attribute} of type {got}"
