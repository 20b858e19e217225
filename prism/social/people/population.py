"""The people of a run and their follow graph, made before tick 0 and never changed after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from prism.config.model import PopulationConfig
from prism.errors import ConfigError
from prism.social.people.homophily import Homophily, wired
from prism.social.people.hours import relative
from prism.social.people.joining import join, number_of
from prism.social.people.margins import DrawnMargins, Margins
from prism.social.people.people import People
from prism.social.people.persona import Persona
from prism.social.people.profiles import Profile, Profiles, personas_from_profiles
from prism.social.people.synthetic import SyntheticPeople
from prism.social.posts.post_file import GivenPost
from prism.social.ties.graph import FollowGraph, Numbered, generate, is_mutual

HOMOPHILY: Final = "population.graph.homophily.by"


class Population(msgspec.Struct, frozen=True, kw_only=True):
    """The people and their graph: `personas[i]` is person i of `graph`.

    Args:
        hours: the factor of everybody's activity in each hour of the day, from midnight on, 1 on average; empty if all
            hours are alike.
        understood: how the file of profiles was understood, in lines.
        margins: the tables that attributes were drawn from; None without any.
        homophily: the share of ties between equals that was asked for and came out; None if ties depend on no
            attribute.
        posts: the posts of the file that people publish; empty without one.
        ids: lists of people's ids in files, by which settings may name them: `prism.social.people.joining.Joined`.
        joins: how people and profiles were joined, in lines.

    Raises:
        ValueError: there is not one persona for each person of the graph.
    """

    personas: Sequence[Persona]
    graph: FollowGraph
    hours: tuple[float, ...] = ()
    understood: tuple[str, ...] = ()
    margins: DrawnMargins | None = None
    homophily: Homophily | None = None
    posts: tuple[GivenPost, ...] = ()
    ids: tuple[Sequence[str], ...] = ()
    joins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.personas) != self.graph.size:
            raise ValueError(f"personas: expected one for each of {self.graph.size} people, got {len(self.personas)}")

    @property
    def size(self) -> int:
        """The number of people."""
        return self.graph.size

    def name(self, person: int) -> str:
        """Return the name of `person`; their id in the file is `graph.names[person]`."""
        people = self.personas
        return people.name(person) if isinstance(people, SyntheticPeople) else people[person].name

    def interests(self, person: int) -> tuple[str, ...]:
        """Return the interests of `person`."""
        people = self.personas
        return people.interests(person) if isinstance(people, SyntheticPeople) else people[person].interests

    def number(self, person: int | str) -> int:
        """Return the number of a person, by id, number or name: `prism.social.people.joining.number_of`.

        Raises:
            LookupError: there is nobody with it, or more than one.
        """
        return number_of(person, self.size, self.ids, self.name)


def ignore_step(_: str) -> None:
    """Ignore the next step."""


def build_population(  # each kind of input once
    config: PopulationConfig,
    seed: int,
    *,
    profiles: tuple[Profile, ...] | None = None,
    graph: FollowGraph | None = None,
    hours: tuple[float, ...] | None = None,
    margins: Margins | None = None,
    posts: tuple[GivenPost, ...] | None = None,
    on_step: Callable[[str], None] = ignore_step,
) -> Population:
    """Return the population of a run, a pure function of the arguments.

    A graph from a file has its own people, and so have follow lists in the profiles; only a generated graph has
    `config.size` people. Their personas come from the profiles, joined as `config.join` says, or else from the seed.

    Args:
        hours: the figures in the file that `config.activity.hours` names.
        margins: those of the tables that `config.margins` names.
        posts: those of the file that `config.posts.file` names.
        on_step: called with the next step, in words.

    Raises:
        ConfigError: the graph parameters do not fit the size, or a setting needs a file that is not given.
    """
    if isinstance(config.activity.hours, tuple):
        hours = config.activity.hours
    _check_all_read(config, hours, margins, posts)
    if graph is None and config.graph.kind == "profiles":
        graph = graph_of(profiles)
    ids: tuple[Sequence[str], ...] = () if graph is None or isinstance(graph.names, Numbered) else (graph.names,)
    joined = None
    if profiles:
        joined = join(config, profiles, graph, seed)
        graph, ids = joined.graph, joined.ids
    if graph is None:
        on_step(f"drawing who of {config.size:,} people follows whom")
        graph = generate(config.graph, config.size, seed)
        if ids:
            graph.names = ids[0]
    on_step(f"making {graph.size:,} people")
    drawn = None if margins is None else DrawnMargins(margins, graph.size, seed)
    personas = (
        personas_from_profiles(joined.cast, seed, config)
        if joined is not None
        else SyntheticPeople(graph.size, seed, config, drawn)
    )
    graph, alike = _alike(config, graph, personas, seed, on_step)
    return Population(
        personas=personas,
        graph=graph,
        hours=() if hours is None else relative(hours),
        understood=profiles.understood if isinstance(profiles, Profiles) else (),
        margins=drawn,
        homophily=alike,
        posts=posts or (),
        ids=ids,
        joins=() if joined is None else joined.lines,
    )


def _alike(
    config: PopulationConfig, graph: FollowGraph, personas: Sequence[Persona], seed: int, on_step: Callable[[str], None]
) -> tuple[FollowGraph, Homophily | None]:
    """Return a graph with the configured share of ties between equals; itself if ties depend on no attribute.

    Raises:
        ConfigError: people have no such attribute.
    """
    by, share = config.graph.homophily.by, config.graph.homophily.share
    if by is None:
        return graph, None
    on_step(f"joining people with the same {by}")
    values = People(personas).column(f"agent.{by}")
    if share is None or values is None:
        raise ConfigError("configuration", "expected an attribute that everybody has, and a share", key=HOMOPHILY)
    return wired(graph, values, by, share, seed, mutual=is_mutual(config.graph))


def _check_all_read(config: PopulationConfig, hours: object, margins: object, posts: object) -> None:
    """Refuse settings that name a file which nobody has read."""
    if config.activity.hours is not None and hours is None:
        raise _unread("activity.hours", f"figures of {config.activity.hours}")
    if config.margins and margins is None:
        raise _unread("margins", f"shares of {config.margins[0]}")
    if config.posts.file is not None and posts is None:
        raise _unread("posts.file", f"posts of {config.posts.file}")


def _unread(name: str, needed: str) -> ConfigError:
    """Return the error for a setting whose file was not read."""
    return ConfigError("configuration", f"needs the {needed}: only a run reads files", key=f"population.{name}")


def graph_of(profiles: tuple[Profile, ...] | None) -> FollowGraph:
    """Return the graph that the follow lists of the profiles make.

    Raises:
        ConfigError: there are no profiles, or nobody follows anyone in them.
    """
    if not profiles:
        raise ConfigError(
            "configuration",
            "`profiles` takes the ties from population.profiles, which is not set",
            key="population.graph.kind",
        )
    number_of = {profile.key: number for number, profile in enumerate(profiles)}
    follower: list[int] = []
    followee: list[int] = []
    for number, profile in enumerate(profiles):
        # Ties to oneself were left out of `follows`; they are added here only so that the graph counts them.
        listed = [number_of[key] for key in profile.follows] + [number] * profile.self_follows
        follower.extend([number] * len(listed))
        followee.extend(listed)
    graph = FollowGraph(len(profiles), follower, followee, names=[profile.key for profile in profiles])
    if not graph.edges:
        told = profiles.understood if isinstance(profiles, Profiles) else ()
        why = f": {'; '.join(told)}" if told else ""
        problem = f"`profiles` needs follow lists, and nobody follows anyone in population.profiles{why}"
        raise ConfigError("configuration", problem, key="population.graph.kind")
    return graph
