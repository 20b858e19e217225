"""People in shards put their questions to the one oracle of the run: it answers and refuses as for one process."""

from functools import partial
from typing import Any

import anyio
import msgspec
import pytest

from actors.core.messages import Decided, Retried
from actors.core.ports import Record
from actors.core.state import RunState
from actors.runtime.simulation import Simulation
from actors.testing import ScriptedModel
from prism.config import Config
from prism.llm import ChatRequest, Completion
from prism.rng import uniform
from prism.social.chart import SOCIAL_BEHAVIOUR
from prism.social.people.population import build_population
from tests.actors.runtime.test_compiled import random_chart
from tests.actors.runtime.test_shards import SHARDS, World, goes_on, outcome, settings_of
from tests.schedules import run_scheduled
from tests.standin.server import made_up
from tests.tiers import Size

pytestmark = pytest.mark.usefixtures("logged")

UNREADABLE, UNSURE = 0.1, 0.1
"""The shares of prompts to which the model says nothing: always, and the first time that it is asked."""


def says(request: ChatRequest) -> str:
    """Return an answer that follows from the prompt and its seed."""
    lot = uniform(7, request.seed, 0, 1_000_002)
    if lot < UNREADABLE or (lot < UNREADABLE + UNSURE and not request.attempt):
        return ""
    return made_up(msgspec.to_builtins(request.messages), request.seed, request.schema)


class SlowModel(ScriptedModel):
    """A model whose answers take a random virtual time, so that they come in any order."""

    def __init__(self, seed: int) -> None:
        super().__init__(says)
        self._seed = seed

    async def complete(self, request: ChatRequest) -> Completion:
        await anyio.sleep(20.0 * uniform(self._seed, request.seed, request.attempt, 1_000_000))
        return await super().complete(request)


class Kept(Record):
    """A record that keeps the answers, but for how long they took."""

    def __init__(self) -> None:
        self.answers: list[Any] = []

    async def keep(self, *records: bytes) -> None:
        for each in map(msgspec.msgpack.Decoder(Decided | Retried).decode, records):
            self.answers.append(msgspec.structs.replace(each, latency_s=0.0) if isinstance(each, Decided) else each)

    def log(self) -> list[Any]:
        """Return the answers in the order of questions; those of different ones come in any order."""
        return sorted(self.answers, key=lambda each: (each.asked, each.agent))


def asking_world(seed: int, deliberation: int = 0, **oracle: Any) -> World:
    """Return a small world whose undecided people ask a model, and deliberate for so many ticks."""
    settings = {"backend": "ollama", "deadline_s": 1e6, "max_attempts": 2, "max_fallback_share": 1.0, **oracle}
    made = settings_of(seed)
    people = {**made["population"], "size": 40, "ambiguity": 0.6, "deliberation_minutes": deliberation}
    config = msgspec.convert({**made, "population": people, "oracle": settings}, Config)
    behaviour = random_chart(seed) if seed % 2 else SOCIAL_BEHAVIOUR
    return World(config, behaviour, build_population(config.population, config.simulation.seed))


def asked(world: World, shards: int, schedule: int) -> tuple[object, ...]:
    """Return the outcome of a run in a schedule, with the answers in its log."""
    kept = Kept()

    async def run() -> tuple[object, ...]:
        return await outcome(await world.simulation(shards, model=SlowModel(schedule), record=kept))

    digest, totals, columns, state = run_scheduled(schedule, run)
    return digest, totals, columns, in_order(state), kept.log()


def in_order(state: Any) -> RunState:
    engine = msgspec.structs.replace(state.engine, decided=tuple(sorted(state.engine.decided)))
    oracle = msgspec.structs.replace(state.oracle, spent=tuple(sorted(state.oracle.spent, key=str)))
    found: RunState = msgspec.structs.replace(state, engine=engine, oracle=oracle)
    return found


def decided(outcome: tuple[Any, ...]) -> tuple[object, ...]:
    """Return the parts of an outcome that no order of answers changes.

    How often a question is asked that gets no usable answer depends on what others get meanwhile: if nobody gets one,
    it is an outage, and costs no attempt.
    """
    digest, totals, columns, state, log = outcome
    return (
        digest,
        totals,
        columns,
        state.engine,
        [(each.agent, each.asked, each.state) for each in log if isinstance(each, Decided)],
    )


def test_whatever_the_shards_and_the_order_of_answers_a_run_has_the_digest_and_the_answers_of_one_process(
    size: Size,
) -> None:
    reasons = set[str]()
    for seed in range(size(30, everyday=2)):
        world = asking_world(seed, (1, 4, 0)[seed % 3], max_concurrency=(16, 1, 3)[seed // 3 % 3])
        whole = asked(world, 0, schedule=seed)
        state: Any = whole[3]
        reasons |= {*state.engine.fallbacks}
        for shards in SHARDS[seed % 2 :: 2]:
            assert decided(asked(world, shards, schedule=seed + shards)) == decided(whole), (seed, shards)
    assert "invalid_response" in reasons


@pytest.mark.parametrize("limits", [{"rate_per_s": 5.0}, {"max_calls": 10, "when_spent": "fallback"}])
def test_limits_hold_for_the_embedded_choice_of_all_shards_together(limits: dict[str, Any]) -> None:
    world, free = asking_world(0, backend="choice", **limits), asking_world(0, backend="choice")

    async def run(world: World, shards: int) -> tuple[object, ...]:
        return await outcome(await world.simulation(shards))

    whole, divided = (run_scheduled(1, partial(run, world, shards)) for shards in (0, 3))
    assert divided == whole
    assert (whole[0] == run_scheduled(1, partial(run, free, 3))[0]) is ("rate_per_s" in limits)


def may_be_taken(run: Simulation) -> bool:
    """Return whether some questions have no answer yet, and others one that has not taken effect."""
    state = run.engine.state()
    return run.tick > 20 and len(state.asked) > len(state.decided) > 0


def test_a_run_goes_on_with_its_open_questions_in_another_number_of_shards(size: Size) -> None:
    for before, after in [(2, 3), (3, 0), (0, 2), (8, 1)][: size(4, everyday=1)]:
        world = asking_world(2, deliberation=4)
        run_scheduled(4, partial(goes_on, world, before, after, may_be_taken, SlowModel))
