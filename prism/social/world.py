"""The social world: rounds of feeds, posts seen one by one, decisions and rest, for everyone who is online.

    round starts   each person comes online with probability `activity`, at a tick in its first part (`arrival`)
    feed_ready     or now and then `wants_to_post`: they write an original post before they look at the feed
    sees_post      the next post of the feed, for a person whose state has the role `browse`
    decides        or `ignores`, in the role `attend`: people look less closely the further down a post is
    delays         the chart's: what comes of a state by itself, such as compose_done, action_done and timeout
    effects        the chart's: the post, like, reply or reshare takes place when its row is taken
    round_ends     in its last tick, for everyone who is not `offline`

The chart says which states have which role, delay and effect; this module gives them their meaning.

An action that a session has not finished in the last tick does not take effect. A person who still deliberates at the
end of the round acts on the decision when it comes, or gets `round_ends` if the decision is to scroll on, and misses
the round that has begun by then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise, repeat
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from prism.agents.social_agent import Draft
from prism.agents.turn import MOVED, Question, Trigger, Update
from prism.agents.waves import Kind, Updates, Wave
from prism.columns import Column, Columns, Ints, pack, pack_array, pack_items
from prism.config import Config
from prism.config.interventions import InterventionConfig, with_settings
from prism.domain import World
from prism.errors import ConfigError
from prism.events import Event, FeedShown
from prism.measure import Measure
from prism.rng import Draw, integers, uniforms
from prism.social.agenda import Agenda
from prism.social.chart import SOCIAL_BEHAVIOUR
from prism.social.dwell import Dwell
from prism.social.effects import Acts
from prism.social.feeds import FeedWave
from prism.social.hours import hour_at
from prism.social.intentions import Intentions
from prism.social.network import Network
from prism.social.people import People
from prism.social.population import Population
from prism.social.post import EXPOSURE_TICKS, NO_POST, PostView
from prism.social.posting import CERTAIN, posting_rates
from prism.social.realised import Realised
from prism.social.seen import SeenPosts
from prism.social.sessions import GONE, Sessions
from prism.social.views import Views
from prism.social.vocabulary import DRAFTED, Role, intend
from prism.statechart.behaviour import Behaviour
from prism.statechart.definition import DelayLaw

_WITH_VIEW = frozenset({"sees_post", "decides", "ignores"})
"""The triggers that always carry the post in view. Others do if a guard of theirs reads it."""


FEW: Final = 8
"""The views of so few people are made one by one: in columns it would take longer."""

UNMOVED: Final = -1
NOBODY: Final = np.empty(0, dtype=np.int64)


class Move(NamedTuple):
    """People who have entered a state, ascending, and what the world does for them there.

    Args:
        has_ended: True if the end of the round has led them there.
    """

    agents: Ints
    state: StrEnum
    role: str | None
    has_ended: bool


class Actions:
    """An action of each person, or none.

    Args:
        size: the number of people.
    """

    def __init__(self, size: int) -> None:
        self._codes = np.zeros(size, dtype=np.int16)
        self._numbers = {"": 0}
        """The number of each action, ascending."""

    def put(self, actions: Mapping[int, str]) -> None:
        """Set people's actions, by person."""
        for action in actions.values():
            if action not in self._numbers:
                self._numbers[action] = len(self._numbers)
        people = np.fromiter(actions, np.int64, len(actions))
        self._codes[people] = [self._numbers[action] for action in actions.values()]

    def get(self, person: int) -> str | None:
        """Return a person's action; None if there is none."""
        return [*self._numbers][int(self._codes[person])] or None

    def of(self, people: Ints) -> NDArray[np.str_]:
        """Return the action of each of these people; empty for none."""
        return np.array([*self._numbers])[self._codes[people]]

    def columns(self, name: str) -> Iterator[Column]:
        """Yield each person who has an action, and the action, as `pack_items` does a dictionary."""
        people = np.flatnonzero(self._codes)
        yield from pack_array(f"{name}.key", people)
        yield from pack_array(name, people, self.of)


