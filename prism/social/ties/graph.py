"""The follow graph: directed, never changed; three generators that make one from a seed; and a line on its file.

A tie i -> j means that i follows j: i sees the posts of j. A friendship is two ties. Both directions are stored as
compressed sparse rows, 8 bytes a tie and 16 a person, so a feed and a fan-out each read one slice of an array.
"""

from __future__ import annotations

import random  # noqa: TID251 - nothing is drawn from it: it is igraph's first generator, which is restored after use
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prism.columns import distinct
from prism.config.graph_fit import block_ties, find_misfit
from prism.config.model import PEOPLE_MAX, GraphConfig
from prism.errors import ConfigError, InputError
from prism.quoting import printable
from prism.rng import GraphRandom
from prism.social.kernels.graph_kernel import friendships
from prism.social.ties.graph_library import load_igraph
from prism.wording import counted, cut

if TYPE_CHECKING:
    import igraph

Ints = NDArray[np.int32]
Keys = NDArray[np.int64]
N = TypeVar("N", bound=np.generic)

_drawing = Lock()
"""Held while igraph draws: two worlds that are made in two threads would draw from one generator."""


class Numbered(Sequence[str]):
    """The ids "0" to "size - 1", none of which is kept: those of a million people would take 60 MB.

    Args:
        first: the number that the first person has in place of 0.
    """

    def __init__(self, size: int, first: int = 0) -> None:
        self._numbers = range(first, size + first)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        numbers = self._numbers[place]
        return str(numbers) if isinstance(numbers, int) else tuple(map(str, numbers))

    def __len__(self) -> int:
        return len(self._numbers)


class FollowGraph:
    """A follow graph over the people 0 .. size - 1.

    Args:
        size: the number of people; some may have no tie.
        follower: the person who follows, one entry a tie.
        followee: the person who is followed, in the same order.
        names: each person's id as the file has it; none: "0" to "size - 1".
        mutual: the ties are friendships, each given once: both people follow each other.

    Attributes:
        size: the number of people.
        edges: the number of follow ties; a friendship counts as two.
        names: each person's external id.
        duplicates: the number of given ties that were dropped because they repeat another (with `mutual`, in either
            order).
        self_loops: the number of given ties that were dropped because they link a person to themselves.
        understood: how the file of the graph was understood, in words; empty for a graph that is not from a file.

    Raises:
        ValueError: the arrays differ in length, an entry is not a person, or `names` is not one a person.
    """

    __slots__ = (
        "_arrays",
        "_followees",
        "_followers",
        "_in_offsets",
        "_out_offsets",
        "duplicates",
        "edges",
        "names",
        "self_loops",
        "size",
        "understood",
    )

    def __init__(
        self,
        size: int,
        follower: ArrayLike,
        followee: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        mutual: bool = False,
    ) -> None:
        self.size = size
        self.understood = ""
        names = Numbered(size) if names is None else names
        self.names: Sequence[str] = names if isinstance(names, Numbered) else tuple(names)
        if len(self.names) != size:
            raise ValueError(f"names: expected one for each of {size} people, got {len(self.names)}")
        tails, heads = _ends(size, follower), _ends(size, followee)
        if len(tails) != len(heads):
            raise ValueError(f"follower and followee: expected equal lengths, got {len(tails)} and {len(heads)}")
        # Each tie is one number, follower * size + followee: sorted, they are the rows of followees, one after the
        # other, and what repeats stands together. Of a friendship the pair in ascending order counts, then both ways.
        apart = tails != heads
        self.self_loops = int(len(tails) - np.count_nonzero(apart))
        tails, heads = tails[apart], heads[apart]
        given = len(tails)
        if mutual:
            tails, heads = np.minimum(tails, heads), np.maximum(tails, heads)
        ties = distinct(tails * size + heads)
        self.duplicates = given - len(ties)
        if mutual:
            tails = ties // max(size, 1)
            ties = np.sort(np.concatenate((ties, (ties - tails * size) * size + tails)))
        self._store(ties, mutual=mutual)

    def _store(self, ties: Keys, *, mutual: bool) -> None:
        """Store sorted `ties`, each follower * size + followee, as rows of followees and rows of followers."""
        tails = ties // max(self.size, 1)
        heads = ties - tails * self.size
        self.edges = len(ties)
        out_offsets, followees = _offsets(tails, self.size), heads.astype(np.int32)
        in_offsets, followers = out_offsets, followees  # of mutual ties: whom one follows is who follows one
        if not mutual:
            in_offsets = _offsets(heads, self.size)
            # A stable sort keeps the followers of one person in ascending order.
            followers = tails[np.argsort(heads, kind="stable")].astype(np.int32)
        self._arrays = out_offsets, followees, in_offsets, followers
        self._out_offsets, self._in_offsets = _unchanging(out_offsets), _unchanging(in_offsets)
        self._followees, self._followers = _unchanging(followees), _unchanging(followers)

    def following(self, person: int) -> Ints:
        """Return the people that `person` follows, ascending: a read-only view."""
        return self._followees[self._out_offsets[person] : self._out_offsets[person + 1]]

    def followers(self, person: int) -> Ints:
        """Return the people who follow `person`, ascending: a read-only view."""
        return self._followers[self._in_offsets[person] : self._in_offsets[person + 1]]

    def follower_counts(self) -> Ints:
        """Return the number of followers of each person."""
        return np.diff(self._in_offsets)

    def follows(self, person: int, other: int) -> bool:
        """Return whether `person` follows `other`."""
        row = self.following(person)
        place = int(np.searchsorted(row, other))
        return place < len(row) and int(row[place]) == other

    def ties(self) -> tuple[Keys, Keys]:
        """Return all ties: the followers, ascending, and the followees."""
        return np.repeat(np.arange(self.size), np.diff(self._out_offsets)), self._followees.astype(np.int64)

    def only(self, people: Sequence[int]) -> FollowGraph:
        """Return these people, in this order, with the ties between them."""
        place = np.full(self.size, -1, dtype=np.int64)
        place[np.asarray(people, dtype=np.int64)] = np.arange(len(people))
        tails, heads = (place[ends] for ends in self.ties())
        kept = (tails >= 0) & (heads >= 0)
        graph = FollowGraph(len(people), tails[kept], heads[kept], names=[self.names[person] for person in people])
        graph.understood = self.understood
        return graph

    def arrays(self) -> tuple[Keys, Ints, Keys, Ints]:
        """Return where the followees of each person start, the followees, and the same of the followers.

        They are the graph's own, which nobody may change. Kernels are compiled for arrays that could be.
        """
        return self._arrays


