"""Waves of a tick, and ticks that run in one call of a kernel, beside the same ticks one by one."""

import asyncio
from collections.abc import Iterator
from enum import StrEnum, unique
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from structlog.typing import EventDict

from actors import resume, run
from actors.factory.config_file import read_settings
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from actors.store.journal import JOURNAL
from prism.agents import Question, StatefulAgent, Trigger, Update
from prism.columns import Column, Columns, pack
from prism.config import Config, OracleConfig, PopulationConfig, SimulationConfig
from prism.domain import World
from prism.errors import OracleFailedError
from prism.llm.port import LanguageModel
from prism.rng import uniform
from prism.statechart import Answer, Oracle, Statechart, Transition
from tests.schedules import in_schedules, run_scheduled
from tests.tiers import Size


@unique
class Bid(StrEnum):
    IDLE = "idle"
    OFFERED = "offered"


class Bidder(StatefulAgent[Bid]):
    """Offers what the oracle says, and pays the price at which it is told to."""

    states: ClassVar[type[Bid]] = Bid
    open_triggers = frozenset({"bid"})

    def __init__(self, agent_id: int, state: Bid, *, tick: int = 0) -> None:
        super().__init__(agent_id, state, tick=tick, max_history_depth=0)
        self.said = ""

    def answered(self, trigger: str, content: str) -> None:
        self.said = f"{trigger} {content}"

    def effect(self) -> str:
        return self.said


def note(bidder: Bidder, context: Any) -> None:
    """There is something to tell."""


CHART = Statechart(
    states=Bid,
    initial=Bid.IDLE,
    transitions=(
        Transition("bid", Bid.IDLE, Bid.OFFERED, lambda *_: True, note, oracle=True),
        Transition("pay", Bid.OFFERED, Bid.IDLE, action=note),
    ),
)


class Auction(World):
    """All bid at once, then pay one after the other, each one more than the one before."""

    def __init__(self, size: int) -> None:
        self.states = [Bid.IDLE] * size
        self.price = 0
        self.log: list[tuple[int, int, str, object]] = []

    def triggers(self, tick: int) -> list[Trigger[int]]:
        return [Trigger(tick, agent, "bid", self.price) for agent in range(len(self.states))]

    def reactions(self, tick: int) -> list[Trigger[int]]:
        offers = [agent for agent, state in enumerate(self.states) if state is Bid.OFFERED]
        return [Trigger(tick, offers[0], "pay", self.price)] if offers else []

    def apply(self, update: Update[str]) -> None:
        self.states[update.agent] = Bid(update.to_state)
        self.price += update.trigger == "pay"
        self.log.append((update.tick, update.agent, update.trigger, update.effect))

    def deliberates(self, question: Question[int]) -> None:
        """Nobody is away for longer than the tick."""

    def totals(self) -> dict[str, Any]:
        return {"price": self.price}

    def columns(self) -> Iterator[Column]:
        yield from pack("states", self.states)

    def restore(self, columns: Columns) -> None:
        self.states = columns.values("states", Bid)


class Broker(Oracle[Bid]):
    """Names a price, after a while; fails in the tick it is told to."""

    falls_back = False

    def __init__(self, fails_in: int = -1) -> None:
        self._fails_in = fails_in

    async def ask(self, agent: Any, current_state: Bid, trigger: str, options: Any, context: Any = None) -> Bid:
        return (await self.answer(agent, current_state, trigger, options, context)).state  # type: ignore[return-value]

    async def answer(self, agent: Any, current_state: Bid, trigger: str, options: Any, context: Any = None) -> Answer:
        await anyio.sleep(uniform(1, agent.agent_id, agent.tick, 99))
        if agent.tick == self._fails_in and agent.agent_id == 1:
            raise TimeoutError
        return Answer(options[0], f"{agent.agent_id} at {context}")


class AuctionDomain:
    context_type: Any = int
    effect_type: Any = str
    chart = CHART
    checkpoint_every_ticks = 1

    def __init__(self, oracle: Broker, size: int = 3) -> None:
        self.size = size
        self.world = Auction(size)
        self._oracle = oracle

    def agent(self, agent_id: int) -> Bidder:
        return Bidder(agent_id, self.world.states[agent_id])

    def asker(self, question: Question[int]) -> Bidder:
        return Bidder(question.agent, Bid(question.state), tick=question.tick)

    def oracle(self, model: LanguageModel | None = None) -> Oracle[Bid]:
        return self._oracle


def auction(ticks: int = 2, oracle: Broker | None = None, **settings: Any) -> Simulation:
    config = Config(
        simulation=SimulationConfig(rounds=ticks, ticks_per_round=4, ticks=ticks),
        population=PopulationConfig(deliberation_minutes=0.0),
        oracle=OracleConfig(**settings),
    )
    return Simulation(config, AuctionDomain(oracle or Broker()))


@in_schedules(30)
async def test_a_tick_goes_on_until_there_are_no_reactions_each_after_the_one_before_is_applied() -> None:
    done = auction()
    await done.run()
    pays = [(0, 0, "pay"), (0, 1, "pay"), (0, 2, "pay"), (1, 0, "pay"), (1, 1, "pay"), (1, 2, "pay")]
    assert [entry[:3] for entry in done.domain.world.log if entry[2] == "pay"] == pays  # type: ignore[attr-defined]
    assert done.domain.world.totals() == {"price": 6}
    assert done.counters.activations == 12


