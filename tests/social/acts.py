"""Acts of people in a network without a world, what came of them, and the posts and feeds that people then see."""

from typing import NamedTuple

import numpy as np

from prism.columns import Column, Ints
from prism.events import NUMBER_BITS
from prism.social import tables as col
from prism.social.kernels import post_kernel, turn_kernel
from prism.social.network import EFFECTS, Network
from prism.social.posts.post import NO_POST, Post, PostView
from prism.social.tables import BROWSE, CLOSED
from prism.social.vocabulary import Effect


def publish(network: Network, author: int, tick: int, text: str = "") -> Post:
    """Return a new original."""
    act(network, author, Effect.POST, NO_POST, tick, text)
    return network.living.made(np.array([network.living.end - 1]))[0]


def like(network: Network, person: int, post: int, tick: int) -> None:
    act(network, person, Effect.LIKE, post, tick)


def reply(network: Network, person: int, post: int, tick: int) -> None:
    act(network, person, Effect.REPLY, post, tick)


def reshare(network: Network, person: int, post: int, tick: int) -> None:
    act(network, person, Effect.RESHARE, post, tick)


def act(network: Network, person: int, effect: Effect, post: int, tick: int, text: str = "") -> None:
    """Carry out an effect on a post, by its id."""
    network.state.make_room(1)
    post_kernel.act(network.state.held, person, EFFECTS[effect], network.living.number(post), tick)
    network.take_in(tick, {person: text} if text else {})


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


def view_of(network: Network, agent: int, post: int, tick: int) -> PostView | None:
    """Put a post into a person's view at a tick, and return the view; None if the post is forgotten."""
    number = network.living.number(post)
    if number == NO_POST:
        return None
    people = network.state.t.people
    people["current"][agent], people["came"][agent] = number, tick
    return network.views(np.array([agent]), tick)[0]


def opened(network: Network, agent: int, tick: int) -> list[int]:
    """Begin a person's session as a turn into a state in which people browse does; return the ids of the feed."""
    return opened_by(network, np.array([agent]), tick)[0]


def opened_by(network: Network, agents: Ints, tick: int) -> list[list[int]]:
    """Begin the sessions of people who are all in the first one's state; return the ids of their feeds."""
    network.state.make_room(len(agents))
    t, people, state = network.state.t, network.state.t.people, int(network.state.t.people["state"][agents[0]])
    role = int(t.roles[state])
    t.roles[state] = BROWSE
    people["session_round"][agents], people["left"][agents] = (tick + 1) // network.ticks_per_round, CLOSED
    turn_kernel.apply(network.state.held, tick, agents, np.zeros_like(agents), np.array([[state, 0, 0, -1, 0]]))
    t.roles[state] = role
    network.take_in(tick, {})
    shown = (t.feed[agent, : people["shown"][agent]].astype(np.int64) for agent in agents)
    return [network.living.ids(numbers).tolist() for numbers in shown]
