"""The people of a run, their follow graph and their rates of posting, made before tick 0 and not changed after it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints
from prism.config.interventions import numbered
from prism.config.model import PopulationConfig
from prism.errors import ConfigError
from prism.expectations import found
from prism.rng import Draw, mapped, normals
from prism.social.people.homophily import Homophily, wired
from prism.social.people.hours import Hours, factors
from prism.social.people.joining import authors_of, join
from prism.social.people.margins import DrawnMargins, Margins
from prism.social.people.people import People, SyntheticPeople
from prism.social.people.persona import Persona
from prism.social.people.profiles import Profiles, personas_from_profiles
from prism.social.posts.post_file import GivenPost
from prism.social.ties.graph import FollowGraph, Numbered, generate, is_mutual


class Population(msgspec.Struct, frozen=True, kw_only=True):
    """The people and their graph: `personas[i]` is person i of `graph`.

    Args:
        hours: the factor of activity in each hour of the day from midnight on, 1 on average; none if all are alike.
        understood: how the file of profiles was understood, in lines.
        margins: the tables that attributes were drawn from.
        homophily: the share of ties between equals that was asked for and came out.
        posts: the posts of the file that people publish.
        owners: who may publish each: `prism.social.people.joining.authors_of`.
        ids: lists of people's ids in files, by which settings may name them: `prism.social.people.joining.Joined`.
        joins: how people were joined with profiles and posts, and how their hours were read, in lines.
    """

    personas: Sequence[Persona]
    graph: FollowGraph
    hours: NDArray[np.float64] = msgspec.field(default_factory=lambda: np.zeros(0))
    understood: tuple[str, ...] = ()
    margins: DrawnMargins | None = None
    homophily: Homophily | None = None
    posts: tuple[GivenPost, ...] = ()
    owners: Ints = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    ids: tuple[Sequence[str], ...] = ()
    joins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.personas) != self.graph.size:
            raise ValueError(f"personas: expected one for each of {self.graph.size} people, got {len(self.personas)}")

    @property
    def size(self) -> int:
        return self.graph.size

    def name(self, person: int) -> str:
        """Return the name of `person`; their id in the file is `graph.names[person]`."""
        people = self.personas
        return people.name(person) if isinstance(people, SyntheticPeople) else people[person].name

    def number(self, person: int | str) -> int:
        """Return the number of a person whom a setting names: by id, else by number, else by name.

        Where ids are whole numbers, a number is an id and nothing else.

        Raises:
            LookupError: there is nobody with it, or more than one.
        """
        kind, numbers = "id", sorted({texts.index(str(person)) for texts in self.ids if str(person) in texts})
        if not numbers and isinstance(person, int):
            if any(all(map(str.isdecimal, texts)) for texts in self.ids):
                raise LookupError(f"expected the id of one of {self.size:,} people, got {person}, which nobody has")
            return numbered(person, self.size, "people")
        if not numbers:
            kind, numbers = "name", [number for number in range(self.size) if self.name(number) == person]
        if len(numbers) != 1:
            some = f"{len(numbers):,} people, such as {numbers[0]} and {numbers[1]}" if numbers else "nobody"
            what = "id or the name" if any(self.ids) else "name"
            raise LookupError(f"expected the {what} of one person, got {found(person)}, the {kind} of {some}")
        return numbers[0]


def ignore_step(_: str) -> None:
    """Ignore the next step."""


def build_population(
    config: PopulationConfig,
    seed: int,
    *,
    profiles: Profiles | None = None,
    graph: FollowGraph | None = None,
    hours: Hours | None = None,
    margins: Margins | None = None,
    posts: tuple[GivenPost, ...] | None = None,
    on_step: Callable[[str], None] = ignore_step,
) -> Population:
    """Return the population of a run, a pure function of the arguments.

    A graph from a file has its own people, and so have follow lists in the profiles; only a generated graph has
    `config.size` people. Their personas come from the profiles, joined as `config.join` says, or else from the seed.

    Args:
        profiles, graph, hours, margins, posts: the contents of the files that the settings name.
        on_step: called with the next step, in words.

    Raises:
        ConfigError: the graph parameters do not fit the size, or a setting needs a file that is not given.
    """
    # 1. The files that settings name.
    for key, named, what, content in (
        ("activity.hours", config.activity.hours if isinstance(config.activity.hours, str) else None, "figures", hours),
        ("margins", config.margins[0] if config.margins else None, "shares", margins),
        ("posts.file", config.posts.file, "posts", posts),
    ):
        if named is not None and content is None:
            problem = f"needs the {what} of {named}: only a run reads files"
            raise ConfigError("configuration", problem, key=f"population.{key}")
    # 2. The people, and the ties between them.
    if graph is None and config.graph.kind == "profiles":
        if not profiles:
            raise _refused_kind("takes the ties from population.profiles, which is not set")
        graph = FollowGraph(len(profiles), profiles.ties[:, 0], profiles.ties[:, 1], names=profiles.keys)
        if not graph.edges:
            why = "; ".join(profiles.understood)
            raise _refused_kind(f"needs follow lists, and nobody follows anyone in population.profiles: {why}")
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
    # 3. Their personas.
    on_step(f"making {graph.size:,} people")
    drawn = None if margins is None else DrawnMargins(margins, graph.size, seed)
    personas: Sequence[Persona] = SyntheticPeople(graph.size, seed, config, drawn)
    if joined is not None:
        personas = personas_from_profiles(joined.cast, seed, config)
    # 4. The share of ties between equals.
    by, share, alike = config.graph.homophily.by, config.graph.homophily.share, None
    if by is not None and share is not None:
        on_step(f"joining people with the same {by}")
        values = np.asarray(People(personas).column(f"agent.{by}"))
        graph, alike = wired(graph, values, by, share, seed, mutual=is_mutual(config.graph))
    # 5. Their hours, and the posts that are theirs.
    path = config.activity.hours
    of_hours = (hours.understood(path),) if hours is not None and isinstance(path, str) else ()
    known, posts = ids or (() if config.graph.path is None else (graph.names,)), posts or ()
    owners, of_posts = authors_of(posts, config, known, graph.size)
    return Population(
        personas=personas,
        graph=graph,
        hours=factors(path if isinstance(path, tuple) else hours),
        understood=() if profiles is None else profiles.understood,
        margins=drawn,
        homophily=alike,
        posts=posts,
        owners=owners,
        ids=ids,
        joins=(*(() if joined is None else joined.lines), *of_hours, *of_posts),
    )


def _refused_kind(problem: str) -> ConfigError:
    return ConfigError("configuration", f"`profiles` {problem}", key="population.graph.kind")


MOST: Final = 7.0
"""The most originals of one person in a session: each of those of one tick has a name of its own."""
CAPPED: Final = MOST * (1.0 - 1e-12)
"""From here on a rate counts as capped: the scale of the others is a float."""


def posting_rates(
    graph: FollowGraph, mean: float, exponent: float, participation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean number of original posts in a session of each person.

        rate(i) = min(7, c participation(i) (1 + followers(i))^exponent)

    with the c that makes `mean` the mean over people. There is one for every mean from 0 to 7.

    Sources: Muchnik et al., "Origins of power-law degree distribution in the heterogeneity of human activity in social
    networks" (2013), for the heavy tail of people's activity; Wojcik & Hughes, "Sizing up Twitter users" (2019), where
    a tenth of the people makes 80% of the posts; Huberman, Romero & Wu, "Social networks that matter: Twitter under the
    microscope" (2009), where people with more followers post more. The log-normal form and the power are choices:
    docs/decisions/005-worlds.md.

    Args:
        mean: the mean over people, 0 to 7.
        exponent: 0 leaves out the followers; participation: above 0, of each person.
    """
    weights = participation * (1.0 + graph.follower_counts()) ** exponent
    order = np.sort(weights)[::-1]
    # With the k largest at 7, c is what remains of the sum over the sum of the other weights. The smallest k for which
    # the next largest stays at 7 or below is the right one.
    others = order[::-1].cumsum()[::-1]
    wanted = mean * graph.size - MOST * np.arange(graph.size)
    scales = np.maximum(wanted, 0.0) / others
    fits = scales * order <= 2.0 * MOST - CAPPED
    scale = float(scales[int(fits.argmax())])
    rates: NDArray[np.float64] = np.minimum(MOST, scale * weights)
    return rates


def participation(size: int, seed: int, sigma: float) -> NDArray[np.float64]:
    """Return the participation of each person, exp(sigma z - sigma^2 / 2), which is 1 on average.

    Args:
        size: the number of people; sigma: 0 gives everybody 1.
    """
    if not sigma:
        return np.ones(size)
    return mapped(math.exp, sigma * normals(seed, np.arange(size), 0, Draw.PARTICIPATION) - sigma * sigma / 2.0)
