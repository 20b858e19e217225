"""The follow graph: directed; drawn from a seed, with a share of ties between equals, or read from a file.

A tie i -> j means that i follows j: i sees the posts of j. A friendship is two ties. Both directions are stored as
compressed sparse rows, 8 bytes a tie and 16 a person, so a feed and a fan-out each read one slice of an array.
"""

from __future__ import annotations

import math
import random  # noqa: TID251 - nothing is drawn from it: it is igraph's first generator, which is restored after use
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prism.columns import Floats, distinct, places_among, places_in_lists
from prism.config.config import block_ties, find_misfit
from prism.config.model import PEOPLE_MAX, GraphConfig
from prism.errors import ConfigError, InputError
from prism.events import AttributeSet, Intervened, TieChanged
from prism.imports import load_igraph
from prism.quoting import printable
from prism.rng import WORLD, Draw, GraphRandom, bits_of, uniforms
from prism.wording import counted, cut

if TYPE_CHECKING:
    import igraph

Ints = NDArray[np.int32]
Keys = NDArray[np.int64]

_AT_ONCE: Final = 1 << 18  # ties whose ends are drawn at once: the processor's cache holds their numbers
_FEW: Final = 1024
_32, _LOW, _ONE = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(1)


def power_law_ties(size: int, ties: int, out_exponent: float, in_exponent: float, seed: int) -> Keys:
    """Return different ties of `size` people, each as follower * size + followee, ascending.

    It is the graph that igraph's Static_Power_Law makes of the same draws, without its correction for finite sizes.
    Sources: Goh, Kahng & Kim (2001); of the shuffle Fisher & Yates (1938) and Lemire, "Fast random integer generation
    in an interval" (2019).

    Args:
        out_exponent: of the number of people one follows; in_exponent: of the number of followers.
    """
    # 1. Each person's weight as a follower and as a followee; the latter are shuffled. Exponents have 32 bits there.
    powers = [-1.0 / (float(np.float32(exponent)) - 1.0) for exponent in (out_exponent, in_exponent)]
    weights = [[math.pow(rank, power) for rank in range(size, 0, -1)] for power in powers]
    # `drawn` counts the draws so far: the ties below take the next ones. A place whose draw is refused gets another.
    values = weights[1]
    drawn, left = 0, np.arange(len(values), 1, -1, dtype=np.uint64)
    while len(left):
        bits = bits_of(seed, WORLD, 0, Draw.GRAPH, np.arange(drawn + 1, drawn + 1 + len(left))) >> _32
        products = bits * left
        left_out = np.flatnonzero((products & _LOW) < (_LOW + _ONE) % left)
        whole = int(left_out[0]) if len(left_out) else len(left)
        for place, other in zip(left[:whole].tolist(), (products[:whole] >> _32).tolist(), strict=True):
            values[place - 1], values[other] = values[other], values[place - 1]
        drawn, left = drawn + min(whole + 1, len(left)), left[whole:]
    sums = [np.cumsum(each) for each in weights]
    # For evenly spaced marks, a place among the sums that is not after the first sum from the mark on.
    marks = [np.linspace(0.0, each[-1], 4 * len(each) + 1) for each in sums]
    starts = [np.maximum(np.searchsorted(*each) - 1, 0) for each in zip(sums, marks, strict=True)]
    # 2. Draw ties until there are enough. Nobody follows themselves, and no tie is kept twice.
    known = np.empty(0, dtype=np.int64)
    while missing := ties - len(known):
        new = [np.empty(0, dtype=np.int64)]
        for start in range(0, max(missing, _FEW), _AT_ONCE):
            count = min(max(missing, _FEW) - start, _AT_ONCE)
            draws = uniforms(seed, WORLD, 0, Draw.GRAPH, np.arange(drawn + 1, drawn + 1 + 2 * count))
            drawn += 2 * count
            tails, heads = (_places(*each, draws[end::2]) for end, each in enumerate(zip(sums, starts, strict=True)))
            new.append((tails * size + heads)[tails != heads])
        found = np.concatenate(new)
        if missing < _FEW:  # only the first ones are wanted
            found = np.array([*dict.fromkeys(found[places_among(known, found) < 0].tolist())][:missing], np.int64)
        found = distinct(found)
        found = found[places_among(known, found) < 0]
        known = np.insert(known, np.searchsorted(known, found), found) if len(known) else found
    return known


