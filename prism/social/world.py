"""The social world: rounds of feeds, posts seen one by one, decisions and rest, for everyone who is online.

    round starts   each person comes online with probability `activity`, at a tick in its first half
    feed_ready     the feed is built; now and then the person first publishes an original post
    sees_post      the next post of the feed
    decides        or `ignores`: people look less closely the further down a post is
    compose_done, action_done   the like, reply or reshare takes effect when it is done
    timeout        they rest, and come back for the rest of the feed
    round_ends     in its last tick, for everyone who is not idle

An action that a session has not finished in the last tick does not take effect. A person who still deliberates at the
end of the round acts on the decision when it comes, or gets `round_ends` if the decision is to scroll on, and misses
the round that has begun by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prism.agents.turn import MOVED, Question, Trigger, Update
from prism.columns import Column, Columns, pack, pack_items, pack_lists
from prism.config import Config
from prism.domain import World
from prism.measure import Measure
from prism.rng import Draw, integer, uniform
from prism.social.agenda import Agenda
from prism.social.network import Network
from prism.social.population import Population
from prism.social.post import PostView
from prism.statechart import AgentState

_WITH_VIEW = frozenset({"sees_post", "decides", "ignores"})
_NEXT = {
    AgentState.COMPOSING: "compose_done",
    AgentState.ENGAGING_LIKE: "action_done",
    AgentState.ENGAGING_REPLY: "action_done",
    AgentState.ENGAGING_RESHARE: "action_done",
}
_STATES = {state.value: state for state in AgentState}


class SocialWorld(World):
    """People's committed states, their sessions, and the network that they act on.

    Lists are indexed by agent number; a session exists only while its person is online.

    Args:
        config: the run's configuration.
        population: the people.
    """

    def __init__(self, config: Config, population: Population) -> None:
        self.config = config
        self.population = population
        self.seed = config.simulation.seed
        self.ticks_per_round = config.simulation.ticks_per_round
        self.network = Network(population, config.feed, self.seed, self.ticks_per_round)
        self.agenda = Agenda(population.size)
        self.states: list[AgentState] = [AgentState.IDLE] * population.size
        self.entered: list[int] = [0] * population.size
        self.session_round: list[int] = [-1] * population.size
        """The round of each person's latest session."""
        self.shown: list[int] = [0] * population.size
        """The number of posts in the feed of each person's latest session."""
        self.sessions: dict[int, list[int]] = {}
        """`{agent: ids of the posts still to be shown, last first}`."""
        self.current: dict[int, int] = {}
        """`{agent: id of the post in view}`."""
        self.pending: dict[int, str] = {}
        """`{composing agent: the action it is about to take}`."""
        self.deliberating: dict[int, None] = {}
        self.quarantined: dict[int, None] = {}

    def triggers(self, tick: int) -> list[Trigger[PostView]]:
        """Return the triggers of this tick."""
        place = tick % self.ticks_per_round
        if place == 0:
            self._begin_round(tick)
        due = self.agenda.take(tick)
        if place == self.ticks_per_round - 1:
            return self._end_round(tick)
        return [self._trigger(agent, tick) for agent in due]

    def apply(self, update: Update[str]) -> None:
        """Commit one person's turn, carry out its effect, and plan the person's next trigger."""
        agent, tick = update.agent, update.tick
        self.deliberating.pop(agent, None)
        if update.source not in MOVED:
            self._stay(update)
            return
        self.states[agent] = _STATES[update.to_state]
        self.entered[agent] = tick
        if update.effect is not None:
            self.pending[agent] = update.effect
        if update.trigger == "action_done":
            self._engage(agent, update.from_state, tick)
        self._plan(agent, update.trigger, tick)

    def deliberates(self, question: Question[PostView]) -> None:
        """Give the person no trigger until the decision comes."""
        self.deliberating[question.agent] = None

    def totals(self) -> dict[str, Any]:
        """Return posts, engagements and cascades so far."""
        return {**self.network.counts, **self.network.cascades.totals()}

    def measures(self) -> list[Measure]:
        """Return the number of posts by kind, and of likes."""
        return self.network.measures()

    def highlights(self) -> list[str]:
        """Return the largest cascade, and the latest originals with the most engagements."""
        return self.network.highlights()

    def columns(self) -> Iterator[Column]:
        """Yield the people and the network, for `restore`."""
        codes = {state: code for code, state in enumerate(AgentState)}
        yield from pack("state", map(codes.__getitem__, self.states))
        yield from pack("entered", self.entered)
        yield from pack("session_round", self.session_round)
        yield from pack("shown", self.shown)
        yield from pack_lists("sessions", self.sessions)
        yield from pack_items("current", self.current)
        yield from pack_items("pending", self.pending)
        yield from pack("deliberating", self.deliberating)
        yield from pack("quarantined", self.quarantined)
        yield from self.agenda.columns()
        yield from self.network.columns()

    def restore(self, columns: Columns) -> None:
        """Take over the world that these columns hold."""
        states = tuple(AgentState)
        self.states = [states[code] for code in columns.values("state", int)]
        self.entered = columns.values("entered", int)
        self.session_round = columns.values("session_round", int)
        self.shown = columns.values("shown", int)
        self.sessions = columns.lists("sessions", int, int)
        self.current = columns.items("current", int, int)
        self.pending = columns.items("pending", int, str)
        self.deliberating = dict.fromkeys(columns.values("deliberating", int))
        self.quarantined = dict.fromkeys(columns.values("quarantined", int))
        self.agenda.restore(columns)
        self.network.restore(columns)

    def _begin_round(self, tick: int) -> None:
        self.network.retire(tick)
        window = self.ticks_per_round // 2
        for agent, persona in enumerate(self.population.personas):
            if self.states[agent] is not AgentState.IDLE or agent in self.quarantined:
                continue
            if uniform(self.seed, agent, tick, Draw.ONLINE) < persona.activity:
                arrival = integer(window, self.seed, agent, tick, Draw.ARRIVAL)
                self.agenda.put(agent, tick + arrival, "feed_ready")

    def _end_round(self, tick: int) -> list[Trigger[PostView]]:
        ended = []
        for agent, state in enumerate(self.states):
            if agent in self.deliberating or agent in self.quarantined:
                continue
            self.agenda.clear(agent)
            if state is not AgentState.IDLE:
                ended.append(Trigger[PostView](tick, agent, "round_ends"))
        return ended

    def _trigger(self, agent: int, tick: int) -> Trigger[PostView]:
        name = self.agenda.names[agent]
        if name not in _WITH_VIEW:
            return Trigger(tick, agent, name)
        fatigue = self._place(agent) / max(1, self.shown[agent])
        return Trigger(tick, agent, name, self.network.view(agent, self.current[agent], tick, fatigue))

    def _stay(self, update: Update[str]) -> None:
        """Plan a timeout for a person whose turn moved them nowhere, or remove a quarantined person for good."""
        if update.source == "quarantine":
            self.quarantined[update.agent] = None
            self.agenda.clear(update.agent)
            return
        if self.states[update.agent] is not AgentState.IDLE:
            patience = self.entered[update.agent] + self.config.statechart.default_timeout_ticks
            self.agenda.put(update.agent, max(update.tick + 1, patience), "timeout")

    def _engage(self, agent: int, engaged: str, tick: int) -> None:
        post_id = self.current.get(agent)
        if post_id is None:
            return
        if engaged == AgentState.ENGAGING_LIKE:
            self.network.like(post_id, tick)
        elif engaged == AgentState.ENGAGING_REPLY:
            self.network.reply(agent, post_id, tick)
        else:
            self.network.reshare(agent, post_id, tick)

    def _plan(self, agent: int, trigger: str, tick: int) -> None:
        state = self.states[agent]
        if state is not AgentState.COMPOSING:
            self.pending.pop(agent, None)
        if state is AgentState.IDLE:
            self._rejoin(agent, trigger, tick)
        elif state is AgentState.SCROLLING:
            self._scroll(agent, trigger, tick)
        elif state is AgentState.EVALUATING:
            self.agenda.put(agent, tick + 1, "decides" if self._attends(agent, tick) else "ignores")
        elif state is AgentState.RESTING:
            self.agenda.put(agent, tick + self.config.statechart.rest_ticks, "timeout")
        else:
            self.agenda.put(agent, tick + 1, _NEXT[state])

    def _rejoin(self, agent: int, trigger: str, tick: int) -> None:
        """Plan an idle person's return for the rest of the feed, or end the session."""
        self.current.pop(agent, None)
        if trigger != "round_ends" and self._is_fresh(agent, tick) and self.sessions.get(agent):
            self.agenda.put(agent, tick + 1, "feed_ready")
        else:
            self.sessions.pop(agent, None)

    def _scroll(self, agent: int, trigger: str, tick: int) -> None:
        """Plan a scrolling person's next post, or rest if there is none."""
        if trigger == "feed_ready" and not self._is_fresh(agent, tick):
            self._open_session(agent, tick)
        left = self.sessions.get(agent)
        if not self._is_fresh(agent, tick):
            self.agenda.put(agent, tick + 1, "round_ends")
        elif left:
            self.current[agent] = left.pop()
            self.agenda.put(agent, tick + 1, "sees_post")
        else:
            self.agenda.put(agent, tick + self.config.statechart.default_timeout_ticks, "timeout")

    def _is_fresh(self, agent: int, tick: int) -> bool:
        """Return whether the session belongs to the round of the next tick. After a late decision it may not."""
        return self.session_round[agent] == (tick + 1) // self.ticks_per_round

    def _open_session(self, agent: int, tick: int) -> None:
        self.session_round[agent] = (tick + 1) // self.ticks_per_round
        if uniform(self.seed, agent, tick, Draw.PUBLISHES) < self.config.population.posts_per_session:
            self.network.publish(agent, tick)
        feed = self.network.feed_for(agent, tick)
        self.shown[agent] = len(feed)
        self.sessions[agent] = feed[::-1]

    def _attends(self, agent: int, tick: int) -> bool:
        """Return whether the person looks closely at the post in view.

        The probability is `attention` to the power of the post's place in the feed (position bias).
        Source: the examination hypothesis of click models, Craswell et al. (2008).
        """
        return uniform(self.seed, agent, tick, Draw.ATTENTION) < self.config.feed.attention ** self._place(agent)

    def _place(self, agent: int) -> int:
        """Return the number of posts of the feed before the one in view."""
        return max(0, self.shown[agent] - len(self.sessions.get(agent, ())) - 1)
