"""A post in a person's view, and a feed, as the world's kernels make them: for tests of a network without a world."""

import numpy as np

from prism.columns import Column, Ints
from prism.social.kernels import turn_kernel
from prism.social.network import Network
from prism.social.posts.post import NO_POST, PostView
from prism.social.tables import BROWSE, CLOSED


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
