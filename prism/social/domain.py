"""The social domain: people on a feed, their chart, their world and their oracle, from one configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from enum import StrEnum
from functools import cached_property, partial
from itertools import islice
from typing import Any, Final

import numpy as np
from msgspec.structs import force_setattr, replace

from prism.agents.social_agent import Draft, SocialAgent, relevance_of
from prism.agents.turn import Question
from prism.clock import SimulatedClock
from prism.columns import Ints
from prism.config import Config
from prism.config.attributes import TRAITS
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.interventions import placed_agents
from prism.domain import Reference
from prism.errors import ConfigError
from prism.events import NUMBER_BITS
from prism.expressions import Field, expression_of
from prism.llm.oracle import SocialModelOracle
from prism.llm.port import LanguageModel
from prism.no_effect import NoEffect
from prism.social.changing import ChangeReader, LiveAttributes, ReadChange
from prism.social.chart import SOCIAL_BEHAVIOUR, rows_with_functions, writing_states
from prism.social.choice import ChoiceOracle
from prism.social.no_effect import no_effect_before
from prism.social.people.persona import Intentions
from prism.social.people.population import JOINS_SHOWN, Population
from prism.social.posts.post import PostView
from prism.social.posts.post_file import post_lines
from prism.social.state import rows_of
from prism.social.ties.graph import graph_lines, shown
from prism.social.turns import SocialTurns, make_ready
from prism.social.vocabulary import question_fields
from prism.social.world import SocialWorld
from prism.statechart import AgentState, Behaviour, Oracle, Statechart
from prism.statechart.behaviour import Reader

CHECKPOINT_TICKS, CHECKPOINT_PERSON_TICKS = 500, 10_000_000
"""The most ticks between two checkpoints, and the ticks times people: of a million people every tenth tick, so that a
run which is killed, or ended within a tick that takes too long, does only minutes of work again."""
HISTORY_DEPTH = 50
HISTORY_MAX_POPULATION = 10_000
"""The most people with histories, unless the configuration asks for them: 50 transitions take about 10 KB a person."""

_OF_TERMS: Final[Mapping[str, str]] = {
    "topic": "post.topic_match",
    "tie": "post.followed",
    "activity": "agent.activity",
    **{name: f"post.{name}" for name in ("popularity", "fatigue", "quality")},
    "exposure": "post.exposures",
    **{trait: f"agent.{trait}" for trait in TRAITS},
}
"""`{coefficient of the embedded choice: the field that it weights}`."""

_UNSEEN: Final = frozenset(
    {
        *(f"post.{name}" for name in ("relevance", "appeal", "quality", "fatigue", "exposures")),
        *("agent.activity", "agent.low_threshold", "agent.high_threshold", "agent.engagement_threshold"),
        *("agent.timeout_threshold", "agent.ticks_in_state", "agent.pending_action"),
        *(f"agent.{trait}" for trait in TRAITS),
    }
)
"""Fields that no prompt states: a model cannot answer by them."""


class SocialDomain:
    """People on a social feed.

    Args:
        chart: the people's chart: a behaviour, as a chart file describes it, or a chart over the same states and
            triggers as the default one.
        embedded: the embedded oracle; by default the choice of the configuration.
        looks: make the world when it is first asked for.

    Raises:
        StatechartError: people cannot live by the chart on a feed.
        ConfigError: an intervention names a person who does not exist.
    """

    effect_type: Any = str | Draft

    def __init__(
        self,
        config: Config,
        population: Population,
        chart: Statechart[AgentState] | Behaviour[Any] = SOCIAL_BEHAVIOUR,
        embedded: ChoiceOracle | None = None,
        *,
        looks: bool = False,
    ) -> None:
        _check_interventions(config, population)
        self.config, self.population = config, population
        self.checkpoint_every_ticks = min(CHECKPOINT_TICKS, max(10, CHECKPOINT_PERSON_TICKS // max(1, population.size)))
        self.behaviour = chart if isinstance(chart, Behaviour) else replace(SOCIAL_BEHAVIOUR, chart=chart)
        self.chart: Statechart[Any] = self.behaviour.chart
        self._draws, self._is_ready = config.simulation.seed, False
        states, own = self.behaviour.states, {"__slots__": (), "states": self.behaviour.states}
        self._person_type: type[SocialAgent] = (
            SocialAgent if states is AgentState else type("SocialAgent", (SocialAgent,), own)
        )
        self._told = {
            name: declared.label(name) for name, declared in config.population.attributes.items() if declared.prompt
        }
        self._embedded = embedded or ChoiceOracle(config.oracle.choice, config.simulation.seed, self.behaviour)
        self._intentions = Intentions(config.population.intentions)
        self._clock = SimulatedClock(config.simulation.epoch, config.simulation.tick_seconds)
        depth = config.statechart.max_history_depth
        if depth is None:  # only functions can read the history of a person in a run
            depth = HISTORY_DEPTH if self.size <= HISTORY_MAX_POPULATION and self.one_by_one() else 0
        self._history_depth = depth
        if not looks:
            _ = self.world

    @cached_property
    def world(self) -> SocialWorld:
        world = SocialWorld(self.config, self.population, self.behaviour)
        self._embedded.people = world.traits
        return world

    @property
    def context_type(self) -> Any:
        return self.world.network.view_type

    @property
    def size(self) -> int:
        return self.population.size

    @property
    def understood(self) -> tuple[str, ...]:
        people = self.population
        graph = graph_lines(self.config.population.graph.path, people.graph)
        alike = () if people.homophily is None else (str(people.homophily),)
        posts = post_lines(self.config.population.posts.file, people.posts, self.config.population.topics)
        margins = () if people.margins is None else people.margins.lines
        named = [
            f"{place} {agent} is {shown(people.name(people.number(agent)))}"
            for place, agent in islice(placed_agents(self.config.interventions), JOINS_SHOWN)
            if people.ids
        ]
        of_interventions = (f"first people of interventions: {', '.join(named)}",) if named else ()
        return (*people.understood, *graph, *people.joins, *margins, *alike, *posts, *of_interventions)

    def notes(self) -> list[str]:
        return [*self.world.capped()]

    def no_effect(self) -> list[NoEffect]:
        return no_effect_before(self.config, self.behaviour)

    def one_by_one(self) -> list[str]:
        return rows_with_functions(self.chart)

    def anew(self, draws: int) -> SocialDomain:
        embedded = copy(self._embedded)
        embedded.begin(draws)
        fresh = SocialDomain(self.config, self.population, self.behaviour, embedded)
        fresh._draws = draws
        fresh.world.network.state.draw_from(draws)
        return fresh

    def ties(self) -> tuple[Ints, Ints]:
        followees = self.world.network.state.t.ties.followees
        rows = rows_of(followees, np.flatnonzero(followees.ends > followees.starts))
        return np.repeat(rows.keys, rows.lengths), rows.values

    def withhold(self, post: int) -> None:
        self.world.people["withheld"][post >> NUMBER_BITS] = 1 + post % (1 << NUMBER_BITS)

    def prepare(self, agent_ticks: int) -> None:
        if not self._is_ready:
            self._is_ready = True
            make_ready(agent_ticks)
            self.world.prepare()

    def again(self) -> Callable[[], SocialDomain]:
        return partial(SocialDomain, self.config, self.population, self.behaviour)

    def shard(self) -> SocialWorld:
        return self.world

    def turns(self, *, asks: bool) -> SocialTurns:
        return SocialTurns(self.world, self.chart, self.config.population.intentions, asks=asks)

    def agent(self, agent_id: int) -> SocialAgent:
        return self._person(agent_id, self.world.state(agent_id), int(self.world.people["entered"][agent_id]))

    def asker(self, question: Question[PostView]) -> SocialAgent:
        person = self._person(question.agent, self.behaviour.states(question.state), question.tick)
        if self.world.changing.rows:  # an explanation reads them when the run has gone on
            force_setattr(person.persona, "attributes", dict(person.persona.attributes))
        return person

    def reference(self, question: Question[PostView]) -> Reference:
        view = question.context
        relevance = None if view is None else relevance_of(view, self.config.population.relevance)
        person, options = self.asker(question), [self.behaviour.states(option) for option in question.options]
        return Reference(relevance, self._embedded.distribution(person, person.state, question.trigger, options, view))

    def changes(self, agent_id: int, tick: int, trigger: str) -> dict[str, tuple[ReadChange, ...]]:
        if not self.world.changing.rows:
            return {}
        person = self.agent(agent_id)
        person.tick = tick
        return self._reader.read(trigger, person, self.world.view(agent_id, tick))

    @cached_property
    def _reader(self) -> ChangeReader:
        return ChangeReader(self.behaviour, self.config.population)

    @property
    def fields(self) -> SocialDomain:
        return self

    def question_fields(self) -> dict[str, tuple[Field, Reader]]:
        return question_fields(self.config)

    def default_fields(self) -> list[str]:
        """Return the fields of the embedded choice's terms, and of guards, as far as the oracle may judge by them."""
        weights = self.config.oracle.choice
        terms = [name for coefficient, name in _OF_TERMS.items() if getattr(weights, coefficient)]
        terms += [f"agent.{name}" for name in weights.attributes]
        stated = {*terms}
        if self.config.oracle.backend != "choice":
            untold = {f"agent.{name}" for name, each in self.config.population.attributes.items() if not each.prompt}
            stated = {*question_fields(self.config)} - _UNSEEN - untold
        guards = [expression_of(row.guard) for row in self.chart.transitions]
        of_guards = [name for each in guards if each is not None for name in each.fields]
        return [name for name in dict.fromkeys([*terms, *of_guards]) if name in stated]

    def oracle(self, model: LanguageModel | None = None) -> Oracle[Any]:
        if model is not None:
            return SocialModelOracle(
                model,
                self.config.llm,
                self.config.simulation.seed,
                chart=self.chart,
                descriptions=self.behaviour.descriptions,
                writers=writing_states(self.behaviour) if self.config.llm.writes else (),
                tick_s=self.config.simulation.tick_seconds,
            )
        return self._embedded

    def _person(self, agent_id: int, state: StrEnum, tick: int) -> SocialAgent:
        persona, changing = self.population.personas[agent_id], self.world.changing
        if changing.rows or changing.stayed:  # the attributes that change are as they are whenever they are read
            persona = copy(persona)
            force_setattr(persona, "attributes", LiveAttributes(persona.attributes, changing, agent_id))
        return self._person_type(
            agent_id,
            persona=persona,
            timeout_threshold=self.config.statechart.default_timeout_ticks,
            pending_action=self.world.pending(agent_id),
            seed=self._draws,
            told=self._told,
            intentions=self._intentions,
            weights=self.config.population.relevance,
            state=state,  # type: ignore[arg-type]  # of the type that this class of people takes
            tick=tick,
            max_history_depth=self._history_depth,
            clock=self._clock,
        )


def _check_interventions(config: Config, population: Population) -> None:
    """Refuse interventions on people that do not exist, and with posts that their author may not publish."""
    for place, agent in placed_agents(config.interventions):
        try:
            population.number(agent)
        except LookupError as error:
            raise ConfigError("configuration", str(error.args[0]), key=place) from None
    owners = population.owners  # the person who alone may publish each post; below 0 if any person may
    for index, each in enumerate(config.interventions):
        if each.publish is not None and (number := each.publish.post) is not None:
            key, author, problem = f"{INTERVENTIONS}[{index}].publish.post", each.publish.author, ""
            if number > len(owners):
                problem = f"expected the number of one of {len(owners):,} posts of population.posts.file, got {number}"
            elif int(owners[number - 1]) not in {population.number(author), -1}:
                problem = f"expected a post that {author} may publish, got {number}, which is somebody else's"
            if problem:
                raise ConfigError("configuration", problem, key=key)