class SocialWorld(World):
    """People's committed states, their sessions, and the network that they act on.

    Arrays are indexed by agent number; a session exists only while its person is online.

    Args:
        config: the run's configuration.
        population: the people.
        behaviour: the people's chart, and what its states mean.
    """

    def __init__(self, config: Config, population: Population, behaviour: Behaviour[Any] = SOCIAL_BEHAVIOUR) -> None:
        self.config = config
        self.behaviour = behaviour
        self.population = population
        states: type[StrEnum] = behaviour.states
        self._states = list(states)
        self._names = [state.value for state in self._states]
        self._codes = {name: code for code, name in enumerate(self._names)}
        offline = behaviour.in_role(Role.OFFLINE)
        self._offline = np.array([state in offline for state in self._states], dtype=np.bool_)
        """True for each state that is offline, by its number."""
        self.traits = People(population.personas)
        """The people in columns."""
        self.weights, self._patience = config.population.relevance, config.statechart.default_timeout_ticks
        self._intentions = Intentions(config.population.intentions)
        """The settings of people, which they keep when interventions change those of the world."""
        self.seed = config.simulation.seed
        self.ticks_per_round = config.simulation.ticks_per_round
        self.network = _network_of(config, population)
        self.dwell = Dwell(config.population.dwell, self.seed, config.simulation.tick_seconds)
        self._rates: dict[tuple[float, float], NDArray[np.float64]] = {}
        """The probability of an original post, for each person, by its mean and exponent."""
        self.realised = Realised(population.size, behaviour.chart.initial.value, config.simulation.tick_seconds)
        self.ticks = 0
        """Ticks begun so far."""
        self.agenda = Agenda(population.size)
        self._state = np.full(population.size, self._codes[behaviour.chart.initial.value], dtype=np.int16)
        """The number of each person's state among the chart's."""
        self.entered: Ints = np.zeros(population.size, dtype=np.int64)
        self.session_round: Ints = np.full(population.size, -1, dtype=np.int64)
        """The round of each person's latest session."""
        self.sessions = Sessions(population.size)
        """The posts of each person's latest session that are still to be shown."""
        self.current: Ints = np.full(population.size, NO_POST, dtype=np.int64)
        """The number of the post in each person's view, or NO_POST."""
        self.came: Ints = np.zeros(population.size, dtype=np.int64)
        """The tick in which each person's post in view was chosen."""
        self.pending = Actions(population.size)
        """The action that each person last decided to take."""
        self.drafts: dict[int, str] = {}
        """`{agent: the text that a model wrote for its next post}`."""
        self.deliberating = np.zeros(population.size, dtype=np.bool_)
        self.quarantined = np.zeros(population.size, dtype=np.bool_)
        self.silenced: dict[int, int | None] = {}
        """`{agent: the tick at which it gets triggers again, or None}`."""
        self.interventions: list[InterventionConfig] = []
        """The interventions so far."""
        self._with_view = _WITH_VIEW | _reading_posts(behaviour)
        self._may_post = "wants_to_post" in behaviour.chart.valid_triggers(behaviour.chart.initial)

    @property
    def states(self) -> list[StrEnum]:
        """The state of each person: a new list."""
        return [self._states[code] for code in self._state.tolist()]

    def states_of(self, agents: Ints) -> tuple[Sequence[StrEnum], NDArray[np.int16]]:
        """Return the states of the chart, and the number of each of these people's among them."""
        return self._states, self._state[agents]

    def read(self, agents: Ints, tick: int, fields: Collection[str]) -> Mapping[str, NDArray[Any]] | None:
        """Return what expressions read of these people and the posts in their view; None if that cannot be."""
        if not any(field.startswith("post.") for field in fields):
            return self.read_of(agents, tick, fields, None)
        numbers = self.current[agents]
        if (numbers < self.network.living.first).any():
            return None
        return self.read_of(agents, tick, fields, self._views(agents, numbers, tick))

    def _views(self, agents: Ints, numbers: Ints, tick: int) -> Views:
        return Views(self.network, self.weights, agents, numbers, tick=tick, sessions=self.sessions)

    def read_of(
        self, agents: Ints, tick: int | Ints, fields: Collection[str], views: Views | SeenPosts | None
    ) -> Mapping[str, NDArray[Any]] | None:
        """Return what expressions read of these people and of the posts as they see them; None if that cannot be.

        Args:
            views: their views; None if no field is of a post.
        """
        own: dict[str, Callable[[], NDArray[Any]]] = {
            "agent.ticks_in_state": lambda: tick - self.entered[agents],
            "agent.timeout_threshold": lambda: np.full(len(agents), self._patience),
            "agent.pending_action": lambda: self.pending.of(agents),
        }
        found: dict[str, NDArray[Any]] = {}  # not made by its type, which would be put together at each call
        for field in fields:
            if field in own:
                values: NDArray[Any] | None = own[field]()
            elif field.startswith("post."):
                values = None if views is None else views.read(field)
            else:
                values = self.traits.read(field, agents)
            if values is None:
                return None
            found[field] = values
        return found

    def has_view(self, trigger: str) -> bool:
        """Return whether a trigger carries the post in view."""
        return trigger in self._with_view

    def intended(self, agents: Ints, tick: int) -> Sequence[str]:
        """Return the action that each of these convinced people takes on the post in view, as `SocialAgent.intend`."""
        return self.intentions_of(agents, self._drawn(agents, tick, Draw.INTENTION))

    def intentions_of(self, agents: Ints, units: NDArray[np.float64]) -> Sequence[str]:
        """Return the action that each of these convinced people takes, by a draw of each."""
        return self._intentions.drawn_all(*self.traits.traits(agents), units)

    def state(self, agent: int) -> StrEnum:
        """Return a person's state."""
        return self._states[int(self._state[agent])]

    def triggers(self, tick: int) -> Sequence[Trigger[PostView]]:
        """Return the triggers of this tick."""
        self.ticks = tick + 1
        place = tick % self.ticks_per_round
        if place == 0:
            if self.silenced:
                self.silenced = {agent: until for agent, until in self.silenced.items() if until != tick}
            self._begin_round(tick)
        due = self.agenda.take(tick)
        if place == self.ticks_per_round - 1:
            return self._end_round(tick)
        if self.silenced:
            due = due[~np.isin(due, list(self.silenced))]
        codes = self.agenda.codes[due]
        self._count_views(due, codes)
        return SocialWave(self, tick, due, codes)

    def apply(self, update: Update[str | Draft]) -> None:
        """Commit one person's turn, carry out its effect, and plan the person's next trigger."""
        self.apply_all(Updates.of([update]))

    def apply_all(self, updates: Updates) -> None:
        """Commit the turns of a wave, carry out their effects in the order of agents, and plan what comes next."""
        tick = updates.tick
        self.deliberating[updates.agents] = False
        acts, targets = list[tuple[Ints, str]](), list[int]()
        for code, (kind, count) in enumerate(zip(updates.kinds, updates.counts, strict=True)):
            if kind.source in MOVED:
                self.realised.moved(kind.from_state, kind.to_state, count, tick)
                targets.append(self._codes[kind.to_state] + len(self._states) * (kind.trigger == "round_ends"))
                effect = self.behaviour.effects.get(kind.trigger, {}).get((kind.from_state, kind.to_state))
                if effect is not None:
                    acts.append((updates.agents[updates.codes == code], effect))
            else:
                targets.append(UNMOVED)
                self._stay(kind, updates.agents[updates.codes == code], tick)
        moves = self._moves(updates.agents, np.array(targets)[updates.codes], tick)
        if updates.effects:
            self._intend(updates.effects)
        browsing = [move.agents for move in moves if move.role == Role.BROWSE]
        readers = np.sort(np.concatenate(browsing)) if browsing else NOBODY
        readers = readers[self._is_fresh(readers, tick) & ~self.sessions.is_open(readers)]
        self._act(acts, readers, tick)
        for move in moves:
            if self.drafts and move.role is not None:
                self._drop_drafts(move.agents)
            self._plan(move, tick)

    def _drop_drafts(self, agents: Ints) -> None:
        """Forget what people have written: it is posted by now, or it never will be."""
        for agent in agents.tolist():
            self.drafts.pop(agent, None)

    def _moves(self, agents: Ints, targets: Ints, tick: int) -> list[Move]:
        """Commit the transitions of people, and return who has come to which state.

        Args:
            targets: the number of each one's new state, or UNMOVED; `len(self._states)` is added at the end of a round.
        """
        if targets.min() == UNMOVED:
            agents, targets = agents[targets != UNMOVED], targets[targets != UNMOVED]
        size = len(self._states)
        before, after = self._state[agents], targets % size
        self.realised.stayed(self._names, before, tick - self.entered[agents])
        self._state[agents], self.entered[agents] = after, tick
        came = agents[self._offline[before] & ~self._offline[after]]
        if len(came):
            came = came[~self._is_fresh(came, tick)]
            self.session_round[came] = (tick + 1) // self.ticks_per_round
            self.sessions.close(came)
        moves = list[Move]()
        for target in np.bincount(targets).nonzero()[0].tolist():
            state = self._states[target % size]
            moves.append(Move(agents[targets == target], state, self.behaviour.roles.get(state), target >= size))
        return moves

    def _act(self, acts: Sequence[tuple[Ints, str]], readers: Ints, tick: int) -> None:
        """Carry out effects and build feeds, both in the order of agents: who comes first sees less."""
        before = len(self.network.events)
        feeds = self.network.witness = FeedWave(self.network, readers, tick) if len(readers) else None
        self._carry_out(acts, tick)
        self.network.witness = None
        if feeds is not None:
            built = feeds.build()
            self.realised.built(built.in_network, built.out_of_network, self.config.feed)
            ends = self.sessions.open(readers, built.rows, built.numbers)
            if self.config.run.record_feeds:
                ids = self.network.living.ids(built.numbers).tolist()
                for agent, (start, stop) in zip(readers.tolist(), pairwise([0, *ends.tolist()]), strict=True):
                    self.network.events.append(FeedShown(tick, agent, tuple(ids[start:stop])))
                self.network.events[before:] = sorted(self.network.events[before:], key=_person)

    def deliberates(self, question: Question[PostView]) -> None:
        """Give the person no trigger until the decision comes."""
        self.deliberating[question.agent] = True

    def intervene(self, tick: int, intervention: InterventionConfig) -> None:
        """Carry out an intervention: a post, settings, ties or silence."""
        self.interventions.append(intervention)
        if intervention.publish is not None:
            author = self.population.number(intervention.publish.author)
            self.network.publish_from_outside(author, tick, intervention.publish)
        until = intervention.until_round
        for agent in intervention.silence or ():
            self.silenced[self.population.number(agent)] = None if until is None else (until - 1) * self.ticks_per_round
        self._adopt(intervention)

    def take_events(self) -> list[Event]:
        """Return the posts and engagements since the last call, and the feeds shown if they are to be recorded."""
        events, self.network.events = self.network.events, []
        return events

    def totals(self) -> dict[str, Any]:
        """Return posts, engagements, cascades, and what feeds and people really did, so far."""
        done = sum(self.network.counts.values()) - self.network.from_outside
        engagements = sum(self.network.counts.values()) - self.network.counts["posts"]
        return {
            **self.network.counts,
            **self.realised.counts(),
            **self.network.cascades.totals(),
            "feed": self.realised.feed(self.config.feed.fill),
            "behaviour": self.realised.behaviour(self.ticks, engagements, done),
            "margins": {} if self.population.margins is None else self.population.margins.records,
        }

    def measures(self) -> list[Measure]:
        """Return the number of posts by kind, and of likes."""
        return self.network.measures()

    def highlights(self) -> list[str]:
        """Return the largest cascade, and the latest originals with the most engagements."""
        return self.network.highlights()

    def columns(self) -> Iterator[Column]:
        """Yield the people and the network, for `restore`."""
        yield from pack("state_names", self._states)
        yield from pack_array("state", self._state)
        yield from pack_array("entered", self.entered)
        yield from pack_array("session_round", self.session_round)
        yield from self.sessions.columns(self.network.living)
        yield from self._in_view()
        yield from self.pending.columns("pending")
        if self.drafts:
            yield from pack_items("drafts", self.drafts)
        yield from pack_array("deliberating", np.flatnonzero(self.deliberating))
        yield from pack_array("quarantined", np.flatnonzero(self.quarantined))
        yield from pack("ticks", [self.ticks])
        yield from self.realised.columns()
        yield from self.agenda.columns()
        yield from self.network.columns()
        if self.interventions:
            yield from pack("interventions", self.interventions)
            yield from pack_items("silenced", self.silenced)

    def _in_view(self) -> Iterator[Column]:
        """Yield the post that each person has in view, and the tick since when."""
        people, living = np.flatnonzero(self.current != NO_POST), self.network.living
        yield from pack_array("current.key", people)
        yield from pack_array("current", people, lambda piece: living.ids_or(self.current[piece], GONE))
        yield from pack_array("came.key", people)
        yield from pack_array("came", people, self.came.__getitem__)

    def restore(self, columns: Columns) -> None:
        """Take over the world that these columns hold.

        Raises:
            ConfigError: people are in states that this world's chart does not have: a fork may have another chart.
        """
        self._state = self._states_of(columns.values("state_names", str), columns.values("state", int))
        self.entered = columns.array("entered")
        self.session_round = columns.array("session_round")
        current, came = columns.items("current", int, int), columns.items("came", int, int)
        self.pending.put(columns.items("pending", int, str))
        if "drafts" in columns.unread:
            self.drafts = columns.items("drafts", int, str)
        self.deliberating[columns.values("deliberating", int)] = True
        self.quarantined[columns.values("quarantined", int)] = True
        self.ticks = columns.value("ticks", int)
        self.realised.restore(columns)
        self.agenda.restore(columns)
        if "interventions" in columns.unread:
            self.interventions = columns.values("interventions", InterventionConfig)
            self.silenced = columns.items("silenced", int, int | None)
            for intervention in self.interventions:
                self._adopt(intervention)
        self.network.restore(columns)  # under its latest settings: they say how many originals it keeps
        for agent, post in current.items():
            number = self.network.living.number(post)
            self.current[agent] = GONE if number == NO_POST else number
            self.came[agent] = came[agent]
        self.sessions.restore(columns, self.network.living)

    def _adopt(self, intervention: InterventionConfig) -> None:
        """Take over what lasts of an intervention beyond its posts and silences, which are in the columns."""
        number = self.population.number
        if intervention.set is not None:
            self.config = with_settings(self.config, intervention.set)
            self.network.use(self.config.feed, self.config.population.relevance)
        for tie in intervention.follow or ():
            self.network.change_tie(number(tie[0]), number(tie[1]), follows=True)
        for tie in intervention.unfollow or ():
            self.network.change_tie(number(tie[0]), number(tie[1]), follows=False)

    def _states_of(self, names: list[str], codes: list[int]) -> NDArray[np.int16]:
        missing = [names[code] for code in sorted({*codes}) if names[code] not in self._codes]
        if missing:
            problem = f"people are in states that this chart does not have: {', '.join(missing)}"
            raise ConfigError("configuration", problem, key="statechart.file")
        numbers = np.array([self._codes.get(name, 0) for name in names], dtype=np.int16)
        return numbers[np.array(codes, dtype=np.int64)]

    def _begin_round(self, tick: int) -> None:
        self.network.retire(tick)
        free = np.flatnonzero(self._offline[self._state] & ~self.quarantined)
        if self.silenced:
            free = free[~np.isin(free, list(self.silenced))]
        come = uniforms(self.seed, free, tick, Draw.ONLINE) < self.traits.activity[free] * self._hour_factor(tick)
        agents = free[come]
        arrivals = tick + integers(self._arrival_window(), self.seed, agents, tick, Draw.ARRIVAL)
        posts = self._post(agents, tick)
        self.agenda.put(agents[posts], arrivals[posts], "wants_to_post")
        self.agenda.put(agents[~posts], arrivals[~posts], "feed_ready")

    def _arrival_window(self) -> int:
        """Return the number of ticks of a round in which people come online: the last tick is none of them."""
        wanted = int(self.ticks_per_round * self.config.population.activity.arrival)
        return min(max(wanted, 1), self.ticks_per_round - 1)

    def _hour_factor(self, tick: int) -> float:
        """Return the factor of everybody's activity in the hour of the day in which a round begins."""
        if not self.population.hours:
            return 1.0
        simulation = self.config.simulation
        return self.population.hours[hour_at(simulation.epoch, tick * simulation.tick_seconds)]

    def _post(self, agents: Ints, tick: int) -> NDArray[np.bool_]:
        """Return who of those who come online in the round of this tick begins with an original post."""
        if not self._may_post:
            return np.zeros(len(agents), dtype=np.bool_)
        rates = self._posting_rates()
        rate = rates if isinstance(rates, float) else rates[agents]
        return np.asarray(uniforms(self.seed, agents, tick, Draw.PUBLISHES) < rate)

    def capped(self) -> Iterator[str]:
        """Yield a line for each probability that is 1 for some people because it cannot be more."""
        people, config = self.population, self.config.population
        most = max(people.hours, default=1.0)
        busy = int(np.count_nonzero(self.traits.activity * most > 1.0)) if people.hours else 0
        if busy:
            yield (
                f"population.activity.hours: {busy:,} of {people.size:,} people come online for certain in the busiest "
                f"hour, whose factor is {most:.3g}"
            )
        certain = 0
        if config.posts_by_followers and config.posts_per_session < 1.0:
            certain = sum(self.posting_rate(agent) >= CERTAIN for agent in range(people.size))
        if certain:
            yield (
                f"population.posts_by_followers: {certain:,} of {people.size:,} people post in every session; the mean "
                f"over people is still {config.posts_per_session:g}"
            )

    def posting_rate(self, agent: int) -> float:
        """Return the probability that a session of this person begins with an original post."""
        rates = self._posting_rates()
        return rates if isinstance(rates, float) else float(rates[agent])

    def _posting_rates(self) -> float | NDArray[np.float64]:
        config = self.config.population
        if not config.posts_by_followers:
            return config.posts_per_session
        key = config.posts_per_session, config.posts_by_followers
        if key not in self._rates:  # the first time, and after an intervention has changed the mean
            self._rates = {key: posting_rates(self.population.graph, *key)}
        return self._rates[key]

    def _end_round(self, tick: int) -> SocialWave:
        free = np.flatnonzero(~(self.deliberating | self.quarantined))
        self.agenda.clear(free)
        ended = free[~self._offline[self._state[free]]]
        if self.silenced:  # a session that a silence has interrupted ends in the last tick of the silence
            held = [agent for agent, until in self.silenced.items() if until != tick + 1]
            ended = ended[~np.isin(ended, held)]
        return SocialWave(self, tick, ended, np.full(len(ended), self.agenda.number("round_ends"), dtype=np.int16))

    def _count_views(self, agents: Ints, codes: NDArray[np.int16]) -> None:
        """Count the posts that come into view, and those that are looked at closely."""
        in_view = self.current[agents] != NO_POST
        self.realised.feeds.seen += int(np.count_nonzero(in_view & (codes == self.agenda.number("sees_post"))))
        self.realised.feeds.considered += int(np.count_nonzero(in_view & (codes == self.agenda.number("decides"))))

    def trigger(self, agent: int, tick: int, name: str) -> Trigger[PostView]:
        """Return a trigger for one person, with the post in view if it carries one."""
        number = int(self.current[agent])
        if name not in self._with_view or number == NO_POST:
            return Trigger(tick, agent, name)
        post = self.network.living.get(number)
        if post is None:
            return Trigger(tick, agent, name)
        place, shown = self.sessions.place(agent)
        view = self.network.view_of(agent, post, tick, place / max(1, shown), tick - int(self.came[agent]))
        return Trigger(tick, agent, name, view)

    def triggers_of(self, agents: Ints, tick: int, names: Sequence[str]) -> list[Trigger[PostView]]:
        """Return `trigger` of each of these people."""
        numbers, living = self.current[agents], self.network.living
        if len(agents) <= FEW or (numbers < living.first).any() or not self._with_view.issuperset(names):
            return [self.trigger(agent, tick, name) for agent, name in zip(agents.tolist(), names, strict=True)]
        views = self._views(agents, numbers, tick).each(tick - self.came[agents])
        return [*map(Trigger, repeat(tick), agents.tolist(), names, views)]

    def _stay(self, kind: Kind, agents: Ints, tick: int) -> None:
        """Plan a timeout for people whose turn moved them nowhere, or remove quarantined people for good."""
        if kind.source == "quarantine":
            self.quarantined[agents] = True
            self.agenda.clear(agents)
            return
        agents = agents[~self._offline[self._state[agents]]]
        patience = self.entered[agents] + self.config.statechart.default_timeout_ticks
        self.agenda.put(agents, np.maximum(tick + 1, patience), "timeout")

    def _intend(self, effects: Mapping[int, str | Draft]) -> None:
        """Keep the actions that people are about to take, and the texts for them that a model wrote."""
        actions = dict[int, str]()
        for agent, effect in effects.items():
            if self.drafts:
                self.drafts.pop(agent, None)
            if isinstance(effect, Draft):
                self.drafts[agent] = effect.text
                effect = effect.action  # noqa: PLW2901  # the rest is the same
            if effect:
                actions[agent] = effect
        self.pending.put(actions)

    def _carry_out(self, acts: Sequence[tuple[Ints, str]], tick: int) -> None:
        """Carry out effects, each of several people, in the order of agents."""
        if not acts:
            return
        agents = np.concatenate([each for each, _ in acts])
        codes = np.repeat(np.arange(len(acts)), [len(each) for each, _ in acts])
        if self.silenced:  # somebody was waiting for a decision
            heard = ~np.isin(agents, list(self.silenced))
            agents, codes = agents[heard], codes[heard]
        order = np.argsort(agents)
        agents, effects = agents[order], [effect for _, effect in acts]
        people, drafts = agents.tolist(), self.drafts
        self.network.carry_out(
            Acts(
                people,
                [*map(effects.__getitem__, codes[order].tolist())],
                self.current[agents].tolist(),
                [drafts.pop(agent, "") for agent in people] if drafts else [""] * len(people),
            ),
            tick,
        )

    def _plan(self, move: Move, tick: int) -> None:
        """Plan people's next triggers, by the role of their state, or else by its delay."""
        if move.role is None:
            self._wait(move.agents, move.state, tick)
        elif move.role == Role.OFFLINE:
            self._rejoin(move.agents, tick, has_ended=move.has_ended)
        elif move.role == Role.BROWSE:
            self._browse(move.agents, move.state, tick)
        else:
            until = tick + self.dwell.looks(move.agents, tick)
            attends = self._attends(move.agents, tick)
            for name, which in (("decides", attends), ("ignores", ~attends)):
                self.agenda.put(move.agents[which], until if isinstance(until, int) else until[which], name)

    def _wait(self, agents: Ints, state: StrEnum, tick: int) -> None:
        """Plan what comes of the state by itself; of a state without a delay, a timeout."""
        delay = self.behaviour.delays.get(state)
        if delay is None:
            self.agenda.put(agents, tick + self.config.statechart.default_timeout_ticks, "timeout")
            return
        if delay.is_random:
            draws = self._drawn(agents, tick, Draw.DELAY).tolist()
            ticks = np.array([delay.ticks(draw) for draw in draws], dtype=np.int64)
            self.agenda.put(agents, tick + ticks, delay.trigger)
            return
        if delay.law is DelayLaw.CONSTANT:
            self.agenda.put(agents, tick + delay.ticks(), delay.trigger)
            return
        for number, those in self._numbers(agents, tick, delay.field):
            constant = replace(delay, law=DelayLaw.CONSTANT, numbers=(number,))
            self.agenda.put(those, tick + constant.ticks(), delay.trigger)

    def _numbers(self, agents: Ints, tick: int, field: str) -> Iterator[tuple[float, Ints]]:
        """Yield the values of a field of a delay, a setting, a dwell time, or a person's own attribute, and whose."""
        section, name = field.split(".")
        values: float | Ints | NDArray[np.float64]
        if section == "dwell":
            values = self.dwell.looks(agents, tick) if name == "look" else self.dwell.writes(agents, tick)
        elif section == "statechart":
            values = float(getattr(self.config.statechart, name))
        else:
            people = self.population.personas
            values = np.array([float(people[agent].attributes[name]) for agent in agents.tolist()])
        if not isinstance(values, np.ndarray):
            yield float(values), agents
            return
        for value in np.unique(values).tolist():
            yield float(value), agents[values == value]

    def _rejoin(self, agents: Ints, tick: int, *, has_ended: bool) -> None:
        """Plan idle people's return for the rest of the feed, or end the session."""
        self.current[agents] = NO_POST
        stays = np.zeros(len(agents), dtype=np.bool_)
        if not has_ended:
            stays = self._is_fresh(agents, tick) & (self.sessions.left(agents) > 0)
        self.agenda.put(agents[stays], tick + 1, "feed_ready")
        self.sessions.close(agents[~stays])

    def _browse(self, agents: Ints, state: StrEnum, tick: int) -> None:
        """Plan browsing people's next post, or the delay if there is none. Their feed has been built."""
        fresh = self._is_fresh(agents, tick)
        self.agenda.put(agents[~fresh], tick + 1, "round_ends")
        agents = agents[fresh]
        has = self.sessions.left(agents) > 0
        viewing = agents[has]
        self.current[viewing], self.came[viewing] = self.sessions.next(viewing), tick
        self.agenda.put(viewing, tick + 1, "sees_post")
        if len(viewing) < len(agents):
            self._wait(agents[~has], state, tick)

    def _is_fresh(self, agents: Ints, tick: int) -> NDArray[np.bool_]:
        """Return whose session belongs to the round of the next tick. After a late decision it may not."""
        return np.asarray(self.session_round[agents] == (tick + 1) // self.ticks_per_round)

    def _attends(self, agents: Ints, tick: int) -> NDArray[np.bool_]:
        """Return who looks closely at the post in view.

        The probability is `attention` to the power of the post's place in the feed (position bias).
        Source: the examination hypothesis of click models, Craswell et al. (2008).
        """
        places = self.sessions.places(agents)
        chances = _chances(self.config.feed.attention, int(places.max(initial=0)) + 1)
        return np.asarray(self._drawn(agents, tick, Draw.ATTENTION) < chances[places])

    def _drawn(self, agents: Ints, tick: int, draw: Draw) -> NDArray[np.float64]:
        """Return draws about the post in view, as `drawn_about` does; without one they are of the tick."""
        living, numbers = self.network.living, self.current[agents]
        has = numbers >= living.first
        if not has.all():
            found = uniforms(self.seed, agents, tick, draw)
            found[has] = self._drawn(agents[has], tick, draw)
            return found
        ticks = tick - self.came[agents] + (self.network.exposures_of(agents, numbers) - 1) * EXPOSURE_TICKS
        return uniforms(self.seed, agents, ticks, draw, living.origins(numbers))


class SocialWave(Wave[PostView]):
    """The triggers of one wave.

    Args:
        world: the world; tick, agents and codes: as in `Wave`.
    """

    def __init__(self, world: SocialWorld, tick: int, agents: Ints, codes: NDArray[np.int16]) -> None:
        super().__init__(tick, agents, world.agenda.names, codes)
        self._world = world

    def trigger(self, agent: int, name: str) -> Trigger[PostView]:
        """Return the trigger of a person, with the post in view if it carries one."""
        return self._world.trigger(agent, self.tick, name)

    def at(self, places: Ints) -> list[Trigger[PostView]]:
        """Return the triggers at these places."""
        names = map(self.names.__getitem__, self.codes[places].tolist())
        return self._world.triggers_of(self.agents[places], self.tick, [*names])

    def states(self) -> tuple[Sequence[StrEnum], NDArray[np.int16]]:
        """Return the states of the chart, and the number of each person's among them."""
        return self._world.states_of(self.agents)

    def read(self, places: NDArray[np.intp], fields: Collection[str]) -> Mapping[str, NDArray[Any]] | None:
        """Return what expressions read of people and the posts in their view; None if somebody has none in view."""
        return self._world.read(self.agents[places], self.tick, fields)

    def act(self, places: NDArray[np.intp], action: Any) -> Sequence[Any] | None:
        """Return what people are about to do after an action of the vocabulary; None for any other action."""
        if action is intend:
            name = self.names[self.codes[places[0]]]
            return self._world.intended(self.agents[places], self.tick) if self._world.has_view(name) else None
        drafted = DRAFTED.get(action)
        return None if drafted is None else [drafted] * len(places)


@lru_cache
def _chances(attention: float, places: int) -> NDArray[np.float64]:
    """Return the probability that somebody looks closely at a post, by its place in the feed."""
    return np.array([attention**place for place in range(places)])


def _network_of(config: Config, population: Population) -> Network:
    people, simulation = config.population, config.simulation
    return Network(
        population, config.feed, simulation.seed, simulation.ticks_per_round, people.relevance, people.quality_sigma
    )


def _reading_posts(behaviour: Behaviour[Any]) -> frozenset[str]:
    """Return the triggers that a row answers whose guard reads the post in view."""
    return frozenset(
        row.trigger
        for row in behaviour.chart.transitions
        if row.when is not None and any(field.startswith("post.") for field in row.when.fields)
    )


def _person(event: Event) -> int:
    return event.agent
