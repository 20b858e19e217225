"""The fields of expressions, as source that reads the tables of the social world.

An expression's tree is written as Python source, as for one agent, with the tables in place of an agent's fields. A
kernel has it as a part: for the person `person`, at the tick `tick`, who has the post in the row `post` in view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.config.attributes import Value
from prism.config.model import RelevanceConfig
from prism.expressions import Expression, Field
from prism.expressions.source import Naming, source
from prism.expressions.tree import reads_view
from prism.kernel_rng import LEAST_DRAW
from prism.rng import Draw
from prism.social.people.people import People


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
from prism.kernel_rng import normal_quantile
from prism.kernels import address_of
from prism.social.kernels.post_kernel import (
    appeal_of, drawn_about, exposures_of, fatigue_of, follows, has_interest, has_topic, has_view, popularity_of,
    quality_of, topic_match, velocity_of,
)
from prism.social.tables import BASE

inf = float("inf")

"""


def drawn_in_view(uniform: Draw, normal: Draw) -> tuple[str, str]:
    """Return the source of two random numbers about the post in view, by their purposes."""
    return f"drawn_about(t, person, tick, {int(uniform)})", f"drawn_about(t, person, tick, {int(normal)})"


class FieldTables(NamedTuple):
    """The values of fields in one world.

    Args:
        people: the values of people that never change.
        words: the texts that are numbers in columns.
        weights: of a post's relevance; patience: the setting of people.
        places: `{attribute: its column of Tables.attributes}`.
        of_posts: `{attribute of posts: its column of Tables.given}`.
    """

    people: People
    words: Words
    topics: dict[str, int]
    weights: RelevanceConfig
    patience: int
    places: Mapping[str, int] = MappingProxyType({})
    of_posts: Mapping[str, int] = MappingProxyType({})


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
        if not item.isdecimal():  # not a constant text, but a field
            self._fails = True
            return "False"
        places = self._tables.topics
        place = places.setdefault(self._tables.words.text(int(item)), len(places))
        if texts.name == "agent.interests":
            return f"has_interest(t.interests, person, {place})"
        if texts.name == "post.topics":
            return f"has_topic(t.interests, {self._topics}, {place})"
        self._fails = True
        return "False"

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
