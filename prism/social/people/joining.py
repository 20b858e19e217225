"""The join of people with profiles and with the posts that they wrote.

Profiles are joined by ids, by position, or by a draw from the seed; posts by ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from prism.columns import Ints
from prism.config.model import PopulationConfig
from prism.errors import ConfigError
from prism.rng import Draw, integer
from prism.social.people.persona import unique_names
from prism.social.people.profiles import INDEX, NAME, USER_ID, USERNAME, Profile, Profiles
from prism.social.posts.post_file import GivenPost
from prism.social.ties.graph import FollowGraph, Numbered, shown
from prism.wording import counted

JOIN: Final = "population.join"
UNMATCHED: Final = "population.unmatched"
JOINS_SHOWN: Final = 3
"""The first joins that a line says."""
NAMED: Final = 5
"""The most people of one file alone whom a line names."""
ANYBODY: Final = -1
"""Stands for the author of a post that any person may publish."""


class Joined(NamedTuple):
    """The people of a run, each with a profile.

    Args:
        graph: who follows whom; None if a generator will draw it.
        ids: lists of the ids of all people, by which settings may name them; a person without an id has an empty one.
        lines: how people and profiles were joined.
    """

    graph: FollowGraph | None
    cast: Sequence[Profile]
    ids: tuple[Sequence[str], ...]
    lines: tuple[str, ...]


def join(config: PopulationConfig, profiles: Profiles, graph: FollowGraph | None, seed: int) -> Joined:
    """Return people with their profiles, as `config.join` and `config.unmatched` say.

    Args:
        graph: the graph of a file, or of the profiles' follow lists; None if a generator will draw it.
    """
    own = {kind: texts for kind, texts in profiles.ids.items() if kind in {USER_ID, USERNAME}}
    here, count = config.profiles or "the profiles", counted(len(profiles), "profile")
    if graph is not None and config.graph.path is None and config.graph.kind == "profiles":
        if config.join == "draw":
            raise _refused(f"draw: the follow lists of {here} make these profiles the people: expected id")
        return Joined(graph, profiles, (graph.names, *own.values()), ())

    size = config.size if graph is None else graph.size
    there = "population.size" if graph is None else config.graph.path or "the graph"
    names: Sequence[str] = Numbered(size) if graph is None else graph.names
    outer = () if graph is None else (names,)
    if config.join == "draw":
        cast = [_drawn(profiles, person, seed) for person in range(size)]
        line = f"{JOIN}: draw: a profile of {count} in {here} is drawn for each of {counted(size, 'person', 'people')}"
        return Joined(graph, cast, outer, (f"{line} of {there}, with replacement; {_first(names, cast)}",))
    if graph is None or config.join == "position":
        if len(profiles) != size:
            people = f"{counted(size, 'person', 'people')} of {there}"
            expected = "the same number of both, or draw (a profile for each person, by the seed)"
            start = "position: " if config.join == "position" else ""
            raise _refused(f"{start}{here} has {count} for {people}: expected {expected}")
        line = f"{JOIN}: position: {count} of {here} and {size:,} people of {there}, in the order of both"
        if graph is None:
            line = f"{here}: its {count} are the people, numbered in its order"
        return Joined(graph, profiles, (*outer, *own.values()), (f"{line}; {_first(names, profiles)}",))
    return _by_id(config, profiles, graph, seed)


def _by_id(config: PopulationConfig, profiles: Profiles, graph: FollowGraph, seed: int) -> Joined:
    here, there = config.profiles or "the profiles", config.graph.path or "the graph"
    kinds, known = profiles.ids, {*graph.names}
    met = {kind: sum(map(known.__contains__, texts)) for kind, texts in kinds.items()}
    # Ids come first. Only if none of them is in the graph may an index, or names that all differ, stand for them.
    kind = max((USER_ID, USERNAME), key=lambda kind: met.get(kind, 0))
    if not met.get(kind):
        kind = next((kind for kind in (INDEX, NAME) if met.get(kind)), "")
    if not kind:
        own = next(iter(kinds.values()), ())
        theirs = f"no id of {here} ({_listed(own, JOINS_SHOWN)}) is in" if own else f"{here} has no ids, unlike"
        raise _refused(
            f"{theirs} {there} ({_listed(graph.names, JOINS_SHOWN)}): expected id (both files have the same "
            f"ids), position ({counted(len(profiles), 'profile')} for {counted(graph.size, 'person', 'people')}, in "
            "the order of both files) or draw (a profile for each person, by the seed)"
        )
    # 1. Who is in one file only.
    place_of = {text: place for place, text in enumerate(kinds[kind])}
    strangers = [name for name in graph.names if name not in place_of]
    without_ties = [text for text in kinds[kind] if text not in known]
    alone = [
        f"{_are(some, f'person of {one}', f'people of {one}')} not in {other}: {_listed(some, NAMED)}"
        for some, one, other in ((strangers, there, here), (without_ties, here, there))
        if some
    ]
    if alone and config.unmatched is None:
        expected = f"expected drop (leave them out), draw (people of {there} get profiles of others, by the seed)"
        raise ConfigError("configuration", f"{'; '.join(alone)}; {expected} or files that match", key=UNMATCHED)
    # 2. The graph without them, or profiles for them.
    if strangers and config.unmatched == "drop":
        graph = graph.only([person for person, name in enumerate(graph.names) if name in place_of])
        if not graph.edges:
            raise ConfigError("configuration", f"drop leaves no ties between people of {here}", key=UNMATCHED)
    places = [place_of.get(name) for name in graph.names]
    cast = [_drawn(profiles, person, seed) if place is None else profiles[place] for person, place in enumerate(places)]
    # The one whose name it is keeps it; those with drawn profiles get numbers behind it.
    order = sorted(range(graph.size), key=lambda person: places[person] is None)
    for person, name in zip(order, unique_names(cast[person].name for person in order), strict=True):
        if places[person] is None:
            cast[person] = msgspec.structs.replace(cast[person], name=name)
    ids = tuple(
        ["" if place is None else texts[place] for place in places]
        for other, texts in kinds.items()
        if other != kind and other in {USER_ID, USERNAME}
    )
    both = counted(sum(place is not None for place in places), "person", "people")
    lines = [f"{JOIN}: id: {both} in {there} and {here} (`{kind}`); {_first(graph.names, cast)}"]
    if alone:
        done = "left out" if config.unmatched == "drop" else f"those of {there} have profiles drawn by the seed"
        done += f"; those of {here} are left out" if without_ties and config.unmatched == "draw" else ""
        lines.append(f"{UNMATCHED}: {config.unmatched}: {'; '.join(alone)}; {done}")
    return Joined(graph, cast, (graph.names, *ids), tuple(lines))


def authors_of(
    posts: Sequence[GivenPost], config: PopulationConfig, ids: Sequence[Sequence[str]], size: int
) -> tuple[Ints, tuple[str, ...]]:
    """Return the person who alone may publish each post, and lines about them.

    A post has `ANYBODY` if any person may publish it, and `size` if nobody may.

    Args:
        ids: as `Joined` has them.
    """
    path, column, keys = config.posts.file, config.posts.author, [post.author for post in posts]
    wanted, owners = {*keys} - {""}, np.full(len(posts), ANYBODY)
    most = max(ids, key=lambda texts: sum(map(wanted.__contains__, texts)), default=())
    place_of = {text: person for person, text in enumerate(most) if text in wanted}
    others = [*dict.fromkeys(key for key in keys if key and key not in place_of)]
    if not place_of:
        line = f"{path}: `{column}`: authors are not people ({_listed(others, JOINS_SHOWN)}): any person may publish"
        return owners, (line,) if others else ()
    # 1. Authors who are not people.
    alone = f"{_are(others, 'author', 'authors')} in {path} only: {_listed(others, NAMED)}"
    if others and config.unmatched is None:
        ways = "drop (leave their posts out), draw (any person may publish them) or population.posts.author: null"
        raise ConfigError("configuration", f"{alone}; expected {ways}", key=UNMATCHED)
    other = size if config.unmatched == "drop" else ANYBODY
    owners[:] = [place_of.get(key, other) if key else ANYBODY for key in keys]
    # 2. Who may publish what.
    own = np.flatnonzero((owners != ANYBODY) & (owners != size))
    first = ", ".join(f"post {place + 1} is {shown(keys[place])}'s" for place in own[:JOINS_SHOWN].tolist())
    line = f"{path}: `{column}`: {counted(len(own), 'post')} of {counted(len(place_of), 'person', 'people')}, which "
    line += f"nobody else publishes; first: {first}"
    if free := int(np.count_nonzero(owners == ANYBODY)):
        line += f"; any person may publish {counted(free, 'other')}"
    elif lacking := size - len(place_of):
        line += f"; {counted(lacking, 'person', 'people')} without a post of their own write sentences"
    done = "their posts are left out" if config.unmatched == "drop" else "any person may publish their posts"
    return owners, (line, f"{UNMATCHED}: {config.unmatched}: {alone}; {done}")[: 1 + bool(others)]


def _are(some: Sequence[str], one: str, more: str) -> str:
    return f"{counted(len(some), one, more)} {'is' if len(some) == 1 else 'are'}"


def _refused(problem: str) -> ConfigError:
    return ConfigError("configuration", problem, key=JOIN)


def _drawn(profiles: Sequence[Profile], person: int, seed: int) -> Profile:
    return profiles[integer(len(profiles), seed, person, 0, Draw.PERSONA)]


def _first(names: Iterable[str], cast: Sequence[Profile]) -> str:
    joins = zip(names, cast[:JOINS_SHOWN], strict=False)
    return f"first: {', '.join(f'{shown(name)} is {shown(profile.name)}' for name, profile in joins)}"


def _listed(ids: Sequence[str], most: int) -> str:
    more = f" and {counted(len(ids) - most, 'other')}" if len(ids) > most else ""
    return ", ".join(map(shown, ids[:most])) + more
