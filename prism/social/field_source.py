"""The fields of expressions as source that reads the tables of the social world; and rankings, which are expressions.

An expression's tree is written as Python source, as for one agent, with the tables in place of an agent's fields. A
kernel has it as a part: for the person `person`, at the tick `tick`, who has the post in the row `post` in view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from prism import kernels
from prism.config import Config
from prism.config.attributes import Value
from prism.config.model import ALGORITHMS, PopulationConfig, RelevanceConfig
from prism.errors import ConfigError, ExpressionError
from prism.expectations import guess
from prism.expressions import Expression, Field, parse
from prism.expressions.source import Naming, source
from prism.expressions.tree import reads_view
from prism.kernel_rng import LEAST_DRAW
from prism.rng import Draw
from prism.social.people.people import People
from prism.social.vocabulary import social_vocabulary


class Words:
    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = [*texts]
        self._numbers = {text: number for number, text in enumerate(self._texts)}

    def number(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._texts)
            self._texts.append(text)
        return found

    def numbers(self, values: Iterable[Value]) -> list[float]:
        """Return values as columns have them: a truth value is 1 or 0, and a text is its number."""
        return [float(self.number(each)) if isinstance(each, str) else float(each) for each in values]

    def text(self, number: int) -> str:
        return self._texts[number]


_POST: Final[Mapping[str, str]] = {
    "post.topic_match": "topic_match(t.interests, person, t.posts[post].topics)",
    "post.popularity": "popularity_of(t, post)",
    "post.exposures": "exposures_of(t, person, post)",
    "post.appeal": "appeal_of(t, person, post, exposures_of(t, person, post))",
    "post.quality": "quality_of(t, post)",
    "post.fatigue": "fatigue_of(t, person)",
    "post.followed": "follows(t.ties, person, t.posts[post].author)",
    "post.likes": "t.details[post].likes",
    "post.replies": "t.details[post].replies",
    "post.reshares": "t.details[post].reshares",
    "post.age_ticks": "tick - t.posts[post].created",
    "post.velocity": "velocity_of(t, post, tick)",
}
"""`{field: its source}` of the numbers and truth values of a post."""
_READ: Final[Mapping[str, str]] = {
    **_POST,
    "agent.pending_action": "t.people[person].pending",
    "agent.ticks_in_state": "tick - t.people[person].entered",
}

HEAD: Final = """\
import math

from prism.expressions.source import differ, exponential, greatest, least, logarithm, nan, quotient, root
from prism.kernel_rng import normal_quantile, unit
from prism.kernels import address_of
from prism.social.kernels.post_kernel import (
    appeal_of, drawn_about, engagements_of, exposures_of, fatigue_of, follows, has_interest, has_topic, has_view,
    popularity_of, quality_of, row_of, topic_match, velocity_of,
)
from prism.social.tables import BASE

inf = float("inf")

