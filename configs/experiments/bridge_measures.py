"""The measures of `bridge.yaml`: how far the posts go that its interventions publish. Each is a mean over the posts."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from actors import read_result
from actors.store.course import read_course
from actors.store.record import Record

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
    posts, feeds = read_course(path, "posts").posts, Record(path).table("feeds", columns=("agent", "post"))
    shown = posts.places(np.asarray(feeds["post"]))
    people, roots = np.asarray(feeds["agent"])[shown >= 0], posts.roots[shown[shown >= 0]]
    for each in config.interventions:
        if each.publish is None or each.round is None:
            continue
        tick = (each.round - 1) * config.simulation.ticks_per_round
        # An intervention comes before what people do in its tick, so its post is the author's first one there.
        author = each.publish.author
        place = int(np.flatnonzero((posts.ticks == tick) & (posts.authors == author) & (posts.parents < 0))[0])
        yield _Published({*people[roots == place].tolist()} - {author}, int(np.sum(posts.roots == place)))
