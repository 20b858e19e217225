"""The people of a run: joined with their profiles, ties, hours and posts before tick 0, and not changed after it.

Profiles are joined by ids, by position, or by a draw from the seed; posts by ids.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints
from prism.config.interventions import numbered
from prism.config.model import DAY_HOURS, PopulationConfig, hours_problem
from prism.errors import ConfigError, InputError
from prism.expectations import found
from prism.rng import Draw, integer, mapped, normals
from prism.social.people.margins import DrawnMargins, Margins
from prism.social.people.people import People, SyntheticPeople
from prism.social.people.persona import Persona, unique_names
from prism.social.people.profiles import INDEX, NAME, USER_ID, USERNAME, Profile, Profiles, personas_from_profiles
from prism.social.posts.post_file import GivenPost
from prism.social.ties.graph import FollowGraph, Homophily, Numbered, generate, is_mutual, shown, wired
from prism.text_files import TABLES, check_format, decode_text, plain_number, read_table
from prism.wording import counted

JOIN: Final = "population.join"
UNMATCHED: Final = "population.unmatched"
KIND: Final = "population.graph.kind"
JOINS_SHOWN: Final = 3  # the first joins that a line says
NAMED: Final = 5  # the most people of one file alone whom a line names
ANYBODY: Final = -1  # stands for the author of a post that any person may publish


HOUR_COLUMNS: Final = tuple(f"h{hour:02d}" for hour in range(DAY_HOURS))
"""The columns of a table of counts. Others may be there, too."""


class Hours(NamedTuple):
    """A table of counts by hour of the day: the rate of a person's messages is a base rate times a factor of the hour.

    Source: Malmgren et al., "A Poissonian explanation for heavy tails in e-mail communication" (2008).
    """

    counts: NDArray[np.float64]  # a row for each account, a column for each hour
    others: tuple[str, ...] = ()  # the names of its other columns

    def understood(self, path: str) -> str:
        unused = f"; not used: {', '.join(f'`{name}`' for name in self.others)}" if self.others else ""
        return f"{path}: the sums of {counted(len(self.counts), 'row')} are everybody's hours{unused}"


def factors(hours: Hours | tuple[float, ...] | None) -> NDArray[np.float64]:
    """Return the factors of activity of the hours of a day, whose mean is 1; none if all hours are alike.

    Of a table the sums of all rows count.
    """
    if hours is None:
        return np.zeros(0)
    columns = np.array([hours]) if not isinstance(hours, Hours) else hours.counts
    figures = np.array([math.fsum(column) for column in columns.T])
    return np.asarray(DAY_HOURS * figures / math.fsum(figures))


def hour_at(epoch: datetime, seconds: float) -> int:
    """Return the hour, 0 to 23, that a clock with the epoch's UTC offset shows so many seconds after the epoch."""
    return (epoch + timedelta(seconds=seconds)).hour


def parse_hours(data: bytes, source: str, _: object = None) -> Hours:
    """Return the columns h00 to h23 of a table."""
    check_format(source, "counts by hour", TABLES)
    table = read_table(decode_text(data, source), source, HOUR_COLUMNS)
    header = [name.lower() for name in table.header]
    for name in HOUR_COLUMNS:
        if header.count(name) != 1:
            problem = f"expected a header with each of h00 to h23 once, got {header.count(name)} times {name}"
            raise InputError(source, problem, line=1)
    places, accounts = [header.index(name) for name in HOUR_COLUMNS], list[list[float]]()
    for line, row in table.rows:
        accounts.append([])
        for name, place in zip(HOUR_COLUMNS, places, strict=True):
            count = plain_number(row[place])
            if count is None or not 0.0 <= count <= 1e15:
                raise InputError(
                    source, f"expected a count from 0 to 1e15, got {found(row[place])}", key=name, line=line
                )
            accounts[-1].append(count)
    counts = np.array(accounts).reshape(-1, DAY_HOURS)
    if problem := hours_problem(tuple(counts.sum(axis=0).tolist())):
        raise InputError(source, problem)
    return Hours(counts, tuple(name for name in table.header if name.lower() not in HOUR_COLUMNS))


