"""Acts of people in a network without a world, what came of them, and the posts and feeds that people then see."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from prism.columns import Column
from prism.config import FeedConfig, RelevanceConfig
from prism.events import NUMBER_BITS
from prism.social import tables as col
from prism.social.kernels import post_kernel, turn_kernel
from prism.social.network import EFFECTS, Network
from prism.social.people.persona import Persona
from prism.social.people.population import Population
from prism.social.posts.post import NO_POST, Post, PostView
from prism.social.tables import BROWSE, CLOSED
from prism.social.ties.graph import FollowGraph
from prism.social.vocabulary import Effect

Ties = Sequence[tuple[int, int]]  # who follows whom


def network_of(people: Sequence[Persona], ties: Ties, sigma: float = 0.0, ticks: int = 10, **feed: Any) -> Network:
    """Return a network without a world, in rounds of so many ticks; sigma is the spread of the quality of posts."""
    graph = FollowGraph(len(people), [one for one, _ in ties], [other for _, other in ties])
    population = Population(personas=tuple(people), graph=graph)
    return Network(population, FeedConfig(**feed), 1, ticks, RelevanceConfig(), sigma)


def publish(network: Network, author: int, tick: int, text: str = "") -> Post:
    """Return a new original."""
    act(Effect.POST, network, author, NO_POST, tick, text)
    return network.living.made(np.array([network.living.end - 1]))[0]


def act(effect: Effect, network: Network, person: int, post: int, tick: int, text: str = "") -> None:
    """Carry out an effect on a post, by its id."""
    network.state.make_room(1)
    post_kernel.act(network.state.held, person, EFFECTS[effect], network.living.number(post), tick)
    network.take_in(tick, {person: text} if text else {})


like, reply, reshare = (partial(act, effect) for effect in (Effect.LIKE, Effect.REPLY, Effect.RESHARE))


def post_id(author: int, number: int) -> int:
    """Return the id of a post by its number among its author's."""
    return author << NUMBER_BITS | number


def posts_of(network: Network) -> dict[int, Post]:
    """Return `{id: post}` of all that are not forgotten, oldest first."""
    return {post.id: post for post in network.living}


class Cascade(NamedTuple):
    """The tree of an original that is not forgotten."""

    root: int
    touched: int
    posts: int = 1
    depth: int = 0
    engagements: int = 0


def cascades_of(network: Network) -> dict[int, Cascade]:
    """Return `{root: cascade}` of all that are not forgotten, in their order."""
    cascades, trees = network.state.t.cascades, network.state.t.trees
    columns = trees["root"], cascades["touched"], trees["size"], trees["deepest"], cascades["engagements"]
    rows = zip(*(column[: network.cascades.length].tolist() for column in columns), strict=True)
    return {row[0]: Cascade(*row) for row in rows if row[2]}


def roots_of(network: Network, cascades: list[int]) -> list[int]:
    """Return the roots of cascades by number, with NO_POST for a forgotten one."""
    rows, counts = network.state.t.trees[: network.cascades.length], network.state.t.counts.cascades
    numbers = np.arange(len(rows)) + counts[col.SHIFT]
    early = counts[col.EARLY]
    numbers[:early] = network.state.t.early[:early]
    living = rows["size"] > 0
    known = dict(zip(numbers[living].tolist(), rows["root"][living].tolist(), strict=True))
    return [known.get(each, NO_POST) for each in cascades]


def columns_of(network: Network) -> list[Column]:
    """Return all that `Network.restore` needs."""
    everybody = range(network.population.size)
    return [*network.common(), *network.about(everybody)]


def view_of(network: Network, agent: int, post: int, tick: int) -> PostView:
    """Put a post, by its id, into a person's view at a tick, and return the view."""
    people = network.state.t.people
    people["current"][agent], people["came"][agent] = network.living.number(post), tick
    return network.views(np.array([agent]), tick)[0]


def opened(network: Network, agent: int, tick: int) -> list[int]:
    """Begin a person's session as a turn into a state in which people browse does; return the ids of the feed."""
    network.state.make_room(1)
    t, people, agents = network.state.t, network.state.t.people, np.array([agent])
    state = int(people["state"][agent])
    role = int(t.roles[state])
    t.roles[state] = BROWSE
    people["session_round"][agent], people["left"][agent] = (tick + 1) // network.ticks_per_round, CLOSED
    turn_kernel.apply(network.state.held, tick, agents, np.zeros_like(agents), np.array([[state, 0, 0, -1, 0]]))
    t.roles[state] = role
    network.take_in(tick, {})
    return [*network.living.ids(t.feed[agent, : people["shown"][agent]].astype(np.int64)).tolist()]