def _places(sums: Floats, starts: Keys, units: NDArray[np.float64]) -> Keys:
    """Return the place of the first sum that is not below each mark, as `np.searchsorted` in a fifth of its time.

    Marks are given as shares of the last sum.
    """
    marks = units * sums[-1]
    places = starts[(units * (len(starts) - 1)).astype(np.int64)]
    while (is_below := sums[places] < marks).any():
        places += is_below
    return places


_drawing = Lock()
"""Held while igraph draws: two worlds that are made in two threads would draw from one generator."""


class Numbered(Sequence[str]):
    """The ids "0" to "size - 1", or from `first` on; none is kept: those of a million would take 60 MB."""

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
        follower, followee: the two people of each tie.
        names: each person's id as the file has it; none: "0" to "size - 1".
        mutual: the ties are friendships, each given once: both people follow each other.

    Attributes:
        edges: the number of follow ties; a friendship counts as two.
        duplicates, self_loops: the number of given ties that were dropped because they repeat another (with `mutual`,
            in either order), or link a person to themselves.
        understood: how the file of the graph was understood, in words; empty for a graph that is not from a file.

    Raises:
        ValueError: the arrays differ in length, an entry is not a person, or `names` is not one a person.
    """

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
        tails, heads = np.asarray(follower, dtype=np.int64), np.asarray(followee, dtype=np.int64)
        if len(tails) != len(heads):
            raise ValueError(f"follower and followee: expected equal lengths, got {len(tails)} and {len(heads)}")
        for ends in (tails, heads):
            if ends.size and (ends.min() < 0 or ends.max() >= size):
                raise ValueError(f"ties: expected people 0 to {size - 1}, got {ends.min()} to {ends.max()}")
        # 1. Each tie is one number, follower * size + followee: sorted, they are the rows of followees, one after the
        #    other, and what repeats stands together. Of a friendship the pair in ascending order counts, then both
        #    ways.
        apart = tails != heads
        self.self_loops = int(len(tails) - np.count_nonzero(apart))
        self.duplicates = 0
        if self.self_loops:
            tails, heads = tails[apart], heads[apart]
        given = len(tails)
        if mutual:
            tails, heads = np.minimum(tails, heads), np.maximum(tails, heads)
        ties: Keys = tails * size + heads
        self._is_mutual = mutual
        if mutual or not (ties[1:] > ties[:-1]).all():
            ties = distinct(ties)
            self.duplicates = given - len(ties)
            tails = ties // max(size, 1)
            heads = ties - tails * size
        if mutual:
            ties = np.sort(np.concatenate((ties, heads * size + tails)))
            tails = ties // max(size, 1)
            heads = ties - tails * size
        # 2. Rows of followees.
        self.edges = len(ties)
        self._out_offsets = _offsets(tails, size)
        self._in_offsets = self._out_offsets if mutual else _offsets(heads, size)
        self._followees: Ints = heads.astype(np.int32)

    @cached_property
    def _followers(self) -> Ints:
        """Rows of followers. Of mutual ties: whom one follows is who follows one."""
        if self._is_mutual:
            return self._followees
        tails, heads = self.ties()
        return np.asarray(np.sort(heads * self.size + tails) % max(self.size, 1), dtype=np.int32)

    def following(self, person: int) -> Ints:
        """Return the people that `person` follows, ascending: a view of the graph's own."""
        return self._followees[self._out_offsets[person] : self._out_offsets[person + 1]]

    def followers(self, person: int) -> Ints:
        """Return the people who follow `person`, ascending: a view of the graph's own."""
        return self._followers[self._in_offsets[person] : self._in_offsets[person + 1]]

    def follower_counts(self) -> Ints:
        return np.diff(self._in_offsets)

    def follows(self, person: int, other: int) -> bool:
        return other in self.following(person)

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
        """Return where each person's followees start, the followees, and the same of followers: not to be changed."""
        return self._out_offsets, self._followees, self._in_offsets, self._followers


