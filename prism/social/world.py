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

from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.agents.social_agent import Draft
from prism.agents.turn import MOVED, Question, Trigger, Update
from prism.columns import Column, Columns, pack, pack_items, pack_lists
from prism.config import Config
from prism.config.interventions import InterventionConfig, with_settings
from prism.domain import World
from prism.errors import ConfigError
from prism.events import Event, FeedShown
from prism.measure import Measure
from prism.rng import Draw, integer, uniform
from prism.social.agenda import Agenda
from prism.social.chart import SOCIAL_BEHAVIOUR
from prism.social.dwell import Dwell
from prism.social.hours import hour_at
from prism.social.network import Network
from prism.social.population import Population
from prism.social.post import PostView, about_post
from prism.social.posting import CERTAIN, posting_rates
from prism.social.realised import Realised
from prism.social.vocabulary import Effect, Role
from prism.statechart.behaviour import Behaviour

_WITH_VIEW = frozenset({"sees_post", "decides", "ignores"})
"""The triggers that always carry the post in view. Others do if a guard of theirs reads it."""


class SocialWorld(World):
    """People's committed states, their sessions, and the network that they act on.

    Lists are indexed by agent number; a session exists only while its person is online.

    Args:
        config: the run's configuration.
        population: the people.
        behaviour: the people's chart, and what its states mean.
    """

    def __init__(self, config: Config, population: Population, behaviour: Behaviour[Any] = SOCIAL_BEHAVIOUR) -> None:
        self.config = config
        self.behaviour = behaviour
        self.population = population
        self.seed = config.simulation.seed
        self.ticks_per_round = config.simulation.ticks_per_round
        self.network = Network(
            population,
            config.feed,
            self.seed,
            self.ticks_per_round,
            config.population.relevance,
            config.population.quality_sigma,
        )
        self.dwell = Dwell(config.population.dwell, self.seed, config.simulation.tick_seconds)
        self._rates: dict[tuple[float, float], NDArray[np.float64]] = {}
        """The probability of an original post, for each person, by its mean and exponent."""
        self.realised = Realised(population.size, behaviour.chart.initial.value, config.simulation.tick_seconds)
        self.ticks = 0
        """Ticks begun so far."""
        self.agenda = Agenda(population.size)
        self.states: list[StrEnum] = [behaviour.chart.initial] * population.size
        self.entered: list[int] = [0] * population.size
        self.session_round: list[int] = [-1] * population.size
        """The round of each person's latest session."""
        self.shown: list[int] = [0] * population.size
        """The number of posts in the feed of each person's latest session."""
        self.sessions: dict[int, list[int]] = {}
        """`{agent: ids of the posts still to be shown, last first}`."""
        self.current: dict[int, int] = {}
        """`{agent: id of the post in view}`."""
        self.came: dict[int, int] = {}
        """`{agent: the tick in which its post in view was chosen}`."""
        self.pending: dict[int, str] = {}
        """`{agent: the action that it last decided to take}`."""
        self.drafts: dict[int, str] = {}
        """`{agent: the text that a model wrote for its next post}`."""
        self.deliberating: dict[int, None] = {}
        self.quarantined: dict[int, None] = {}
        self.silenced: dict[int, int | None] = {}
        """`{agent: the tick at which it gets triggers again, or None}`."""
        self.interventions: list[InterventionConfig] = []
        """The interventions so far."""
        self._named: dict[str, StrEnum] = {state.value: state for state in behaviour.states}
        self._offline = behaviour.in_role(Role.OFFLINE)
        self._with_view = _WITH_VIEW | _reading_posts(behaviour)
        self._may_post = "wants_to_post" in behaviour.chart.valid_triggers(behaviour.chart.initial)

    def triggers(self, tick: int) -> list[Trigger[PostView]]:
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
            due = [agent for agent in due if agent not in self.silenced]
        return [self._trigger(agent, tick) for agent in due]

    def apply(self, update: Update[str | Draft]) -> None:
        """Commit one person's turn, carry out its effect, and plan the person's next trigger."""
        agent, tick = update.agent, update.tick
        self.deliberating.pop(agent, None)
        if update.source not in MOVED:
            self._stay(update)
            return
        before, state = self.states[agent], self._named[update.to_state]
        self.realised.moved(update.from_state, update.to_state, self.entered[agent], tick)
        self.states[agent] = state
        self.entered[agent] = tick
        if update.effect is not None:
            self._intend(agent, update.effect)
        effects = self.behaviour.effects.get(update.trigger)
        if agent in self.silenced:  # it was waiting for a decision, and nothing comes of that
            effects = None
        if effects is not None and (effect := effects.get((update.from_state, update.to_state))) is not None:
            self._carry_out(agent, effect, tick)
        if state in self.behaviour.roles:
            self.drafts.pop(agent, None)  # whatever was written is posted, or it never will be
        if before in self._offline and state not in self._offline and not self._is_fresh(agent, tick):
            self.session_round[agent] = (tick + 1) // self.ticks_per_round
            self.sessions.pop(agent, None)
        self._plan(agent, update.trigger, tick)

    def deliberates(self, question: Question[PostView]) -> None:
        """Give the person no trigger until the decision comes."""
        self.deliberating[question.agent] = None

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
        }

    def measures(self) -> list[Measure]:
        """Return the number of posts by kind, and of likes."""
        return self.network.measures()

    def highlights(self) -> list[str]:
        """Return the largest cascade, and the latest originals with the most engagements."""
        return self.network.highlights()

    def columns(self) -> Iterator[Column]:
        """Yield the people and the network, for `restore`."""
        codes = {state: code for code, state in enumerate(self._named.values())}
        yield from pack("state_names", self._named)
        yield from pack("state", map(codes.__getitem__, self.states))
        yield from pack("entered", self.entered)
        yield from pack("session_round", self.session_round)
        yield from pack("shown", self.shown)
        yield from pack_lists("sessions", self.sessions)
        yield from pack_items("current", self.current)
        yield from pack_items("came", self.came)
        yield from pack_items("pending", self.pending)
        if self.drafts:
            yield from pack_items("drafts", self.drafts)
        yield from pack("deliberating", self.deliberating)
        yield from pack("quarantined", self.quarantined)
        yield from pack("ticks", [self.ticks])
        yield from self.realised.columns()
        yield from self.agenda.columns()
        yield from self.network.columns()
        if self.interventions:
            yield from pack("interventions", self.interventions)
            yield from pack_items("silenced", self.silenced)

    def restore(self, columns: Columns) -> None:
        """Take over the world that these columns hold.

        Raises:
            ConfigError: people are in states that this world's chart does not have: a fork may have another chart.
        """
        self.states = self._states_of(columns.values("state_names", str), columns.values("state", int))
        self.entered = columns.values("entered", int)
        self.session_round = columns.values("session_round", int)
        self.shown = columns.values("shown", int)
        self.sessions = columns.lists("sessions", int, int)
        self.current = columns.items("current", int, int)
        self.came = columns.items("came", int, int)
        self.pending = columns.items("pending", int, str)
        if "drafts" in columns.unread:
            self.drafts = columns.items("drafts", int, str)
        self.deliberating = dict.fromkeys(columns.values("deliberating", int))
        self.quarantined = dict.fromkeys(columns.values("quarantined", int))
        self.ticks = columns.value("ticks", int)
        self.realised.restore(columns)
        self.agenda.restore(columns)
        if "interventions" in columns.unread:
            self.interventions = columns.values("interventions", InterventionConfig)
            self.silenced = columns.items("silenced", int, int | None)
            for intervention in self.interventions:
                self._adopt(intervention)
        self.network.restore(columns)  # under its latest settings: they say how many originals it keeps

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

    def _states_of(self, names: list[str], codes: list[int]) -> list[StrEnum]:
        missing = [names[code] for code in sorted({*codes}) if names[code] not in self._named]
        if missing:
            problem = f"people are in states that this chart does not have: {', '.join(missing)}"
            raise ConfigError("configuration", problem, key="statechart.file")
        states = [self._named.get(name, self.behaviour.chart.initial) for name in names]
        return [states[code] for code in codes]

    def _begin_round(self, tick: int) -> None:
        self.network.retire(tick)
        window, factor = self._arrival_window(), self._hour_factor(tick)
        for agent, persona in enumerate(self.population.personas):
            if self.states[agent] not in self._offline or agent in self.quarantined or agent in self.silenced:
                continue
            if uniform(self.seed, agent, tick, Draw.ONLINE) < persona.activity * factor:
                arrival = tick + integer(window, self.seed, agent, tick, Draw.ARRIVAL)
                self.agenda.put(agent, arrival, "wants_to_post" if self._posts(agent, tick) else "feed_ready")

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

    def _posts(self, agent: int, tick: int) -> bool:
        """Return whether the person who comes online in the round of this tick begins with an original post."""
        return self._may_post and uniform(self.seed, agent, tick, Draw.PUBLISHES) < self.posting_rate(agent)

    def capped(self) -> Iterator[str]:
        """Yield a line for each probability that is 1 for some people because it cannot be more."""
        people, config = self.population, self.config.population
        most = max(people.hours, default=1.0)
        busy = sum(persona.activity * most > 1.0 for persona in people.personas) if people.hours else 0
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
        config = self.config.population
        if not config.posts_by_followers:
            return config.posts_per_session
        key = config.posts_per_session, config.posts_by_followers
        if key not in self._rates:  # the first time, and after an intervention has changed the mean
            self._rates = {key: posting_rates(self.population.graph, *key)}
        return float(self._rates[key][agent])

    def _end_round(self, tick: int) -> list[Trigger[PostView]]:
        ended = []
        for agent, state in enumerate(self.states):
            if agent in self.deliberating or agent in self.quarantined:
                continue
            self.agenda.clear(agent)
            # A session that a silence has interrupted ends in the last tick of the silence.
            if state not in self._offline and self.silenced.get(agent, tick + 1) == tick + 1:
                ended.append(Trigger[PostView](tick, agent, "round_ends"))
        return ended

    def _trigger(self, agent: int, tick: int) -> Trigger[PostView]:
        name = self.agenda.names[agent]
        if name not in self._with_view or agent not in self.current:
            return Trigger(tick, agent, name)
        fatigue = self._place(agent) / max(1, self.shown[agent])
        viewed_ticks = tick - self.came[agent]
        if name == "sees_post":
            self.realised.feeds.seen += 1
        elif name == "decides":
            self.realised.feeds.considered += 1
        return Trigger(tick, agent, name, self.network.view(agent, self.current[agent], tick, fatigue, viewed_ticks))

    def _stay(self, update: Update[str | Draft]) -> None:
        """Plan a timeout for a person whose turn moved them nowhere, or remove a quarantined person for good."""
        if update.source == "quarantine":
            self.quarantined[update.agent] = None
            self.agenda.clear(update.agent)
            return
        if self.states[update.agent] not in self._offline:
            patience = self.entered[update.agent] + self.config.statechart.default_timeout_ticks
            self.agenda.put(update.agent, max(update.tick + 1, patience), "timeout")

    def _intend(self, agent: int, effect: str | Draft) -> None:
        """Keep the action that a person is about to take, and the text for it if a model wrote one."""
        self.drafts.pop(agent, None)
        if isinstance(effect, Draft):
            self.drafts[agent] = effect.text
            effect = effect.action
        if effect:
            self.pending[agent] = effect

    def _carry_out(self, agent: int, effect: str, tick: int) -> None:
        text = self.drafts.pop(agent, "")
        if effect == Effect.POST:
            self.network.publish(agent, tick, text)
            return
        post_id = self.current.get(agent)
        if post_id is None:
            return
        if effect == Effect.LIKE:
            self.network.like(agent, post_id, tick)
        elif effect == Effect.REPLY:
            self.network.reply(agent, post_id, tick, text)
        else:
            self.network.reshare(agent, post_id, tick, text)

    def _plan(self, agent: int, trigger: str, tick: int) -> None:
        """Plan the person's next trigger, by the role of their state, or else by its delay."""
        role = self.behaviour.roles.get(self.states[agent])
        if role is None:
            self._wait(agent, tick)
        elif role == Role.OFFLINE:
            self._rejoin(agent, trigger, tick)
        elif role == Role.BROWSE:
            self._browse(agent, tick)
        else:
            until = tick + self.dwell.look(agent, tick)
            self.agenda.put(agent, until, "decides" if self._attends(agent, tick) else "ignores")

    def _wait(self, agent: int, tick: int) -> None:
        """Plan what comes of the state by itself; of a state without a delay, a timeout."""
        delay = self.behaviour.delays.get(self.states[agent])
        if delay is None:
            self.agenda.put(agent, tick + self.config.statechart.default_timeout_ticks, "timeout")
            return
        draw = self._drawn(agent, tick, Draw.DELAY) if delay.is_random else 0.0
        self.agenda.put(agent, tick + delay.ticks(draw, partial(self._number, agent, tick)), delay.trigger)

    def _number(self, agent: int, tick: int, field: str) -> float:
        """Return the value of a field of a delay: a setting, a dwell time, or a person's own attribute."""
        section, name = field.split(".")
        if section == "dwell":
            return self.dwell.look(agent, tick) if name == "look" else self.dwell.write(agent, tick)
        if section == "statechart":
            return float(getattr(self.config.statechart, name))
        return float(self.population.personas[agent].attributes[name])

    def _rejoin(self, agent: int, trigger: str, tick: int) -> None:
        """Plan an idle person's return for the rest of the feed, or end the session."""
        self.current.pop(agent, None)
        self.came.pop(agent, None)
        if trigger != "round_ends" and self._is_fresh(agent, tick) and self.sessions.get(agent):
            self.agenda.put(agent, tick + 1, "feed_ready")
        else:
            self.sessions.pop(agent, None)

    def _browse(self, agent: int, tick: int) -> None:
        """Plan a browsing person's next post, or the delay if there is none. The first time, the feed is built."""
        if not self._is_fresh(agent, tick):
            self.agenda.put(agent, tick + 1, "round_ends")
            return
        if agent not in self.sessions:
            built = self.network.build_feed_for(agent, tick)
            self.realised.built(built, self.config.feed)
            feed = built.posts
            if self.config.run.record_feeds:
                self.network.events.append(FeedShown(tick, agent, tuple(feed)))
            self.shown[agent] = len(feed)
            self.sessions[agent] = feed[::-1]
        left = self.sessions[agent]
        if left:
            self.current[agent], self.came[agent] = left.pop(), tick
            self.agenda.put(agent, tick + 1, "sees_post")
        else:
            self._wait(agent, tick)

    def _is_fresh(self, agent: int, tick: int) -> bool:
        """Return whether the session belongs to the round of the next tick. After a late decision it may not."""
        return self.session_round[agent] == (tick + 1) // self.ticks_per_round

    def _attends(self, agent: int, tick: int) -> bool:
        """Return whether the person looks closely at the post in view.

        The probability is `attention` to the power of the post's place in the feed (position bias).
        Source: the examination hypothesis of click models, Craswell et al. (2008).
        """
        return self._drawn(agent, tick, Draw.ATTENTION) < self.config.feed.attention ** self._place(agent)

    def _drawn(self, agent: int, tick: int, draw: Draw) -> float:
        """Return a draw about the post in view, as `drawn_about` does; without one it is of the tick."""
        post = self.network.posts.get(self.current.get(agent, -1))
        if post is None:
            return uniform(self.seed, agent, tick, draw)
        exposures = self.network.exposures(agent, post)
        return about_post(self.seed, agent, draw, post.origin, tick - self.came[agent], exposures)

    def _place(self, agent: int) -> int:
        """Return the number of posts of the feed before the one in view."""
        return max(0, self.shown[agent] - len(self.sessions.get(agent, ())) - 1)


def _reading_posts(behaviour: Behaviour[Any]) -> frozenset[str]:
    """Return the triggers that a row answers whose guard reads the post in view."""
    return frozenset(
        row.trigger
        for row in behaviour.chart.transitions
        if row.when is not None and any(field.startswith("post.") for field in row.when.fields)
    )
