"""The fit of a graph generator's settings to the number of people."""

from __future__ import annotations

from typing import NamedTuple

from prism.config.model import GraphConfig

_SIZE, _DEGREE, _BLOCKS, _MIXING, _KIND = (
    "population.size",
    "population.graph.degree",
    "population.graph.blocks",
    "population.graph.mixing",
    "population.graph.kind",
)

POWER_LAW_SHARE = 4
"""On average a person follows at most one in so many people. The generator takes very long to draw more ties."""


class Conflict(NamedTuple):
    """Settings that are each valid and contradict each other.

    Args:
        keys: the dotted paths of those involved, the first one to blame unless it is known which was set last.
        problem: the conflict, in words that are right for any of the keys.
    """

    keys: tuple[str, ...]
    problem: str


def find_misfit(graph: GraphConfig, size: int) -> Conflict | None:
    """Return the reason why the generator can make no graph of `size` people; None if it can."""
    degree = graph.degree_among(size)
    if degree >= size:
        return Conflict((_DEGREE, _SIZE), f"expected graph.degree < the number of people, got {degree} and {size}")
    if graph.kind == "watts_strogatz" and degree % 2:
        return Conflict((_DEGREE, _KIND), f"expected an even graph.degree for watts_strogatz, got {degree}")
    if graph.kind == "power_law" and degree * POWER_LAW_SHARE > size:
        problem = f"expected graph.degree <= a quarter of the people for power_law, got {degree} and {size}"
        return Conflict((_DEGREE, _SIZE, _KIND), problem)
    if graph.kind != "stochastic_block":
        return None
    if graph.blocks > size:
        problem = f"expected graph.blocks <= the number of people, got {graph.blocks} and {size}"
        return Conflict((_BLOCKS, _SIZE, _KIND), problem)
    inside, between = block_ties(graph, size)
    return _crowded(inside, "inside the communities", "raise mixing") or _crowded(
        between, "between communities", "lower mixing"
    )


class Ties(NamedTuple):
    """The ties that a generator wants among some people.

    Args:
        wanted: their mean number.
        pairs: the pairs of people that can have one.
    """

    wanted: float
    pairs: int

    @property
    def density(self) -> float:
        """The probability that a pair has a tie, where they fit."""
        return self.wanted / self.pairs if self.pairs else 0.0


def block_ties(graph: GraphConfig, size: int) -> tuple[Ties, Ties]:
    """Return the ties of a stochastic block graph inside its communities, and those between them.

    `size % blocks` communities have one person more than the others.
    """
    people, larger = divmod(size, graph.blocks)
    pairs_inside = larger * (people + 1) * people // 2 + (graph.blocks - larger) * people * (people - 1) // 2
    pairs_between = size * (size - 1) // 2 - pairs_inside
    ties = size * graph.degree_among(size) / 2.0
    return Ties(ties * (1.0 - graph.mixing), pairs_inside), Ties(ties * graph.mixing, pairs_between)


def _crowded(ties: Ties, where: str, remedy: str) -> Conflict | None:
    """Return the reason why so many ties do not fit; None if they do."""
    if ties.wanted <= ties.pairs:
        return None
    problem = f"stochastic_block wants {ties.wanted:.0f} ties {where}, where {ties.pairs} fit: {remedy} or lower degree"
    return Conflict((_MIXING, _DEGREE, _BLOCKS, _SIZE, _KIND), problem)
