"""The measures of `bounded-confidence.yaml`: how many opinions are left at the end of a run.

Two people are of one group if a chain of people connects their opinions, each within the bound of the next one.
"""

from functools import cache
from itertools import pairwise
from pathlib import Path

from actors import read_result

LARGE = 0.05
"""The share of all people from which a group is large: the published counts are of peaks, without outliers."""


def opinions(path: Path) -> float:
    """Return the number of groups, single people among them."""
    return float(len(_sizes(path)))


def groups(path: Path) -> float:
    """Return the number of large groups."""
    sizes = _sizes(path)
    return float(sum(size >= LARGE * sum(sizes) for size in sizes))


@cache  # both measures of a run need it
def _sizes(path: Path) -> list[int]:
    """Return the number of people of each group."""
    result = read_result(path)
    bound = result.config.population.attributes["bound"].default
    sizes = [1]
    for lower, higher in pairwise(sorted(result.table("agents")["attribute_opinion_end"])):
        sizes = [*sizes, 1] if higher - lower > bound else [*sizes[:-1], sizes[-1] + 1]
    return sizes
