"""The names that people give to the two columns of a table of ties, and which of the two follows the other.

Names are compared word by word, so `SOURCE_SUBREDDIT`, `FromNodeId` and `user_from` are found as well as `source`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations
from typing import Final, NamedTuple

Words = tuple[str, ...]

DIRECTIONS: Final = (
    ("source", "target"),
    ("source", "destination"),
    ("source", "dest"),
    ("src", "dst"),
    ("src", "dest"),
    ("src", "tgt"),
    ("src", "target"),
    ("origin", "destination"),
    ("origin", "dest"),
    ("from", "to"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("citing", "cited"),
    ("ego", "alter"),
    ("follower", "followee"),
    ("follower", "following"),
    ("follower", "followed"),
    ("follower", "user"),
    ("followers", "user"),
    ("fan", "user"),
    ("user", "followee"),
    ("user", "following"),
    ("user", "followed"),
    ("user", "follows"),
    ("user", "friend"),
)
"""Words of the person who follows and of the one who is followed.

A user follows friends, and followers follow the user. Any word of `_PEOPLE` may stand for `user`."""

ORDERS: Final = (("1", "2"), ("0", "1"), ("a", "b"), ("i", "j"), ("u", "v"), ("one", "two"), ("first", "second"))
"""Words that only number two columns of people. They may be ids, too, so they do not show that a line is a header."""

_KNOWN = frozenset(word for pair in DIRECTIONS for word in pair)
_PEOPLE = frozenset(
    {"account", "actor", "agent", "author", "character", "handle", "id", "ids", "individual", "key", "member", "n"}
    | {"name", "node", "number", "participant", "people", "person", "player", "screen", "student", "twitter", "uid"}
    | {"user", "username", "v", "vertex"}
)
"""Words that only say that a column names people."""
_COUNTERS = frozenset({"unnamed", "index", "idx", "nr", "no", "num", "number", "row", "line", "rownames"})
_FACTS = frozenset(
    {"weight", "weights", "w", "type", "kind", "label", "relation", "time", "timestamp", "date", "year", "month", "day"}
    | {"hour", "created", "count", "counts", "value", "score", "rating", "sign", "strength"}
)
"""Words of columns that say something about a tie."""
_LISTS = frozenset({"list", "lists"})
"""Words of columns that hold several people in a cell, as profiles do."""
_THINGS = frozenset(
    {"age", "artist", "book", "business", "category", "city", "club", "cluster", "community", "country", "course"}
    | {"department", "event", "forum", "gender", "group", "hashtag", "item", "language", "movie", "paper", "party"}
    | {"post", "product", "region", "sex", "song", "subreddit", "tag", "text", "topic", "track", "tweet", "url"}
)
"""Words of columns that hold what people have, rate or belong to."""


class Ends(NamedTuple):
    """The columns of the two ends, from 0 on: the person in one follows the person in the other."""

    follower: int
    followee: int


def words(name: str) -> Words:
    """Return the words of a column's name in lower case: `from`, `node`, `id` for `FromNodeId`."""
    found = list[str]()
    for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+", name):
        word = part.lower()
        stem = next((end for end in ("id", "node") if word.endswith(end) and word.removesuffix(end) in _KNOWN), "")
        found += [word.removesuffix(stem), stem] if stem else [word]
    if found[:2] == ["followed", "by"]:
        return ("follower", *found[2:])
    return tuple(found)


def directed_ends(names: Sequence[str]) -> list[Ends]:
    """Return the pairs of columns that are named as the ends of a tie: none, one, or all that could be meant."""
    return _best(names, DIRECTIONS)


def may_be_reversed(names: Sequence[str], ends: Ends) -> bool:
    """Return whether a name contradicts the order of the columns: of `blogger` and `follower` the second follows."""
    follower, followee = ({*words(names[end])} - {"user"} for end in ends)
    return bool(followee & {first for first, _ in DIRECTIONS} or follower & {second for _, second in DIRECTIONS})


def ordered_ends(names: Sequence[str]) -> list[Ends]:
    """Return the pairs of columns of people that are only numbered, such as `node1` and `node2`."""
    found = _best(names, ORDERS)
    return [ends for ends in found if {*words(names[ends.follower])[:-1]} <= _PEOPLE]


def of_no_person(names: Sequence[str]) -> list[str]:
    """Return the names of columns that hold no people: numbers of lines, facts about ties, and a thing beside people.

    Where two columns are named after things, they are its ends: `movie_x` and `movie_y`.
    """
    things = [name for name in names if _THINGS & {*words(name)}]
    found = []
    for name in names:
        said = words(name)
        is_number = said in {(), ("id",), ("edge", "id"), ("tie", "id"), ("link", "id")}
        if is_number or {*said} & _FACTS or {*said[:1]} & _COUNTERS or things == [name]:
            found.append(name)
    return found


def counts_by_name(name: str) -> bool:
    """Return whether a column with this name counts the lines, such as a blank name or `Unnamed: 0`."""
    said = words(name)
    return not said or said[0] in _COUNTERS


def _best(names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[Ends]:
    """Return the pairs of columns whose names differ only in the words of a pair, such as `source` and `target`.

    If there are none, the other words may differ, as long as they only say that the columns name people. Of several
    pairs the plainest is taken: `source` before `source_id`, and that before `source_label`.
    """
    said, known = [words(name) for name in names], {word for pair in pairs for word in pair}
    possible = [at for at, each in enumerate(said) if (known & {*each} or {*each} <= _PEOPLE) and not _LISTS & {*each}]
    found: tuple[dict[Ends, Words], ...] = ({}, {}, {})
    for follower, followee in permutations(possible, 2):
        for first, second in pairs:
            # The match by its quality, 0 being best, with the other words of both names.
            one, other = said[follower], said[followee]
            if not (_has(one, first) and _has(other, second)):
                continue
            rests = _without(one, first), _without(other, second)
            quality = 0 if rests[0] == rests[1] else 1
            if first not in one or second not in other:
                quality = 2
            elif quality and not {*rests[0], *rests[1]} <= _PEOPLE:
                continue
            found[quality][Ends(follower, followee)] = max(rests)
    best = next(filter(None, found), {})
    for rest in ((), ("id",)):
        plain = [ends for ends, others in best.items() if others == rest]
        if len(plain) == 1:
            return plain
    return [*best]


def _has(said: Words, word: str) -> bool:
    return word in said or (word == "user" and bool(said) and {*said} <= _PEOPLE)


def _without(said: Words, word: str) -> Words:
    at = said.index(word) if word in said else len(said)
    return said[:at] + said[at + 1 :]
