"""A social simulation without actors: triggers, turns and updates by hand, with the embedded oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from actors.runtime.simulation import Simulation
from prism.agents import Decision, Question, Source, Trigger, Update, turn
from prism.columns import Columns
from prism.config import Config
from prism.social.chart import SOCIAL_BEHAVIOUR
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.social.posts.post import PostView
from prism.statechart import Behaviour
from tests.plain import plain_config
from tests.schedules import run_scheduled

SMALL = plain_config(
    simulation={"rounds": 6, "seed": 5},
    population={"size": 60, "posts_per_session": 0.5, "ambiguity": 0.3, "activity": {"mean": 0.8, "sigma": 0.3}},
    feed={"horizon_rounds": 20},
)
"""Sixty lively people for six rounds in which nothing is forgotten."""

Answer = Callable[[Question[PostView]], str] | None


class Run:
    """A domain, its people, and everything that has happened so far; `answer` settles questions, or the oracle does."""

    def __init__(
        self, config: Config = SMALL, answer: Answer = None, behaviour: Behaviour[Any] = SOCIAL_BEHAVIOUR
    ) -> None:
        self.config = config
        population = build_population(config.population, config.simulation.seed)
        self.domain = SocialDomain(config, population, behaviour)
        self.world = self.domain.world
        self.people = [self.domain.agent(number) for number in range(self.domain.size)]
        self.tick = 0
        self.triggers: list[list[Trigger[PostView]]] = []
        self.updates: list[Update[str]] = []
        self.questions: list[Question[PostView]] = []
        self._answer = answer
        self._oracle = self.domain.oracle()
        self._decided: dict[int, list[Trigger[PostView]]] = {}

    async def advance(self, ticks: int) -> Run:
        """Return this run after this many more ticks."""
        for _ in range(ticks):
            happening = self.world.triggers(self.tick)
            self.triggers.append([*happening])
            for trigger in sorted([*happening, *self._decided.pop(self.tick, ())], key=lambda each: each.agent):
                await self._take(turn(self.domain.chart, self.people[trigger.agent], trigger))
            assert not self.world.reactions(self.tick)
            self.tick += 1
        return self

    async def _take(self, answer: Update[Any] | Question[Any]) -> None:
        if isinstance(answer, Update):
            self.updates.append(answer)
            self.world.apply(answer)
            return
        self.questions.append(answer)
        self.world.deliberates(answer)
        options = [self.domain.behaviour.states(option) for option in answer.options]
        asker = self.domain.asker(answer)
        state = self._answer and self._answer(answer)
        chosen = state or await self._oracle.ask(asker, asker.state, answer.trigger, options, answer.context)
        due = answer.tick + self.config.deliberation_ticks
        decision = Decision(chosen, Source.ORACLE, answer.tick)
        decided = Trigger[PostView](due, answer.agent, answer.trigger, answer.context, decision)
        self._decided.setdefault(due, []).append(decided)


async def whole(config: Config = SMALL, answer: Answer = None, behaviour: Behaviour[Any] = SOCIAL_BEHAVIOUR) -> Run:
    """Return a run that has reached the end of its last round."""
    return await Run(config, answer, behaviour).advance(config.simulation.rounds * config.simulation.ticks_per_round)


def moves(updates: Sequence[Update[str]]) -> Counter[tuple[str, str]]:
    """Return the count of each trigger's answers from each state."""
    return Counter((update.from_state, update.trigger) for update in updates)


def with_deliberation(ticks: int, config: Config = SMALL) -> Config:
    people = msgspec.structs.replace(config.population, deliberation_minutes=float(ticks))
    return msgspec.structs.replace(config, population=people)


class Shown(NamedTuple):
    agent: int
    tick: int
    view: PostView


def shown(run: Run, name: str = "sees_post") -> list[Shown]:
    """Return the triggers of that name and the posts they came with."""
    return [
        Shown(trigger.agent, trigger.tick, trigger.context)
        for happening in run.triggers
        for trigger in happening
        if trigger.name == name and trigger.context is not None
    ]


def assert_goes_on(made: Callable[[], Simulation], every: int) -> Simulation:
    """Check that a simulation ends the same from any of its checkpoints, and return it."""

    async def ends() -> tuple[Simulation, list[Any]]:
        whole, kept = made(), list[Any]()

        async def take() -> None:
            if whole.engine.tick % every == every // 2:
                kept.append(await whole.checkpoint())

        await whole.run(between=take)
        found = [outcome_of(whole)]
        for state, pieces in kept:
            rest, columns = made(), Columns(pieces)
            rest.restore(state, columns)
            assert columns.unread == []
            await rest.run()
            found.append(outcome_of(rest))
        return whole, found

    whole, found = run_scheduled(0, ends)
    assert len(found) > 2
    assert [each for each in found if each != found[0]] == []
    return whole


def outcome_of(simulation: Simulation) -> tuple[Any, ...]:
    engine = simulation.engine
    return engine.digest.hexdigest(), engine.reactions.state()