class LateGraph(FollowGraph):
    """A graph that is made when its ties are first asked for: who looks at a run may not need them."""

    def __init__(self, size: int, make: Callable[[], FollowGraph]) -> None:
        self.size, self.names, self.understood = size, Numbered(size), ""
        self._make = make

    def __getattr__(self, name: str) -> Any:
        own = vars(self)
        if name.startswith("__") or "_make" not in own:
            raise AttributeError(name)
        made = own.pop("_make")()
        self.__dict__ = {**vars(made), "names": self.names}
        return getattr(self, name)


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
    """
    if config.kind == "profiles":
        raise ConfigError("configuration", "`profiles` is not a generator", key="population.graph.kind")
    misfit = find_misfit(config, size)
    if misfit is not None:
        raise ConfigError("configuration", misfit.problem, key=misfit.key)
    degree = config.degree_among(size)
    if config.kind == "power_law":
        ties = power_law_ties(size, size * degree, config.following_exponent, config.exponent, seed)
        return FollowGraph(size, ties // size, ties % size)
    igraph = load_igraph()
    with _drawing:  # its generator serves the whole process, so one thread at a time has it, and it is restored
        igraph.set_random_number_generator(GraphRandom(seed))
        try:
            if config.kind == "barabasi_albert":
                made = igraph.Graph.Barabasi(n=size, m=max(1, degree // 2), directed=False) if size else igraph.Graph()
            elif config.kind == "watts_strogatz":
                made = igraph.Graph.Watts_Strogatz(dim=1, size=size, nei=degree // 2, p=config.rewiring)
            else:
                count = config.blocks
                sizes = [size // count + (block < size % count) for block in range(count)]
                inside, between = (wanted / pairs if pairs else 0.0 for wanted, pairs in block_ties(config, size))
                wanted = [[inside if row == column else between for column in range(count)] for row in range(count)]
                made = igraph.Graph.SBM(pref_matrix=wanted, block_sizes=sizes)
        finally:
            igraph.set_random_number_generator(random)
    ends = ends_of(made)
    return FollowGraph(size, ends[:, 0], ends[:, 1], mutual=is_mutual(config))


STEPS_MAX: Final = 200  # the most steps of swaps; usual shares need fewer than ten
CANDIDATES_MIN: Final = 1000
"""The ties that are tried in a step; four for each missing tie if that is more, and at most all ties."""
STALLS_MAX: Final = 5
"""The swaps end after so many steps in a row without one: no ties are left that could change."""


class Homophily(NamedTuple):
    """The share of ties between people with the same value of an attribute (McPherson, Smith-Lovin & Cook 2001)."""

    by: str  # the attribute
    configured: float  # the share that was asked for, 0 to 1; realised: the one that came out
    realised: float
    by_chance: float  # the share among the ties of the generator, which knows nothing of the attribute

    def __str__(self) -> str:
        return (
            f"population.graph.homophily: ties within the same {self.by}: asked {self.configured:.1%}, came out "
            f"{self.realised:.1%}; by chance {self.by_chance:.1%}"
        )

    @property
    def record(self) -> dict[str, Any]:
        """The same for `summary.json`."""
        return {name: round(each, 6) if isinstance(each, float) else each for name, each in self._asdict().items()}


def wired(
    graph: FollowGraph, values: NDArray[Any], by: str, share: float, seed: int, *, mutual: bool
) -> tuple[FollowGraph, Homophily]:
    """Return a graph in which this share of the ties joins equals, as far as the numbers of ties allow.

    Pairs of ties swap their ends until the share is reached, so everybody keeps as many followers and followees as
    before (Maslov & Sneppen 2002). Ties that need not change stay.

    Args:
        values: the value of each person; by: the name of these values.
        share: of all ties; 0 to 1.
        mutual: whether all ties are friendships, which they then stay.
    """
    groups = np.unique(values, return_inverse=True)[1]
    tails, heads = graph.ties()
    if mutual:
        once = tails < heads
        tails, heads = tails[once], heads[once]
    wanted, counts, stalls = round(share * len(tails)), list[int](), 0
    for step in range(STEPS_MAX + 1):
        same = groups[tails] == groups[heads]
        counts.append(int(np.count_nonzero(same)))
        stalls = stalls + 1 if counts[-2:-1] == counts[-1:] else 0
        if counts[-1] == wanted or stalls == STALLS_MAX or step == STEPS_MAX:
            break
        _swap(tails, heads, groups, same, wanted - counts[-1], seed, step, mutual=mutual)
    made = FollowGraph(graph.size, tails, heads, names=graph.names, mutual=mutual)
    before, after = (count / max(1, len(tails)) for count in (counts[0], counts[-1]))
    return made, Homophily(by, share, after, before)


def _swap(
    tails: Keys, heads: Keys, groups: Keys, same: NDArray[np.bool_], gap: int, seed: int, step: int, *, mutual: bool
) -> None:
    """Let pairs of ties swap their heads.

    Args:
        tails, heads: the followers and the followees, which are changed; of a friendship in any order.
        groups: the number of each person's group; same: whether a tie is within one.
        gap: the ties between equals that are missing; below 0 if there are too many.
    """

    def keys_of(one: Keys, other: Keys) -> Keys:
        first, last = (np.minimum(one, other), np.maximum(one, other)) if mutual else (one, other)
        return np.asarray(first * len(groups) + last)

    # 1. Some of the ties of the kind that is too common, in a random order.
    kept = np.flatnonzero(same == (gap < 0))
    marks = uniforms(seed, kept, step, Draw.HOMOPHILY)
    some = np.flatnonzero(marks * len(kept) < max(CANDIDATES_MIN, 4 * abs(gap)))
    kept = kept[some[np.argsort(marks[some], kind="stable")]]
    if mutual:  # either end of a friendship may be swapped
        turned = kept[uniforms(seed, kept, step, Draw.HOMOPHILY, 1) < 0.5]
        tails[turned], heads[turned] = heads[turned], tails[turned]
    # 2. Two halves, whose ties are paired. Ties between unequals gain only if the new ends are of one group: the
    #    head of the one is of the group of the tail of the other, so that each swap gains a tie or two.
    half = len(kept) // 2
    one, other = kept[:half], kept[half : 2 * half]
    if gap > 0:
        keys = _ranked(groups[heads[one]]), _ranked(groups[tails[other]])
        _, first, second = np.intersect1d(*keys, assume_unique=True, return_indices=True)
        order = np.argsort(first)
        one, other = one[first[order]], other[second[order]]
    # 3. The pairs whose swap of a-b, c-d to a-d, c-b gains, and makes no tie to oneself.
    a, b, c, d = tails[one], heads[one], tails[other], heads[other]
    equal = (groups[a] == groups[d]).astype(np.int64) + (groups[c] == groups[b])
    gains = equal if gap > 0 else 2 - equal
    fits = np.flatnonzero((gains > 0) & (a != d) & (c != b))
    # 4. Both new ties are ties of nobody, and of no pair before.
    new = np.stack((keys_of(a, d)[fits], keys_of(c, b)[fits]), axis=1).ravel()
    is_new = places_among(np.sort(keys_of(tails, heads)), new) < 0
    firsts = np.unique(new, return_index=True)[1]
    is_first = np.isin(np.arange(len(new)), firsts)
    fits = fits[(is_first & is_new).reshape(-1, 2).all(axis=1)]
    # 5. Not more of them than needed.
    fits = fits[np.cumsum(gains[fits]) <= abs(gap)]
    heads[one[fits]], heads[other[fits]] = d[fits], b[fits]


def _ranked(groups: Keys) -> Keys:
    """Return a number for each entry that tells its group and how many of the group stand before it."""
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[np.argsort(groups, kind="stable")] = places_in_lists(np.bincount(groups))
    return np.asarray(groups * max(1, len(groups)) + ranks)


def is_mutual(config: GraphConfig) -> bool:
    return config.kind != "power_law"


def ends_of(graph: igraph.Graph) -> Keys:
    """Return the source and the target of each tie of an igraph graph, of shape (ties, 2)."""
    ends = np.fromiter(chain.from_iterable(graph.get_edgelist()), dtype=np.int64, count=2 * graph.ecount())
    return ends.reshape(-1, 2)


def _offsets(rows: Keys, size: int) -> Keys:
    """Return the start of each person's row; the last entry is the end of the last row."""
    offsets = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=size), out=offsets[1:])
    return offsets


