"""The measures of `bridge.yaml`: how far the posts go that its interventions publish. Each is a mean over the posts."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from actors import read_result
from actors.record.course import read_course

COMMUNITIES = 5


class _Published(NamedTuple):
    """A post of an intervention: the people to whom a feed showed its cascade, and the posts of the cascade."""

    shown: set[int]
    posts: int


def reach(path: Path) -> float:
    """Return the people to whom a feed showed the post, a reshare of it or an answer to it."""
    return float(np.mean([len(each.shown) for each in _published(path)]))


def communities(path: Path) -> float:
    """Return the communities of these people, from 0 to 5: person p is of community p % 5."""
    return float(np.mean([len({person % COMMUNITIES for person in each.shown}) for each in _published(path)]))


def cascade(path: Path) -> float:
    """Return the posts of the cascade, with the first one."""
    return float(np.mean([each.posts for each in _published(path)]))


def _published(path: Path) -> Iterator[_Published]:
    config = read_result(path).config
    course = read_course(path, initial=None, each_ticks=1)
    sizes: dict[int, int] = {}
    for root in course.roots.values():
        sizes[root] = sizes.get(root, 0) + 1
    for each in config.interventions:
        if each.publish is None or each.round is None:
            continue
        tick = (each.round - 1) * config.simulation.ticks_per_round
        # An intervention comes before what people do in its tick, so its post is the author's first one there.
        post = next(p.post for p in course.posts if (p.tick, p.author, p.parent) == (tick, each.publish.author, None))
        yield _Published(course.shown.get(post, set()) - {each.publish.author}, sizes[post])