def _unchanging(array: NDArray[N]) -> NDArray[N]:
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view


def generate(config: GraphConfig, size: int, seed: int) -> FollowGraph:
    """Return a graph of `size` people made by the generator `config.kind`; every tie is mutual, except in power_law.

    - barabasi_albert: people join one by one and befriend max(1, degree // 2) earlier ones, popular ones more often.
      Source: Barabasi & Albert (1999).
    - power_law: `degree` x `size` ties that each go one way, drawn with weights of both ends. The number of followers
      has a tail of exponent `exponent`, the number of people one follows of `following_exponent`, both without the
      correction that cuts off the largest. Sources: Goh, Kahng & Kim (2001); Kwak et al. (2010) for Twitter.
    - stochastic_block: equal communities (their sizes differ by one at most), filled in order of person; mean degree
      `degree`, of which the share `mixing` leaves the community. Source: Holland, Laskey & Leinhardt (1983).
    - watts_strogatz: a ring in which each person knows the `degree` nearest, both ends of a tie rewired with
      probability `rewiring`. Source: Watts & Strogatz (1998); they rewire one end.

    Raises:
        ConfigError: the parameters do not fit the size, or `config.kind` is not a generator.
    """
    if config.kind == "profiles":
        raise ConfigError("configuration", "`profiles` is not a generator", key="population.graph.kind")
    misfit = find_misfit(config, size)
    if misfit is not None:
        raise ConfigError("configuration", misfit.problem, key=misfit.keys[0])
    if config.kind == "barabasi_albert":
        return FollowGraph(size, *friendships(size, max(1, config.degree // 2), seed), mutual=True)
    with _drawing_from(seed):
        if config.kind == "power_law":
            made = _power_law(config, size)
        elif config.kind == "watts_strogatz":
            made = _watts_strogatz(config, size)
        else:
            made = _stochastic_block(config, size)
    return from_igraph(made, mutual=is_mutual(config))


def is_mutual(config: GraphConfig) -> bool:
    """Return whether all ties of the generator are friendships."""
    return config.kind != "power_law"


def from_igraph(graph: igraph.Graph, *, mutual: bool, names: Sequence[str] | None = None) -> FollowGraph:
    """Return the ties of an igraph graph: friendships if `mutual`, else source follows target."""
    ends = np.fromiter(chain.from_iterable(graph.get_edgelist()), dtype=np.int64, count=2 * graph.ecount())
    return FollowGraph(graph.vcount(), ends[0::2], ends[1::2], names=names, mutual=mutual)


def _watts_strogatz(config: GraphConfig, size: int) -> igraph.Graph:
    return load_igraph().Graph.Watts_Strogatz(dim=1, size=size, nei=config.degree // 2, p=config.rewiring)


def _power_law(config: GraphConfig, size: int) -> igraph.Graph:
    return load_igraph().Graph.Static_Power_Law(
        size,
        size * config.degree,
        exponent_out=config.following_exponent,
        exponent_in=config.exponent,
        finite_size_correction=False,
    )


def _stochastic_block(config: GraphConfig, size: int) -> igraph.Graph:
    blocks = config.blocks
    sizes = [size // blocks + (block < size % blocks) for block in range(blocks)]
    inside, between = (ties.density for ties in block_ties(config, size))
    preferences = [[inside if row == column else between for column in range(blocks)] for row in range(blocks)]
    return load_igraph().Graph.SBM(pref_matrix=preferences, block_sizes=sizes)


@contextmanager
def _drawing_from(seed: int) -> Iterator[None]:
    """Return a context in which igraph draws from `seed`, and for nobody else.

    Its generator serves the whole process, so one thread at a time has it, and it is restored.
    """
    igraph = load_igraph()
    with _drawing:
        igraph.set_random_number_generator(GraphRandom(seed))
        try:
            yield
        finally:
            igraph.set_random_number_generator(random)


def _ends(size: int, people: ArrayLike) -> Keys:
    """Return one end of each tie as 64-bit numbers, all checked to be people."""
    ends = np.asarray(people, dtype=np.int64)
    if ends.size and (ends.min() < 0 or ends.max() >= size):
        raise ValueError(f"ties: expected people 0 to {size - 1}, got {ends.min()} to {ends.max()}")
    return ends


def _offsets(rows: Keys, size: int) -> Keys:
    """Return the start of each person's row; the last entry is the end of the last row."""
    offsets = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=size), out=offsets[1:])
    return offsets


def check_people(count: int, source: str, line: int | None = None) -> None:
    """Refuse a file with more people than a run may have, before anything of their number is made.

    Raises:
        InputError: it has more.
    """
    if count > PEOPLE_MAX:
        raise InputError(source, f"expected at most {PEOPLE_MAX:,} people, got {count:,}", line=line)


_SHOWN = 40
"""The most characters of a name."""


def understood(
    graph: FollowGraph,
    said: Sequence[str],
    first: tuple[str, str],
    *,
    mutual: bool,
    by_setting: bool = False,
    comments: int = 0,
) -> str:
    """Return what was understood of a file: how it was read, the people and ties, and the first tie.

    Args:
        said: how it was read, in parts.
        first: the ids of its first tie, the one who follows in front.
        mutual: the ties are friendships.
        by_setting: the settings say so, because the file does not.
        comments: the number of comments between its rows.
    """
    ties = graph.edges // 2 if mutual else graph.edges
    parts = [
        *said,
        f"{counted(graph.size, 'person', 'people')}, {counted(ties, 'tie')}",
        f"first: {shown(first[0])} -> {shown(first[1])}",
    ]
    if mutual:
        parts.append("both follow each other" + " (population.graph.directed: false)" * by_setting)
    left_out = [
        words
        for count, words in (
            (graph.duplicates, f"{graph.duplicates:,} repeated"),
            (graph.self_loops, f"{graph.self_loops:,} of people to themselves"),
            (comments, f"{counted(comments, 'comment')} between rows"),
        )
        if count
    ]
    if left_out:
        parts.append(f"left out: {' and '.join(left_out)}")
    return "; ".join(parts)


def graph_lines(path: str | None, graph: FollowGraph | None) -> tuple[str, ...]:
    """Return a line that says how the file of a graph was understood, if there is one and it was read."""
    return (f"{path}: {graph.understood}",) if graph is not None and graph.understood else ()


def shown(name: str) -> str:
    """Return a name of a file on one line, with characters escaped that a terminal would obey."""
    return cut(printable(name), _SHOWN)
