"""People's own attributes: their declaration, and the names of measures over them, such as `ei_index_party`."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from prism.config.section import Section, Text, setting
from prism.expectations import found, guess
from prism.quoting import printable

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

NUMBERS: Final = ("float", "int")
GROUPS: Final = ("text", "bool")
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("min", "max", "mean", "sd"), NUMBERS),
    **dict.fromkeys(("values", "weights"), ("text",)),
    "probability": ("bool",),
}
"""The types that have a key, for the keys that not all types have."""
_DISTRIBUTION: Final = ("mean", "sd", "weights", "probability")
"""The keys that say how a value is drawn, and nothing else."""
_UNSET: Final = (None, ())


def _on_one_line(text: str) -> None:
    if not text.isprintable() or not text.strip():
        raise ValueError(f"expected a text on one line, got {found(text)}")


def differ(values: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield texts of a list that stand twice, or not on one line."""
    # They stand on lines of prompts and of `prism validate`, and a file's values come without spaces around them.
    for index, value in enumerate(values):
        if not value.isprintable() or value != value.strip():
            yield f"[{index}]", f"expected a text on one line without spaces around it, got {found(value)}"
        elif value in values[:index]:
            yield "", f"expected values that differ, got {found(value)} more than once"


class AttributeConfig(Section, omit_defaults=True):
    """The declaration of one attribute of people: its type and range, and where each person's value comes from.

    Raises:
        SettingError: a value cannot be held, or the keys contradict each other.
    """

    type: Annotated[Literal["float", "int", "bool", "text"], Meta(description="type of its values")]
    min: Number | None = setting(None, "least value of a number; none: no limit")
    max: Number | None = setting(None, "largest value of a number; none: no limit")
    mean: Number | None = setting(None, "mean of a normal distribution to draw from, clipped to min and max")
    sd: float | None = setting(None, "standard deviation of the distribution, before clipping", ge=0.0, le=1e15)
    values: tuple[Text, ...] = setting((), "all possible texts; empty: any text", differ)
    weights: tuple[Annotated[float, Meta(ge=0.0, le=1e9)], ...] = setting(
        (), "weights of the values when drawn; empty: equal"
    )
    probability: float | None = setting(None, "probability of true when drawn", ge=0.0, le=1.0)
    default: float | int | bool | str | None = setting(None, "value of a person for whom the profile file has none")
    column: str | None = setting(None, "column of the profile file; none: the one with the same name", _on_one_line)
    prompt: bool = setting(True, "tell a model the person's value")
    description: str | None = setting(
        None, "what the value means, for the model and for readers: `-1 is left, 1 is right`", _on_one_line
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds = {"min": int, "max": int} if self.type == "int" else {"default": float} if self.type == "float" else {}
        for name, kind in kinds.items():
            value = getattr(self, name)
            if type(value) in (int, float) and kind(value) == value:  # it means the same
                msgspec.structs.force_setattr(self, name, kind(value))
        for problem, key, *others in self._problems():
            raise self.refused(key, problem, *others)

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
        return any(getattr(self, name) not in _UNSET for name in _DISTRIBUTION)

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
        if self.type in NUMBERS:
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

    def _problems(self) -> Iterator[tuple[str, ...]]:
        """Yield what is wrong between keys, and the keys, the first one to blame unless more is known."""
        low, high, mean, kind = self.min, self.max, self.mean, self.type
        given = [name for name in _KINDS if getattr(self, name) not in _UNSET]
        for name in given:
            if kind not in _KINDS[name]:
                yield f"belongs to type {' or '.join(_KINDS[name])}: expected none for type {kind}", name, "type"
        for name in ("min", "max"):
            if kind == "int" and type(getattr(self, name)) is float:
                yield f"expected int, got {found(getattr(self, name))}", name
        if low is not None and high is not None and low > high:
            yield f"expected min <= max, got {low:.15g} and {high:.15g}", "min", "max"
        if (mean is None) != (self.sd is None):
            one, missing = ("mean", "sd") if self.sd is None else ("sd", "mean")
            yield f"expected both mean and sd, or neither: {missing} is missing", one, missing
        if mean is not None and ((low is not None and mean < low) or (high is not None and mean > high)):
            yield f"expected a mean from min to max, {self.expected}, got {mean:.15g}", "mean", "min", "max"
        if self.weights and len(self.weights) != len(self.values):
            got = f"{len(self.weights)} for {len(self.values)} values"
            yield f"expected a weight for each of the values, got {got}", "weights", "values"
        if self.weights and not sum(self.weights) > 0.0:
            yield "expected at least one weight above 0", "weights"
        for name in ("column", "default") if self.is_drawn else ():
            if getattr(self, name) is not None:
                drawn = next(key for key in given if key in _DISTRIBUTION)
                yield f"expected either {name} or {drawn}: a value is read or drawn, not both", name, drawn
        if self.default is not None and not self.holds(self.default):
            yield f"expected {self.expected}, got {found(self.default)}", "default", "min", "max", "values"


def _named(taken: Mapping[str, str]) -> Callable[[Iterable[str]], Iterator[tuple[str, str]]]:
    """Return the check of attributes' names, some of which are taken: `{name: why no attribute can have it}`."""

    def problems(names: Iterable[str]) -> Iterator[tuple[str, str]]:
        for name in names:
            if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name) or name.startswith("_"):
                problem = "letters, digits and underscores that begins with a letter and is no Python word"
                yield f".{printable(name) or repr('')}", f"expected a name of {problem}"
            elif len(name) > NAME_LENGTH_MAX:
                yield f".{name}", f"expected a name of at most {NAME_LENGTH_MAX} characters, got {len(name)}"
            elif name in taken:
                yield f".{name}", f"{taken[name]}: expected another name"

    return problems


