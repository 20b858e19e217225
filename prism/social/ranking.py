"""The ranking of feeds, and of the posts of a file for who publishes: expressions, of which some have names.

Each is written as a kernel, to which the kernels that build feeds and publish have pointers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from prism import kernels
from prism.config import Config
from prism.config.model import ALGORITHMS, PopulationConfig
from prism.errors import ConfigError, ExpressionError
from prism.expectations import guess
from prism.expressions import Expression, Field, parse
from prism.rng import Draw
from prism.social.field_source import HEAD, FieldSource, FieldTables
from prism.social.vocabulary import social_vocabulary

KEY: Final = "feed.algorithm"
CHOICE_KEY: Final = "population.posts.choice"


def _count(name: str, text: str, source: str) -> tuple[Field, str]:
    return Field(name=name, kind="float", low=0.0, high=1e12, help=text), source


_FOLLOWERS: Final = "t.ties.followers.ends[t.posts[post].author] - t.ties.followers.starts[t.posts[post].author]"
FIELDS: Final[tuple[tuple[Field, str], ...]] = (
    _count("post.created", "the tick of the post", "t.posts[post].created"),
    _count("post.engagements", "engagements with its cascade", "engagements_of(t, post)"),
    _count(
        "post.across",
        "of these, the ones by people of another `feed.across` than the root's author",
        "t.cascades[row_of(t, t.posts[post].cascade)].across",
    ),
    _count(
        "post.author_followers",
        "people who follow its author",
        _FOLLOWERS,
    ),
    _count("feed.freshness", "`feed.hot_rounds` in ticks", "t.settings.freshness"),
    _count("feed.popularity_weight", "the setting", "t.settings.popularity_weight"),
)
"""The fields that a ranking has beside those of charts, with their source."""

_DRAWN: Final = (
    f"unit(t.key, person, tick - tick % t.settings.ticks_per_round, {int(Draw.FEED_ORDER)}, t.posts[post].origin)"
)
_HEAD: Final = """\
from prism.kernel_rng import unit
from prism.social.kernels.post_kernel import engagements_of, row_of


def score(t, person, post, tick):
"""
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


def ranking(algorithm: str, people: PopulationConfig) -> Expression:
    """Return the expression of an algorithm: that of its name, or itself.

    Raises:
        ConfigError: it is neither a name nor an expression of a number.
    """
    return _parsed(ALGORITHMS.get(algorithm, algorithm), ranking_fields(people), KEY)


def rankings(config: Config) -> list[Expression]:
    """Return the rankings of a run: that of the beginning, and those of its interventions.

    Raises:
        ConfigError: one is no ranking, or needs a setting that is not there.
    """
    people, across = config.population, config.feed.across
    if across is not None and across not in people.attributes:
        problem = f"{across}: people have no such attribute; {guess(across, sorted(people.attributes))}"
        raise ConfigError("configuration", problem, key="feed.across")
    found = []
    planned = [each.set[KEY] for each in config.interventions if each.set is not None and KEY in each.set]
    for algorithm in (config.feed.algorithm, *planned):
        found.append(ranking(algorithm, people))
        if "post.across" in found[-1].fields and across is None:
            problem = f"is not set, and {algorithm} counts engagements across groups: expected an attribute of people"
            raise ConfigError("configuration", problem, key="feed.across")
    return found


def ranking_kernel(expression: Expression, tables: FieldTables) -> Callable[..., Any]:
    """Return the kernel that scores a post, by its row, for a person at a tick."""
    fields = FieldSource(tables, (_DRAWN, _DRAWN), {field.name: source for field, source in FIELDS})
    return _kernel("ranking", KEY, expression, fields)


def post_choice(people: PopulationConfig) -> Expression:
    """Return the expression by which people choose among the posts of a file that are drawn for them."""
    known = social_vocabulary(people.attributes, people.posts.attributes).fields
    text = "a random number from 0 to below 1: of the author, the tick and the post"
    own = *(f"agent.{name}" for name in people.attributes), *(f"post.{name}" for name in people.posts.attributes)
    fields = {name: known[name] for name in (*own, "agent.interests", "post.topic_match", "post.topics")}
    fields["draw.uniform"] = replace(known["draw.uniform"], help=text)
    return _parsed(people.posts.choice, fields, CHOICE_KEY)


def scored_by(config: Config) -> frozenset[str]:
    """Return the fields that the rankings of a run read, and the choice among posts of a file."""
    read = (*rankings(config), post_choice(config.population))
    return frozenset(name for each in read for name in each.fields)


def post_choice_kernel(expression: Expression, tables: FieldTables) -> Callable[..., Any]:
    """Return the kernel that scores a post of the file, by its number, for a person at a tick."""
    drawn, topics = f"unit(t.key, person, tick, {int(Draw.POST_CHOICE)}, post)", "t.given_topics[post]"
    own = {"post.topic_match": f"topic_match(t.interests, person, {topics})"}
    return _kernel("post_choice", CHOICE_KEY, expression, FieldSource(tables, (drawn, drawn), own, "post", topics))


def _parsed(text: str, fields: Mapping[str, Field], key: str) -> Expression:
    try:
        return parse(text, fields, kind="number")
    except ExpressionError as error:
        raise ConfigError("configuration", str(error), key=key) from None


def _kernel(name: str, key: str, expression: Expression, fields: FieldSource) -> Callable[..., Any]:
    value = fields.value(expression)
    if value is None:
        raise ConfigError("configuration", f"cannot be worked out in a kernel: {expression}", key=key)
    text = f"{HEAD}{_HEAD}    value = {value} * 1.0\n    return value if value == value else -inf\n"
    made: Callable[..., Any] = kernels.generated(name, text).score
    return made