def check_people(count: int, source: str, line: int | None = None) -> None:
    """Refuse a file with more people than a run may have, before anything of their number is made."""
    if count > PEOPLE_MAX:
        raise InputError(source, f"expected at most {PEOPLE_MAX:,} people, got {count:,}", line=line)


_SHOWN = 40  # the most characters of a name


def graph_of_file(
    source: str,
    names: Sequence[str],
    ends: Keys,
    said: Sequence[str],
    expected: str,
    *,
    mutual: bool,
    by_setting: bool = False,
) -> FollowGraph:
    """Return the graph in a file, with how it was understood: how it was read, the people and ties, and the first tie.

    Args:
        names: the people's ids.
        ends: who follows, and whom, of shape (ties, 2).
        said: how the file was read, in parts.
        expected: what makes a tie, for the error.
        mutual: the ties are friendships; by_setting: the settings say so, because the file does not.
    """
    graph = FollowGraph(len(names), ends[:, 0], ends[:, 1], names=names, mutual=mutual)
    if not graph.edges:
        raise InputError(source, f"holds no ties: expected {expected}")
    ties = graph.edges // 2 if mutual else graph.edges
    one, other = (shown(names[end]) for end in ends[0])
    parts = [*said, f"{counted(graph.size, 'person', 'people')}, {counted(ties, 'tie')}", f"first: {one} -> {other}"]
    if mutual:
        parts.append("both follow each other" + " (population.graph.directed: false)" * by_setting)
    left_out = [f"{graph.duplicates:,} repeated"] if graph.duplicates else []
    left_out += [f"{graph.self_loops:,} of people to themselves"] if graph.self_loops else []
    if left_out:
        parts.append(f"left out: {' and '.join(left_out)}")
    graph.understood = "; ".join(parts)
    return graph