@in_schedules(30)
async def test_what_an_answer_says_beyond_the_option_reaches_the_agent_and_its_update() -> None:
    done = auction(ticks=1)
    await done.run()
    bids = [entry for entry in done.domain.world.log if entry[2] == "bid"]  # type: ignore[attr-defined]
    assert bids == [(0, agent, "bid", f"bid {agent} at 0") for agent in range(3)]


def test_waves_come_out_the_same_in_every_schedule(size: Size) -> None:
    async def digest() -> str:
        done = auction(ticks=4)
        await done.run()
        return done.engine.digest.hexdigest()

    assert len({run_scheduled(seed, digest) for seed in range(size(50, everyday=6))}) == 1


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({}, "timeout"), ({"deadline_s": 1e-6}, "deadline"), ({"max_calls": 4, "when_spent": "fallback"}, "spent")],
)
def test_without_an_answer_the_run_ends_where_there_is_no_doing_without(
    settings: dict[str, Any], reason: str, logged: list[EventDict]
) -> None:
    failed = auction(oracle=Broker(fails_in=1), **settings)

    async def run() -> OracleFailedError:
        with pytest.raises(ExceptionGroup) as caught:
            await failed.run()
        error: BaseException = caught.value
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        assert isinstance(error, OracleFailedError)
        return error

    error = run_scheduled(3, run)
    assert error.failure == reason
    assert failed.engine.tick == (0 if reason == "deadline" else 1)
    assert f"in tick {failed.engine.tick}: {reason}" in str(error)
    assert {event["event"] for event in logged} <= {"spend_warning"}


class Run:
    """A run at once, and how many of its ticks ran in how many calls."""

    def __init__(self, *settings: str, one_by_one: bool = False) -> None:
        config = read_settings(["run.activation=compiled", "population.size=120", "simulation.rounds=4", *settings])
        self.simulation = Simulation(config, build_domain(config).domain)
        self.together: list[int] = []
        stretch = self.simulation.engine._stretch_of

        def counted(*given: Any) -> Any:
            found = None if one_by_one else stretch(*given)
            if found is not None:
                self.together.append(found.ticks)
            return found

        self.simulation.engine._stretch_of = counted
        ticks: list[int] = []
        asyncio.run(self.simulation.run(ticks.append, every=config.simulation.ticks_per_round))
        assert ticks == [*range(1, self.simulation.ticks + 1)]

    def outcome(self) -> tuple[Any, ...]:
        """Return all that a run comes to, but for times."""
        engine, counters = self.simulation.engine, self.simulation.counters
        return (
            engine.digest.hexdigest(),
            dict(counters.rows),
            (counters.activations, counters.questions),
            engine.open_questions.asked(),
            (self.simulation.oracle.statistics.answered, self.simulation.oracle.statistics.calls),
            self.simulation.domain.world.totals(),
            [*self.simulation.domain.world.columns()],
        )


SETTINGS = [
    (),
    ("population.deliberation_minutes=0",),
    ("feed.exposure=complex", "oracle.choice.exposure=0.3", "population.relevance.exposure=0.2"),
    ("population.deliberation_minutes=9", "population.ambiguity=0.6", "population.quality_sigma=0.8"),
    ("population.quality_sigma=0.8", "population.posts_by_followers=0.5"),
    ("feed.algorithm=chronological", "simulation.seed=7", "population.activity.mean=0.9"),
    ("simulation.tick_seconds=600", "population.ambiguity=0.9"),
]


def test_ticks_together_come_to_what_they_come_to_one_by_one(size: Size) -> None:
    for settings in SETTINGS[: size(len(SETTINGS), everyday=4)]:
        one_by_one, together = Run(*settings, one_by_one=True), Run(*settings)
        assert together.outcome() == one_by_one.outcome(), settings
        assert max(together.together) > 4
        assert sum(together.together) > together.simulation.ticks // 2


@pytest.mark.parametrize(
    "settings",
    [
        ("run.record_feeds=true",),
        ("run.tick_s=0.001", "simulation.rounds=1"),
        ("oracle.max_calls=5", "oracle.when_spent=fallback"),
        ('interventions=[{round: 1, publish: {author: 3, text: "Hear, hear", topics: [science]}}]',),
    ],
)
def test_a_run_that_must_be_seen_tick_by_tick_is(settings: tuple[str, ...]) -> None:
    run = Run(*settings)
    assert sum(run.together) < run.simulation.ticks // 2
    assert run.outcome()[0] == Run(*settings, one_by_one=True).outcome()[0]


def test_a_run_whose_people_deliberate_is_resumed_in_any_tick(tmp_path: Path) -> None:
    config = read_settings(
        ["run.activation=compiled", "population.size=80", "simulation.rounds=2", "population.ambiguity=0.7"]
    )
    whole = run(config, out=tmp_path / "whole")
    for ticks in (1, 24):
        run(config, out=tmp_path / str(ticks), ticks=ticks)
        assert resume(tmp_path / str(ticks), ticks=config.simulation.length).digest == whole.digest
        assert (tmp_path / str(ticks) / JOURNAL).read_bytes() == (tmp_path / "whole" / JOURNAL).read_bytes()
