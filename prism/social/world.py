"""The social world: rounds of feeds, posts seen one by one, decisions and rest, for everyone who is online.

    round starts   each person comes online with probability `activity`, at a tick in its first part (`arrival`)
    feed_ready     or now and then `wants_to_post`: they write an original post before they look at the feed
    sees_post      the next post of the feed, for a person whose state has the role `browse`
    decides        or `ignores`, in the role `attend`: people look less closely the further down a post is
    delays         the chart's: triggers that end states by themselves, such as compose_done, action_done and timeout
    effects        the chart's: the post, like, reply or reshare takes place when its row is taken
    round_ends     in its last tick, for everyone who is not `offline`

The chart says which states have which role, delay and effect; `prism.social.kernels.turn_kernel` says what they mean.

An action that a session has not finished in the last tick does not take effect. A person who still deliberates at the
end of the round acts on the decision when it comes, or gets `round_ends` if the decision is to scroll on, and misses
the round that has begun by then.

A world may be one of several shards, each with the turns of a range of people and a replica of the posts alive. Within
a wave, who comes first sees less: a feed has the posts of those before its reader, and not of those after. So in each
wave a shard carries out the acts of the people below its range, then the turns of its own people, then the acts of
those above: each replica of the posts is then the same, to the row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from heapq import nlargest
from itertools import chain, compress
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism import kernels
from prism.agents.social_agent import Draft
from prism.agents.turn import MOVED, Question, Trigger, Update
from prism.agents.waves import Encoded, Kind, Questions, Updates, Wave
from prism.columns import (
    AGENTS,
    Column,
    Columns,
    Floats,
    Ints,
    Rows,
    blocks_in,
    distinct,
    pack,
    pack_items,
    piece_of,
    pieces_of,
    places_in_lists,
)
from prism.config import Config
from prism.config.interventions import InterventionConfig, with_settings
from prism.distribution import size_totals
from prism.domain import Measure, World
from prism.errors import ConfigError
from prism.events import ATTRIBUTES, OF_FEEDS, Happened, events_in, put_together
from prism.expressions.tree import reads_draw, reads_view
from prism.kernel_rng import CONSTANT
from prism.social import tables as col
from prism.social.changing import NO_CHANGE, NO_CHANGES, ChangingAttributes
from prism.social.chart import SOCIAL_BEHAVIOUR
from prism.social.field_source import FieldTables, Words, post_choice_kernel, ranking_kernel, scored_by
from prism.social.kernels import post_kernel, turn_kernel
from prism.social.kernels.turn_kernel import CHANGE, EFFECT, KIND_COLUMNS, TARGET
from prism.social.measures import Realised, measured
from prism.social.memory import Memory
from prism.social.network import EFFECTS, Network, PackedTexts
from prism.social.people.people import People
from prism.social.people.population import CAPPED, MOST, Population, hour_at, participation, posting_rates
from prism.social.posts.post import AttributeView, PersonalView, Post, PostView
from prism.social.state import RINGS
from prism.social.tables import widened
from prism.social.vocabulary import ACTIONS_ON_POSTS, TRIGGERS, Role
from prism.statechart.behaviour import Behaviour
from prism.statechart.definition import LAWS, Delay
from prism.statechart.statechart import question_kinds

_WITH_VIEW = frozenset({"sees_post", "decides", "ignores"})
"""The triggers that always carry the post in view. Others do if a guard of theirs reads it."""
_OF_EVERYBODY: Final = (
    *("state", "entered", "session_round", "current", "came", "next", "shown", "left", "pending"),
    *("waits", "barred", "silent"),
)
"""The fields of people that checkpoints have a column of each for, beside the tick of the next trigger."""
_ROLES: Final = {Role.OFFLINE: col.OFFLINE, Role.BROWSE: col.BROWSE, Role.ATTEND: col.ATTEND}
_OF_PEOPLE: Final = ("people", "feed", *RINGS)  # the tables with a row for each person
TOP_POSTS, TOP_OF = 2, 1000
"""Posts that are shown to a person who looks at the run, and the newest originals among which they are found."""
_SESSION: Final = 0.02  # the work for a person who stays offline, as a share of that for one who comes online


def check_shards(config: Config) -> None:
    """Refuse interventions with which what people do would depend on more of another shard than acts of its people."""
    if config.run.shards == 1:
        return
    for place, each in enumerate(config.interventions):
        if each.set is not None and each.set.get("feed.reshare_credit") == "newest":
            problem = "with run.shards, feed.reshare_credit must stay seen or root"
            raise ConfigError("configuration", problem, key=f"interventions[{place}].set")


class SocialWorld(World):
    """People's committed states, their sessions, and the network that they act on.

    What a person does to what all have in common, an *act*, every shard of a run carries out. All else about a person
    is right in the world of the own shard only. Until `keep` says whose turns are its own, all people are.
    """

    tables = OF_FEEDS

    def __init__(self, config: Config, population: Population, behaviour: Behaviour[Any] = SOCIAL_BEHAVIOUR) -> None:
        self.config, self.behaviour, self.population = config, behaviour, population
        if config.simulation.length > col.TICKS_MAX:
            problem = f"the run has {config.simulation.length:,} ticks: expected {col.TICKS_MAX:,} at most"
            raise ConfigError("configuration", problem, key="simulation.rounds")
        states: type[StrEnum] = behaviour.states
        self.states_known, self._names = list(states), [state.value for state in states]
        self._codes = {name: code for code, name in enumerate(self._names)}
        self.traits = People(population.personas)
        self.ticks_per_round = config.simulation.ticks_per_round
        people, seed = config.population, config.simulation.seed
        self.network = Network(
            population, config.feed, seed, self.ticks_per_round, people.relevance, people.quality_sigma
        )
        if any(name.endswith("_reshares") for name in people.measures):
            self.network.reshares_received = np.zeros(population.size, dtype=np.int64)
        delays = {delay.trigger for delay in behaviour.delays.values()}
        self.triggers_known = ["", *TRIGGERS, *sorted(delays - {*TRIGGERS})]
        self.actions = ["", *ACTIONS_ON_POSTS]
        """The actions that people may be about to take, by their number; further ones are of functions of a chart."""
        self.changing, self.memory = self._changing_attributes(), None
        if config.llm.memory:  # a model is told what people remember, so every view of a post has a place for it
            self.network.view_type = PersonalView
            asking, tick_s = frozenset(question_kinds(behaviour.chart)), config.simulation.tick_seconds
            self.memory = Memory(config.llm.memory, self.network, tick_s, asking)
        if population.posts:
            self.network.state.give(population.posts, population.owners, self.changing.tables.words)
        self.network.state.use_states(len(self.states_known), self._codes[behaviour.chart.initial.value])
        self._participation = participation(population.size, seed, people.participation_sigma)
        self._kinds: dict[Kind, tuple[int, ...]] = {}
        self._latest: tuple[Any, int, Ints] = None, 0, np.zeros((0, KIND_COLUMNS), dtype=np.int64)
        """The kinds of the latest updates, how many there were, and their rows, which are mostly the same again."""
        self.realised = Realised(self.network.state, self._names, config.simulation.tick_seconds)
        self.ticks = 0
        self.drafts: dict[int, str] = {}  # `{agent: the text that a model wrote for its next post}`
        self.interventions: list[InterventionConfig] = []
        self._with_view = _WITH_VIEW | {
            row.trigger
            for row in behaviour.chart.transitions
            if row.when is not None and (reads_view(row.when.fields) or reads_draw(row.when.fields))
        }
        self._sees, self._trigger_names = np.zeros(0, dtype=np.bool_), PackedTexts.of(())
        """For each known trigger, whether it carries the post in view, and its name as msgpack."""
        self._may_post = "wants_to_post" in behaviour.chart.valid_triggers(behaviour.chart.initial)
        self.prepare()
        self._tell_kernels()

    def _changing_attributes(self) -> ChangingAttributes:
        # People keep the weights of relevance and their patience when interventions change the settings of the world.
        state, people, across = self.network.state, self.config.population, self.config.feed.across
        of_posts = {name: place for place, name in enumerate(people.posts.attributes)}
        words, patience = Words(self.actions), self.config.statechart.default_timeout_ticks
        fields = FieldTables(self.traits, words, state.places, people.relevance, patience, of_posts=of_posts)
        read = scored_by(self.config) | {f"agent.{across}"}
        changing = ChangingAttributes(state, fields, self.behaviour, people.attributes, read)
        state.ranking_of = lambda algorithm: ranking_kernel(algorithm, people, changing.tables)
        if across is not None:
            state.across = changing.places[across], int(changing.fields[across].is_number)
        if changing.fields:
            self.traits.changing = changing.column
        if changing.of_authors:
            self.network.attributes_of = changing.of_author
        if changing.of_authors or of_posts:
            self.network.view_type = AttributeView
        return changing

    def remember(self, places: int, people: Sequence[int], before: Memory | None = None) -> None:
        """Let people remember from now on, for a person who looks at the run: no model and no checkpoint gets it."""
        remembers = np.zeros(len(self.people), dtype=np.bool_)
        remembers[list(people)] = True
        self.memory = Memory(places, self.network, self.config.simulation.tick_seconds, frozenset(), remembers)
        if before is not None:
            self.memory.restore(Columns(before.columns()))

    @property
    def people(self) -> NDArray[Any]:
        return self.network.state.t.people

    def prepare(self) -> None:
        """Take over the kernels as they are now: machine code, or plain Python."""
        self._are_compiled = kernels.are_compiled()
        self.changing.prepare()
        self.network.use(self.config.feed, self.config.population.relevance)
        if self.population.posts:
            people = self.config.population
            self.network.state.offer(post_choice_kernel(people, self.changing.tables), people.posts.offered)

    def follow_kernels(self) -> None:
        if self._are_compiled != kernels.are_compiled():
            self.prepare()

    def _tell_kernels(self) -> None:
        state, config, people = self.network.state, self.config, self.config.population
        t, tick_s, response = state.t, config.simulation.tick_seconds, people.response
        for code, each in enumerate(self.states_known):
            role = self.behaviour.roles.get(each)
            t.roles[code] = col.NO_ROLE if role is None else _ROLES[Role(role)]
            t.delays[code] = self._delay_row(self.behaviour.delays.get(each))
        wanted = int(self.ticks_per_round * people.activity.arrival)
        rates: Floats = np.array([people.posts_per_session])
        if self._has_rates:
            mean, exponent = people.posts_per_session, people.posts_by_followers
            rates = posting_rates(self.population.graph, mean, exponent, self._participation)
        state.at_once = max(1, math.ceil(np.max(rates)))
        state.t = t._replace(
            settings=t.settings._replace(
                patience=config.statechart.default_timeout_ticks,
                window=min(max(wanted, 1), self.ticks_per_round - 1),  # nobody arrives in the last tick
                may_post=int(self._may_post),
                notes_feeds=int(config.run.record_feeds),
                response=response.median_s / tick_s,
                response_sigma=response.sigma,
                speed_sigma=response.speed_sigma,
            ),
            activity=self.traits.activity,
            rates=rates,
            participation=self._participation if people.participation_sigma else np.ones(1),
        )

    @property
    def _has_rates(self) -> bool:
        """True if people differ in how many original posts they make in a session."""
        people = self.config.population
        return bool(people.posts_by_followers or people.participation_sigma)

    def _delay_row(self, delay: Delay | None) -> tuple[float, ...]:
        if delay is None:
            return CONSTANT, self.config.statechart.default_timeout_ticks, 0.0, col.TIMEOUT
        trigger = self.triggers_known.index(delay.trigger)
        if not delay.field:
            first, second = (*delay.numbers, 0.0)[:2]
            return LAWS[delay.law], first, second, trigger
        section, name = delay.field.split(".")
        if section == "statechart":
            return CONSTANT, float(getattr(self.config.statechart, name)), 0.0, trigger
        return col.ATTRIBUTE, self.changing.places[name], 0.0, trigger

    # Views of the people for others

    def state(self, agent: int) -> StrEnum:
        return self.states_known[int(self.people["state"][agent])]

    def pending(self, agent: int) -> str | None:
        return self.actions[int(self.people["pending"][agent])] or None

    def has_view(self, trigger: str) -> bool:
        return trigger in self._with_view

    # A wave

    def triggers(self, tick: int) -> Sequence[Trigger[PostView]]:
        self.follow_kernels()
        self.ticks = tick + 1
        if tick % self.ticks_per_round == 0:
            self.begin_round(tick)
        due, codes = np.empty((2, self.population.size), dtype=np.int64)
        count = turn_kernel.take_due(self.network.state.held, tick, due, codes)
        return SocialWave(self, tick, due[:count], codes[:count])

    def begin_round(self, tick: int) -> None:
        """Forget old posts, and plan who comes online in the round that begins."""
        self.network.retire(tick)
        hours, simulation, factor = self.population.hours, self.config.simulation, 1.0
        if len(hours):
            factor = float(hours[hour_at(simulation.epoch, tick * simulation.tick_seconds)])
        turn_kernel.begin_round(self.network.state.held, tick, factor)

    def view(self, agent: int, tick: int) -> PostView | None:
        """Return what a person sees of the post in view; None if there is none, or it is forgotten."""
        if self.people["current"][agent] < self.network.living.first:
            return None
        return self.network.views(np.array([agent]), tick)[0]

    def triggers_of(self, agents: Ints, tick: int, names: Sequence[str]) -> list[Trigger[PostView]]:
        has = np.array([name in self._with_view for name in names], dtype=np.bool_)
        has &= self.people["current"][agents] >= self.network.living.first
        views: Iterator[PostView] = iter(self.network.views(agents[has], tick)) if has.any() else iter(())
        if (memory := self.memory) is not None:
            # A view has what its reader remembers, if the trigger may lead to a question.
            views = (
                msgspec.structs.replace(view, memory=memory.lines(agent, tick))
                if (self.state(agent).value, name) in memory.asking
                else view
                for agent, name, view in zip(agents[has].tolist(), compress(names, has), views, strict=True)
            )
        return [
            Trigger(tick, agent, name, next(views) if sees else None)
            for agent, name, sees in zip(agents.tolist(), names, has.tolist(), strict=True)
        ]

    def encoded(self, tick: int, agents: Ints, codes: Ints) -> Encoded | None:
        """Return triggers as they are sent; None if views have more than a kernel can write."""
        if not self.network.has_plain_views:
            return None
        if len(self._sees) != len(self.triggers_known):
            self._sees = np.array([name in self._with_view for name in self.triggers_known], dtype=np.bool_)
            self._trigger_names = PackedTexts.of(map(msgspec.msgpack.encode, self.triggers_known))
        return self.network.words.encoded(tick, agents, codes, self._sees, self._trigger_names)

    def reactions(self, tick: int) -> Sequence[Trigger[PostView]]:  # noqa: ARG002  # nothing follows in the same tick
        """Let the ties and attributes that people have changed in this tick hold from now on."""
        if self.network.pending:
            self.network.settle()
        if self.changing.rows:
            self.changing.settle()
        return ()

    def deliberates(self, question: Question[PostView]) -> None:
        self.people["waits"][question.agent] = 1

    def all_deliberate(self, questions: Questions[PostView]) -> None:
        self.people["waits"][questions.agents] = 1

    def apply(self, update: Update[str | Draft]) -> None:
        self.apply_all(Updates.of([update]))

    def apply_all(self, updates: Updates) -> None:
        # 1. What people are about to do, their next attributes, and the posts in view, all as before the wave.
        for agent, effect in updates.effects.items():
            self.drafts.pop(agent, None)
            if isinstance(effect, Draft):
                self.drafts[agent] = effect.text
            action = effect.action if isinstance(effect, Draft) else effect
            if action:
                self.people["pending"][agent] = _number_in(self.actions, action)
        state, tick, kinds = self.network.state, updates.tick, self.kind_rows(updates.kinds)
        changed = updates.agents[:0]
        if self.changing.rows:
            changed = self.changing.work_out(tick, updates.agents, kinds[updates.codes, CHANGE])
        in_view = None if self.memory is None else self.memory.in_view(updates)
        # 2. The turns.
        state.make_room(len(updates))
        texts = self._texts(updates, kinds) if self.drafts else {}
        turn_kernel.apply(state.held, tick, updates.agents, updates.codes, kinds)
        # 3. What took place.
        rows, changes = self.network.take_in(tick, texts), self.changing.change(changed)
        if len(changes) and self.network.is_written:
            rows = self.network.happened[-1] = self.with_changes(changes, rows)
        if self.memory is not None and in_view is not None:
            self.memory.add(tick, rows, in_view)

    def with_changes(self, changes: Floats, rows: Happened) -> Happened:
        """Return what took place in a wave, with the attributes that have changed, by person."""
        if not len(changes):
            return rows
        changed: Happened = {ATTRIBUTES.name: self.changing.rows_of(changes)}
        if ATTRIBUTES.name in rows:
            changed = put_together([{ATTRIBUTES.name: rows[ATTRIBUTES.name]}, changed])
        agents, names, values = changed[ATTRIBUTES.name]
        order = np.argsort(agents, kind="stable")
        return {**rows, ATTRIBUTES.name: (agents[order], names.at(order), values.at(order))}

    def kind_rows(self, kinds: Sequence[Kind]) -> Ints:
        if kinds is not self._latest[0] or len(kinds) != self._latest[1]:
            rows = np.array([*map(self._kind_row, kinds)], dtype=np.int64).reshape(-1, KIND_COLUMNS)
            self._latest = kinds, len(rows), rows
        return self._latest[2]

    def _kind_row(self, kind: Kind) -> tuple[int, ...]:
        """Return a kind of update as kernels read it: `prism.social.kernels.turn_kernel` has the columns."""
        if kind in self._kinds:
            return self._kinds[kind]
        trigger, before, after, source = kind[:4]
        to_be = _number_in(self.actions, kind.effect) if kind.effect else -1  # what all who have it are about to do
        row: tuple[int, ...] = (col.UNMOVED,) * (KIND_COLUMNS - 1) + (NO_CHANGE,)  # a question, which nobody commits
        if source in MOVED:
            effect = self.behaviour.effects.get(trigger, {}).get((before, after))
            change = self.changing.rows.get((trigger, before, after), NO_CHANGE)
            is_end = int(trigger == "round_ends")
            row = self._codes[after], is_end, EFFECTS[effect] if effect else 0, to_be, 0, change
        elif source:
            row = col.UNMOVED, 0, 0, to_be, int(source == "quarantine"), NO_CHANGE
        self._kinds[kind] = row
        return row

    def _texts(self, updates: Updates, kinds: Ints) -> dict[int, str]:
        """Return the texts of posts that people make now; forget those whose authors browse, look or leave first."""
        target, _, effect, to_be = kinds[updates.codes][:, :4].T
        acts = effect.astype(np.bool_) & (self.people["silent"][updates.agents] == 0)
        role = np.where(target == col.UNMOVED, col.NO_ROLE, self.network.state.t.roles[target])
        for agent in updates.agents[to_be >= 0].tolist():
            self.drafts.pop(agent, None)
        texts = {agent: self.drafts.pop(agent, "") for agent in updates.agents[acts].tolist()}
        for agent in updates.agents[role != col.NO_ROLE].tolist():
            self.drafts.pop(agent, None)
        return {agent: text for agent, text in texts.items() if text}

    def take_rows(self) -> Happened:
        happened, self.network.happened = self.network.happened, []
        return put_together(happened) if happened else {}

    # Interventions

    def intervene(self, tick: int, intervention: InterventionConfig) -> None:
        self.interventions.append(intervention)
        number = self.population.number
        if intervention.publish is not None:
            author = number(intervention.publish.author)
            self.network.publish_from_outside(author, tick, intervention.publish)
            if self.memory is not None:
                self.memory.add_events(tick, events_in(tick, self.network.happened[-1]))
        until = intervention.until_round
        for agent in intervention.silence or ():
            self.people["silent"][number(agent)] = col.FOREVER if until is None else (until - 1) * self.ticks_per_round
        self._adopt(intervention)
        changed = {(number(one), number(other)): True for one, other in intervention.follow or ()}
        changed |= {(number(one), number(other)): False for one, other in intervention.unfollow or ()}
        self.network.change_ties(changed)

    def _adopt(self, intervention: InterventionConfig) -> None:
        if intervention.set is not None:
            self.config = with_settings(self.config, intervention.set)
            self.network.use(self.config.feed, self.config.population.relevance)
            self._tell_kernels()

    # Displays of a run

    def totals(self) -> dict[str, Any]:
        counts, cascades = self.network.counts, self.network.cascades.totals()
        done, engagements = sum(counts.values()) - self.network.from_outside, sum(counts.values()) - counts["posts"]
        # Reshares received are counted only if a measure reads them.
        received = self.network.reshares_received
        reshares = np.zeros(self.population.size, dtype=np.int64) if received is None else received
        names, followers = self.config.population.measures, self.network.state.t.ties.followers
        return {
            **counts,
            **self._changed(),
            **self.realised.counts(),
            **cascades,
            **size_totals(cascades["cascade_sizes"]),
            "feed": self.realised.feed(self.config.feed.fill),
            "behaviour": self.realised.behaviour(self.ticks, engagements, done),
            "margins": {} if self.population.margins is None else self.population.margins.records,
            "homophily": {} if self.population.homophily is None else self.population.homophily.record,
            **measured(names, followers, reshares, self.traits.column),
        }

    def measures(self) -> list[Measure]:
        counts, kinds = self.network.counts, {"original": "posts", "reply": "replies", "reshare": "reshares"}
        about = "Posts by what they are: original, reply or reshare."
        rows = [("posts", about, {"kind": kind}, counts[name]) for kind, name in kinds.items()]
        rows.append(("likes", "Likes given.", {}, counts["likes"]))
        changed, about = self._changed(), "Ties that people have changed, by what they did."
        of_attributes = changed.pop("attribute_changes", None)
        rows += [("tie_changes", about, {"kind": name.removesuffix("s")}, count) for name, count in changed.items()]
        if of_attributes is not None:
            rows.append(("attribute_changes", "Changes of people's attributes by themselves.", {}, of_attributes))
        return [
            Measure(name=f"prism_{name}_total", help=about, kind="counter", labels=labels, value=count)
            for name, about, labels, count in rows
        ]

    def _changed(self) -> dict[str, int]:
        """Return `{kind of change: how often so far}`, of the kinds that the chart or that of a past has."""
        effects = {effect.removesuffix("_root") for rows in self.behaviour.effects.values() for effect in rows.values()}
        ties = {name: n for name, n in self.network.tie_counts.items() if n or name.removesuffix("s") in effects}
        count = self.changing.count
        return ties | ({"attribute_changes": count} if count or self.changing.rows else {})

    def highlights(self) -> list[str]:
        """Return a line about the largest cascade, and one about each of the newest originals with most engagements."""
        network, lines = self.network, list[str]()
        largest, t = network.cascades.largest, network.state.t

        def said(post: Post) -> str:
            return f'{self.population.name(post.author)}, "{network.text(post)}"'

        if largest.size:
            root = network.post(largest.root)
            what = "" if root is None else f": {said(root)}"
            lines.append(f"largest cascade, {largest.size:,} posts, {largest.depth:,} deep{what}")
        oldest, newest = t.counts.originals[[col.OLDEST, col.NEWEST]].tolist()
        numbers = t.originals[max(oldest, newest - TOP_OF) : newest]
        numbers = numbers[numbers >= network.living.first]
        rows = network.living.rows(numbers)
        engagements = t.cascades["engagements"][network.state.cascade_rows(t.posts["cascade"][rows])].tolist()
        living = zip(engagements, network.living.ids(numbers).tolist(), numbers.tolist(), strict=True)
        top = nlargest(TOP_POSTS, (each for each in living if each[0]))
        posts = network.living.made(np.array([number for *_, number in top], dtype=np.int64))
        return lines + [f"{each[0]:,} engagements: {said(post)}" for each, post in zip(top, posts, strict=True)]

    # Checkpoints

    def columns(self) -> Iterator[Column]:
        yield from self.common()
        yield from chain.from_iterable(self.about(blocks_in(range(len(self.people)))))

    def common(self) -> Iterator[Column]:
        for name, names in (("states", self._names), ("triggers", self.triggers_known), ("actions", self.actions)):
            yield from pack(name, names)
        yield from pack_items("drafts", self.drafts)
        yield from pack("ticks", [self.ticks])
        yield from pack("interventions", self.interventions)
        yield from self.realised.columns()
        yield from self.network.common()
        yield from self.changing.columns()
        if self.memory is not None and self.config.llm.memory:
            yield from self.memory.columns()

    def about(self, blocks: Iterable[range]) -> Iterator[Iterator[Column]]:
        return map(self._about, blocks)

    def _about(self, people: range) -> Iterator[Column]:
        yield piece_of(AGENTS, np.arange(people.start, people.stop))
        own, t = slice(people.start, people.stop), self.network.state.t
        yield piece_of("due", t.due[own])
        for name in _OF_EVERYBODY:
            yield piece_of(name, t.people[name][own])
        # The posts of each person's latest feed that are still to be shown, if the session is not over.
        have = people.start + np.flatnonzero(t.people["left"][own] > 0)
        lengths = t.people["left"][have].astype(np.int64)
        owners = np.repeat(have, lengths)
        places = np.repeat(t.people["shown"][have] - lengths, lengths) + places_in_lists(lengths)
        yield from pieces_of("sessions", Rows(have, lengths, t.feed[owners, places]))
        yield from self.network.about(people)

    def restore(self, columns: Columns) -> None:
        """Take over the world that these columns hold.

        Raises:
            ConfigError: people are in states that this world's chart does not have: a fork may have another chart.
        """
        people, those = self.people, columns.array(AGENTS)
        self.network.state.t.due[those] = columns.array("due")
        for name in _OF_EVERYBODY:
            people[name][those] = columns.array(name)
        # 1. States, triggers and actions: those of a fork may be other numbers than those of the past.
        names, codes = columns.values("states", str), people["state"][those]
        missing = [names[code] for code in distinct(codes).tolist() if names[code] not in self._codes]
        if missing:
            problem = f"people are in states that this chart does not have: {', '.join(missing)}"
            raise ConfigError("configuration", problem, key="statechart.file")
        states = np.array([self._codes.get(name, -1) for name in names], dtype=np.int64)
        people["state"][those] = states[codes]
        for name, field, known in (("triggers", "next", self.triggers_known), ("actions", "pending", self.actions)):
            names, codes = columns.values(name, str), people[field][those]
            for code in distinct(codes).tolist():
                people[field][those[codes == code]] = _number_in(known, names[code])
        # 2. The network, under its latest settings: they say how much it keeps.
        self.drafts = columns.items("drafts", int, str)
        self.ticks = columns.value("ticks", int)
        self.interventions = columns.values("interventions", InterventionConfig)
        for intervention in self.interventions:
            self._adopt(intervention)
        self.network.restore(columns)
        self.changing.restore(columns)
        if self.memory is not None:
            self.memory.restore(columns)
        self.realised.restore(columns, states)
        # 3. Sessions. A fork may have shorter feeds.
        state, rows = self.network.state, columns.rows("sessions")
        state.t = state.t._replace(feed=widened(state.t.feed, int(people["shown"].max())))
        owners = np.repeat(rows.keys, rows.lengths)
        firsts = people["shown"][rows.keys].astype(np.int64) - people["left"][rows.keys]
        places = np.repeat(firsts, rows.lengths) + places_in_lists(rows.lengths)
        state.t.feed[owners, places] = rows.values

    def capped(self) -> Iterator[str]:
        """Yield a line for each probability that is 1 for some people because it cannot be more."""
        people, config = self.population, self.config.population
        most = float(people.hours.max(initial=0.0))
        busy = int(np.count_nonzero(self.traits.activity * most > 1.0))
        if busy:
            told = f"{busy:,} of {people.size:,} people come online for certain"
            yield f"population.activity.hours: {told} in the busiest hour, whose factor is {most:.3g}"
        capped = int(np.count_nonzero(self.network.state.t.rates >= CAPPED)) if self._has_rates else 0
        if capped and config.posts_per_session < MOST:
            yield (
                f"population.posts_per_session: {capped:,} of {people.size:,} people post {MOST:g} times in every "
                f"session, which is the most; the mean over people is still {config.posts_per_session:g}"
            )

    # Shards

    def ranges(self, shares: Sequence[float]) -> list[range]:
        """Return ranges of people, ascending, with about these shares of the work; together they are 1.

        Most work is for those who come online, and grows with what comes to them.
        """
        followees, size = self.network.state.t.ties.followees, len(self.people)
        come = np.minimum(followees.ends - followees.starts, self.config.feed.memory)
        sums = np.cumsum(self.traits.activity * (1.0 + come / 50.0) + _SESSION)
        ends = np.searchsorted(sums, sums[-1] * np.cumsum(shares[:-1])).tolist()
        return [range(start, stop) for start, stop in zip([0, *ends], [*ends, size], strict=True)]

    def keep(self, own: range, *, is_whole: bool) -> None:
        """Take the turns of these people only, from now on; a whole world counts for all, and writes things down."""
        # The rows of other people are released, but for how many posts they have made, by which posts get their names.
        t, fresh = self.network.state.t, dict[str, Any]()
        for name in _OF_PEOPLE:
            table = getattr(t, name)
            if len(table) == len(t.people):  # rings that the settings do not need have one row
                fresh[name] = np.zeros(table.shape, dtype=table.dtype)  # no memory is taken where nothing is written
                fresh[name][own.start : own.stop] = table[own.start : own.stop]
        authors = np.flatnonzero(t.people["made"])
        for name in ("made", "begun_in", "begun"):
            fresh["people"][name][authors] = t.people[name][authors]
        settings = t.settings._replace(low=own.start, high=own.stop)
        self.network.state.t = t._replace(settings=settings, **fresh)
        if not is_whole:
            self.network.is_written = False
            self.take_states()

    def acts(self, updates: Updates | None) -> Ints:
        """Return the acts of updates that are to be applied: a row each, first the person, in the order of people."""
        if updates is None:
            return np.zeros((0, 3), dtype=np.int64)
        kinds, people = self.kind_rows(updates.kinds), self.people
        may_act = (kinds[:, EFFECT] > 0) & (kinds[:, TARGET] != col.UNMOVED)
        places = may_act[updates.codes].nonzero()[0]
        places = places[people["silent"][updates.agents[places]] == 0]
        who = updates.agents[places]
        return np.column_stack((who, kinds[updates.codes[places], EFFECT], people["current"][who]))

    def carry_out(self, tick: int, acts: Ints) -> None:
        if len(acts):
            self.network.state.make_room(len(acts))
            post_kernel.act_all(self.network.state.held, acts, tick)
            self.network.take_in(tick, {})

    @property
    def has_changes(self) -> bool:
        """True if people change what those of other shards may read from the next tick on."""
        return bool(self.changing.rows)

    def take_changes(self) -> Floats:
        """Return the changes of the own people in the wave that was applied last, a row each, by person."""
        changes = [NO_CHANGES, *self.changing.latest]
        self.changing.latest.clear()
        return np.concatenate(changes)

    def put_changes(self, changes: Floats) -> None:
        self.changing.put(changes)

    def take_counts(self) -> Ints:
        return _taken(self.network.state.t.counts.feeds)

    def add_counts(self, counts: Ints) -> None:
        t = self.network.state.t
        t.counts.feeds[:] += counts
        steps = np.full(int(counts[col.BUILT]) + 1, t.settings.share)
        steps[0] = t.counts.share[0]
        t.counts.share[0] = np.add.accumulate(steps)[-1]  # one by one, as `build_feed` adds them

    def take_states(self) -> Ints:
        """Return what the own people have added to counts of states since the last call."""
        self.take_counts()
        return _taken(self.network.state.t.inside)

    def add_states(self, counts: Ints) -> None:
        self.network.state.t.inside[:] += counts


class SocialWave(Wave[PostView]):
    def __init__(self, world: SocialWorld, tick: int, agents: Ints, codes: Ints) -> None:
        super().__init__(tick, agents, world.triggers_known, codes)
        self._world = world

    def trigger(self, agent: int, name: str) -> Trigger[PostView]:
        return self._world.triggers_of(np.array([agent]), self.tick, [name])[0]

    def at(self, places: Ints) -> list[Trigger[PostView]]:
        names = map(self.names.__getitem__, self.codes[places].tolist())
        return self._world.triggers_of(self.agents[places], self.tick, [*names])

    def encoded(self) -> Encoded | None:
        return self._world.encoded(self.tick, self.agents, self.codes)


def _taken(counts: Ints) -> Ints:
    found = counts.copy()
    counts[:] = 0
    return found


def _number_in(names: list[str], name: str) -> int:
    """Return the place of a name, which is added if it is not there."""
    if name not in names:
        names.append(name)
    return names.index(name)