def graph_lines(path: str | None, graph: FollowGraph | None) -> tuple[str, ...]:
    """Return a line that says how the file of a graph was understood, if there is one and it was read."""
    return (f"{path}: {graph.understood}",) if graph is not None and graph.understood else ()


def shown(name: str) -> str:
    """Return a name of a file on one line, with characters escaped that a terminal would obey."""
    return cut(printable(name), _SHOWN)


Changed = TieChanged | AttributeSet | Intervened  # a message that may change a tie or an attribute

BOUND: Final = ("follow", "unfollow")  # the changes that make or end a tie. A mute does neither.


class TieChange(NamedTuple):
    """A tie that is made or ended."""

    tick: int  # the first tick in which the change holds
    one: int
    other: int
    follows: bool  # True if the tie is made, False if it is ended


def tie_changes(messages: Iterable[Changed], number: Callable[[Any], int]) -> Iterator[TieChange]:
    """Yield the ties that messages make and end, in order. A mute changes no tie.

    A change of a person holds from the next tick on, and that of an intervention from its tick on. `number` returns the
    number of a person whom an intervention names.
    """
    for each in messages:
        if isinstance(each, TieChanged) and each.kind in BOUND:
            yield TieChange(each.tick + 1, each.agent, each.whom, each.kind == "follow")
        elif isinstance(each, Intervened):
            yield from ties_from_outside(each.tick, each.content, number)


def ties_from_outside(tick: int, content: Any, number: Callable[[Any], int]) -> Iterator[TieChange]:
    for kind in BOUND:
        for one, other in content.get(kind) or ():
            yield TieChange(tick, number(one), number(other), kind == "follow")