of_people = _named(
    dict.fromkeys(TAKEN_NAMES, "is a name that people already have for something else")
    | dict.fromkeys(TRAITS, "is a trait that every person has")
)
of_posts = _named(dict.fromkeys(TAKEN_OF_POSTS, "is a name that every post has for something else"))


MEASURES: Final = "population.measures"
ATTENTION: Final = ("followers", "reshares")
"""The attention that people get: followers, and reshares of their posts since the run began."""
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


class MeasureName(NamedTuple):
    """The parts of a measure's name: one of OF_ATTRIBUTES with its attribute, or `gini`; and one of ATTENTION or ""."""

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
    """Return why a run with these measures and attributes has no such one, and how it gets it, or what was meant."""
    if measure_name(name) is None:
        return f"no measure {name!r}: {guess(name, known)}"
    problem = "" if declared is None else measure_problem(name, declared)
    return problem or f"no measure {name!r}: add it to {MEASURES}"


def measure_problem(name: str, declared: Mapping[str, AttributeConfig]) -> str:
    """Return the reason why people with these attributes cannot have a measure; empty if they can."""
    measure = measure_name(name)
    if measure is None:
        forms = [f"{kind}_ATTRIBUTE" for kind in OF_ATTRIBUTES if kind != "correlation"]
        of_attention = [f"{kind}_{each}" for kind in ("gini", "correlation_ATTRIBUTE") for each in ATTENTION]
        return f"no measure {name!r}: expected {', '.join([*of_attention, *forms])}"
    problem = measure.attribute and attribute_problem(measure.attribute, declared, OF_ATTRIBUTES[measure.kind])
    return problem and f"{name}: {problem}"


def attribute_problem(name: str, declared: Mapping[str, AttributeConfig], kinds: Collection[str]) -> str:
    """Return the reason why people have no attribute of such a name and type; empty if they have it."""
    if name not in declared:
        return f"no attribute {name!r}: {guess(name, declared) if declared else f'{PLACE} declares none'}"
    got = declared[name].type
    return "" if got in kinds else f"expected an attribute of type {' or '.join(kinds)}, got {name} of type {got}"