class Population(msgspec.Struct, frozen=True, kw_only=True):
    """The people and their graph: `personas[i]` is person i of `graph`."""

    personas: Sequence[Persona]
    graph: FollowGraph
    # the factor of activity in each hour of the day from midnight on, 1 on average; none if all are alike
    hours: NDArray[np.float64] = msgspec.field(default_factory=lambda: np.zeros(0))
    understood: tuple[str, ...] = ()  # how the file of profiles was understood, in lines
    margins: DrawnMargins | None = None  # the tables that attributes were drawn from
    homophily: Homophily | None = None  # the share of ties between equals that was asked for and came out
    posts: tuple[GivenPost, ...] = ()  # the posts of the file that people publish
    # who may publish each: `authors_of`
    owners: Ints = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    ids: tuple[Sequence[str], ...] = ()  # lists of people's ids in files, by which settings may name them: `Joined`
    # how people were joined with profiles and posts, and how their hours were read, in lines
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

        Where ids are whole numbers, a number is an id and nothing else. A LookupError: nobody has it, or several have.
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
            raise _refused(problem, f"population.{key}")
    # 2. The people, and the ties between them.
    if graph is None and config.graph.kind == "profiles":
        if not profiles:
            raise _refused("`profiles` takes the ties from population.profiles, which is not set", KIND)
        graph = FollowGraph(len(profiles), profiles.ties[:, 0], profiles.ties[:, 1], names=profiles.keys)
        if not graph.edges:
            problem = "`profiles` needs follow lists, and nobody follows anyone in population.profiles"
            raise _refused(f"{problem}: {'; '.join(profiles.understood)}", KIND)
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


class Joined(NamedTuple):
    """The people of a run, each with a profile."""

    graph: FollowGraph | None  # who follows whom; None if a generator will draw it
    cast: Sequence[Profile]
    # lists of the ids of all people, by which settings may name them; a person without an id has an empty one
    ids: tuple[Sequence[str], ...]
    lines: tuple[str, ...]  # how people and profiles were joined


def join(config: PopulationConfig, profiles: Profiles, graph: FollowGraph | None, seed: int) -> Joined:
    """Return people with their profiles, as `config.join` and `config.unmatched` say.

    The graph is that of a file or of the profiles' follow lists; None if a generator will draw it.
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
        raise _refused(f"{'; '.join(alone)}; {expected} or files that match", UNMATCHED)
    # 2. The graph without them, or profiles for them.
    if strangers and config.unmatched == "drop":
        graph = graph.only([person for person, name in enumerate(graph.names) if name in place_of])
        if not graph.edges:
            raise _refused(f"drop leaves no ties between people of {here}", UNMATCHED)
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

    A post has `ANYBODY` if any person may publish it, and `size` if nobody may. `ids` are those of `Joined`.
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
        raise _refused(f"{alone}; expected {ways}", UNMATCHED)
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


def _refused(problem: str, key: str = JOIN) -> ConfigError:
    return ConfigError("configuration", problem, key=key)


def _drawn(profiles: Sequence[Profile], person: int, seed: int) -> Profile:
    return profiles[integer(len(profiles), seed, person, 0, Draw.PERSONA)]


def _first(names: Iterable[str], cast: Sequence[Profile]) -> str:
    joins = zip(names, cast[:JOINS_SHOWN], strict=False)
    return f"first: {', '.join(f'{shown(name)} is {shown(profile.name)}' for name, profile in joins)}"


def _listed(ids: Sequence[str], most: int) -> str:
    more = f" and {counted(len(ids) - most, 'other')}" if len(ids) > most else ""
    return ", ".join(map(shown, ids[:most])) + more


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
    """Return the participation of each person, exp(sigma z - sigma^2 / 2), which is 1 on average."""
    if not sigma:
        return np.ones(size)
    return mapped(math.exp, sigma * normals(seed, np.arange(size), 0, Draw.PARTICIPATION) - sigma * sigma / 2.0)