"""


def drawn_in_view(uniform: Draw, normal: Draw) -> tuple[str, str]:
    """Return the source of two random numbers about the post in view, by their purposes."""
    return f"drawn_about(t, person, tick, {int(uniform)})", f"drawn_about(t, person, tick, {int(normal)})"


class FieldTables(NamedTuple):
    """The values of fields in one world."""

    people: People  # the values of people that never change
    words: Words  # the texts that are numbers in columns
    topics: dict[str, int]
    weights: RelevanceConfig  # of a post's relevance
    patience: int  # the setting of people
    places: Mapping[str, int] = MappingProxyType({})  # `{attribute: its column of Tables.attributes}`
    of_posts: Mapping[str, int] = MappingProxyType({})  # `{attribute of posts: its column of Tables.given}`


class FieldSource(Naming):
    """The source that stands for fields, texts and lists of texts.

    Args:
        tables: where the fields' values are. Texts are numbers there.
        drawn: the source of the uniform random number that expressions read, and of the one that makes a normal one.
        own: `{field: its source}` of further fields.
        given: the source of the number of the post in the file of posts; columns: of the values of people that never
            change; topics: of the code of a post's topics.
    """

    def __init__(
        self,
        tables: FieldTables,
        drawn: tuple[str, str],
        own: Mapping[str, str] = MappingProxyType({}),
        given: str = "t.details[post].given",
        topics: str = "t.posts[post].topics",
        columns: str = "given",
    ) -> None:
        self._tables = tables
        self._of_post, self._topics, self._columns = given, topics, columns
        self._own = {
            **_READ,
            "post.relevance": "relevance",
            "agent.timeout_threshold": str(tables.patience),
            "draw.uniform": drawn[0],
            "draw.normal": f"normal_quantile(max({drawn[1]}, {LEAST_DRAW!r}))",
            **own,
        }
        self._given: list[NDArray[np.float64]] = []
        self._places: dict[str, int] = {}
        self._fails = False

    def value(self, expression: Expression) -> str | None:
        """Return the source of an expression's value; None if it cannot be read from the tables."""
        self._fails = False
        text = source(expression, self)
        return None if self._fails or ":=" in text or "reduce(" in text else text

    def lines(self, names: Iterable[str], indent: int) -> list[str]:
        lines, names = [], {*names}
        if reads_view(names):
            lines.append("post = t.people[person].current - t.counts.posts[BASE]")
        if "post.relevance" in names:
            # As `prism.agents.social_agent.relevance_of` works it out.
            weights = self._tables.weights
            parts = ("topic_match", "followed", "popularity", "appeal")
            total = " + ".join(f"{getattr(weights, name)!r} * {_POST[f'post.{name}']}" for name in parts)
            if weights.exposure:
                total += f" + {weights.exposure!r} * ({_POST['post.exposures']} - 1)"
            lines.append(f"relevance = min({total}, 1.0)")
        return [f"{' ' * indent}{line}" for line in lines]

    def __call__(self, value: Field | str | tuple[str, ...]) -> str:
        if isinstance(value, str):
            return str(self._tables.words.number(value))
        if isinstance(value, tuple):
            return f"({', '.join(self(each) for each in value)},)"
        read = self._own.get(value.name)
        return self._column(value) if read is None else f"({read})"

    def holds(self, texts: Field, item: str) -> str:
        of_post = f"has_topic(t.interests, {self._topics},"
        read = {"agent.interests": "has_interest(t.interests, person,", "post.topics": of_post}
        if not item.isdecimal() or texts.name not in read:  # not a constant text, but a field
            self._fails = True
            return "False"
        places = self._tables.topics
        return f"{read[texts.name]} {places.setdefault(self._tables.words.text(int(item)), len(places))})"

    def _column(self, field: Field) -> str:
        whose, name = field.name.split(".", 1)
        column = self._tables.places.get(name)
        if whose == "author":
            read = f"t.attributes[t.posts[post].author, {column}]"
        elif whose == "post":
            read = f"t.given[{self._of_post}, {self._tables.of_posts[name]}]"
        elif column is not None:
            read = f"t.attributes[person, {column}]"
        else:  # a value of people that never changes
            if field.name not in self._places:
                values = self._tables.people.column(field.name)
                if values is None:
                    self._fails = True
                    return "0.0"
                if values.dtype.kind == "U":
                    values = np.array([*map(self._tables.words.number, values.tolist())])
                self._places[field.name] = len(self._given)
                self._given.append(values.astype(np.float64))
            read = f"{self._columns}[person, {self._places[field.name]}]"
        return f"({read} != 0.0)" if field.kind == "bool" else read

    def columns(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(np.array(self._given).T) if self._given else np.zeros((1, 1))


# Rankings of feeds, and of the posts of a file for who publishes

KEY: Final = "feed.algorithm"
CHOICE_KEY: Final = "population.posts.choice"


def _count(name: str, text: str, source: str) -> tuple[Field, str]:
    return Field(name=name, kind="float", low=0.0, high=1e12, help=text), source


_FOLLOWERS: Final = "t.ties.followers.ends[t.posts[post].author] - t.ties.followers.starts[t.posts[post].author]"
_ACROSS: Final = "of these, the ones by people of another `feed.across` than the root's author"
FIELDS: Final[tuple[tuple[Field, str], ...]] = (
    _count("post.created", "the tick of the post", "t.posts[post].created"),
    _count("post.engagements", "engagements with its cascade", "engagements_of(t, post)"),
    _count("post.across", _ACROSS, "t.cascades[row_of(t, t.posts[post].cascade)].across"),
    _count("post.author_followers", "people who follow its author", _FOLLOWERS),
    _count("feed.freshness", "`feed.hot_rounds` in ticks", "t.settings.freshness"),
    _count("feed.popularity_weight", "the setting", "t.settings.popularity_weight"),
)
"""The fields that a ranking has beside those of charts, with their source."""

_DRAWN: Final = (
    f"unit(t.key, person, tick - tick % t.settings.ticks_per_round, {int(Draw.FEED_ORDER)}, t.posts[post].origin)"
)
_OF_POSTS: Final = (
    *("post.topic_match", "post.popularity", "post.quality", "post.followed", "post.likes", "post.replies"),
    *("post.reshares", "post.age_ticks", "post.velocity", "post.topics"),
)


def ranking_fields(people: PopulationConfig) -> dict[str, Field]:
    known = social_vocabulary(people.attributes, people.posts.attributes).fields
    declared = {f"agent.{each}" for each in people.attributes} | {f"post.{each}" for each in people.posts.attributes}
    own = {name: field for name, field in known.items() if name.startswith("author.") or name in declared}
    text = "a random number from 0 to below 1: of the reader, the round and the original"
    drawn = replace(known["draw.uniform"], help=text)
    listed = (*(known[name] for name in _OF_POSTS), *(field for field, _ in FIELDS), drawn)
    return {**own, **{field.name: field for field in listed}}


def _ranking(algorithm: str, people: PopulationConfig) -> Expression:
    return _parsed(ALGORITHMS.get(algorithm, algorithm), ranking_fields(people), KEY)


def scored_by(config: Config) -> frozenset[str]:
    """Return the fields that the rankings of a run and of its interventions read, and the choice among posts of a file.

    Raises:
        ConfigError: one is neither a name nor an expression of a number, or needs a setting that is not there.
    """
    people, across = config.population, config.feed.across
    if across is not None and across not in people.attributes:
        problem = f"{across}: people have no such attribute; {guess(across, sorted(people.attributes))}"
        raise ConfigError("configuration", problem, key="feed.across")
    read = set[str]()
    planned = [each.set[KEY] for each in config.interventions if each.set is not None and KEY in each.set]
    for algorithm in (config.feed.algorithm, *planned):
        fields = _ranking(algorithm, people).fields
        if "post.across" in fields and across is None:
            problem = f"is not set, and {algorithm} counts engagements across groups: expected an attribute of people"
            raise ConfigError("configuration", problem, key="feed.across")
        read |= {*fields}
    return frozenset(read.union(_post_choice(people).fields))


def ranking_kernel(algorithm: str, people: PopulationConfig, tables: FieldTables) -> Callable[..., Any]:
    """Return the kernel that scores a post, by its row, for a person at a tick."""
    fields = FieldSource(tables, (_DRAWN, _DRAWN), {field.name: source for field, source in FIELDS})
    return _kernel("ranking", KEY, _ranking(algorithm, people), fields)


def _post_choice(people: PopulationConfig) -> Expression:
    """Return the expression by which people choose among the posts of a file that are drawn for them."""
    known = social_vocabulary(people.attributes, people.posts.attributes).fields
    text = "a random number from 0 to below 1: of the author, the tick and the post"
    own = *(f"agent.{name}" for name in people.attributes), *(f"post.{name}" for name in people.posts.attributes)
    fields = {name: known[name] for name in (*own, "agent.interests", "post.topic_match", "post.topics")}
    fields["draw.uniform"] = replace(known["draw.uniform"], help=text)
    return _parsed(people.posts.choice, fields, CHOICE_KEY)


def post_choice_kernel(people: PopulationConfig, tables: FieldTables) -> Callable[..., Any]:
    """Return the kernel that scores a post of the file, by its number, for a person at a tick."""
    drawn, topics = f"unit(t.key, person, tick, {int(Draw.POST_CHOICE)}, post)", "t.given_topics[post]"
    own = {"post.topic_match": f"topic_match(t.interests, person, {topics})"}
    fields = FieldSource(tables, (drawn, drawn), own, "post", topics)
    return _kernel("post_choice", CHOICE_KEY, _post_choice(people), fields)


def _parsed(text: str, fields: Mapping[str, Field], key: str) -> Expression:
    try:
        return parse(text, fields, kind="number")
    except ExpressionError as error:
        raise ConfigError("configuration", str(error), key=key) from None


def _kernel(name: str, key: str, expression: Expression, fields: FieldSource) -> Callable[..., Any]:
    value = fields.value(expression)
    if value is None:
        raise ConfigError("configuration", f"cannot be worked out in a kernel: {expression}", key=key)
    body = f"    value = {value} * 1.0\n    return value if value == value else -inf\n"
    made: Callable[..., Any] = kernels.generated(name, f"{HEAD}def score(t, person, post, tick):\n{body}").score
    return made
