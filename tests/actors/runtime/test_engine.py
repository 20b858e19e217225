from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import anyio
import pytest

from actors.core.errors import ActorError, MailboxClosedError, first_error
from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from actors.core.ports import Record
from actors.runtime.activation import Resident
from actors.runtime.counters import Counters
from actors.runtime.engine import EngineActor
from actors.runtime.simulation import Simulation
from actors.runtime.supervisor import Supervisor
from prism.agents import Question, StatefulAgent, Trigger, Update
from prism.config import Config, OracleConfig, PopulationConfig, RunConfig, SimulationConfig
from tests.actors.oracles import ScriptedOracle, after, never
from tests.actors.traffic_lights import CrossingRun, config
from tests.domains import Crossing, Light, TrafficDomain, traffic_chart
from tests.schedules import in_schedules

pytestmark = pytest.mark.usefixtures("logged")


class Engine:
    """An engine with mailboxes whose agents and oracle the test plays itself."""

    def __init__(self, lights: int, world: Crossing | None = None) -> None:
        self.world = world or Crossing(lights)
        self.codec = Codec(int, int)
        self.inbox: Mailbox[bytes] = Mailbox("engine", 8)
        supervisor = Supervisor(TrafficDomain(lights), self.codec, self.inbox, 0, 1)
        resident = Resident(self.codec, supervisor, capacity=1)
        self.agents = resident.mailboxes
        self.oracle: Mailbox[bytes] = Mailbox("oracle", 1)
        self.counters = Counters(traffic_chart(), lights)
        self.actor = EngineActor(self.world, self.codec, resident, self.oracle, config=config(), counters=self.counters)

    async def trigger(self, agent: int) -> Trigger[int]:
        await self.agents[agent]
        encoded = self.agents[agent].take()
        assert encoded is not None
        trigger: Trigger[int] = self.codec.trigger(encoded)
        return trigger

    def answer(self, answer: Update[int] | Question[int]) -> None:
        assert self.inbox.put(self.codec.encode(answer))


@in_schedules(30)
async def test_a_tick_is_committed_when_all_have_answered_in_the_order_of_agents_whatever_order_they_come_in() -> None:
    engine, committed = Engine(4), list[int]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.actor.run, 1, committed.append)
        for agent in (2, 0, 3, 1):
            trigger = await engine.trigger(agent)
            await anyio.sleep(60)
            assert (committed, engine.world.updates) == ([], [])
            engine.answer(Update(trigger.tick, agent, trigger.name, "red", "green", "rule", 5))
    assert [update.agent for update in engine.world.updates] == [0, 1, 2, 3]
    assert committed == [1]


@in_schedules(10)
async def test_a_trigger_for_an_agent_that_takes_no_more_is_an_error_and_no_hang() -> None:
    engine = Engine(1)
    engine.agents[0].close()
    with pytest.raises(MailboxClosedError, match="'agent 0' is closed"):
        await engine.actor.run(1)


class Restless(Crossing):
    """A world that sends triggers also to lights that deliberate."""

    def deliberates(self, question: Question[int]) -> None:
        """Note nothing."""


@in_schedules(10)
async def test_a_world_that_does_not_let_an_agent_deliberate_ends_with_an_error_that_says_so() -> None:
    domain = TrafficDomain(1)
    domain.world = Restless(1)
    with pytest.raises(ExceptionGroup) as raised:
        await CrossingRun(config(ticks=8, lookahead=3), domain).run()
    said = "agent 0 asked a question in tick 3, and its question of tick 2 has no decision yet"
    assert str(first_error(raised.value, ActorError)).startswith(said)


@in_schedules(20)
@pytest.mark.parametrize("lookahead", [0, 1, 5])
async def test_a_decision_takes_effect_as_many_ticks_after_its_question_as_configured(lookahead: int) -> None:
    run = await CrossingRun(config(ticks=12, lookahead=lookahead), TrafficDomain(1)).run()
    assert run.story(0)[:4] == [
        (0, "green", "rule"),
        (1, "amber", "rule"),
        (2 + lookahead, "green", "oracle"),
        (3 + lookahead, "amber", "rule"),
    ]


@in_schedules(20)
async def test_the_clock_goes_on_while_an_agent_deliberates_and_waits_only_for_a_late_answer() -> None:
    times: list[float] = [0.0]
    run = CrossingRun(config(ticks=8, lookahead=3), TrafficDomain(1), ScriptedOracle(after(10.0)))
    await run.simulation.run(lambda _: times.append(anyio.current_time()))
    assert [times[tick] for tick in (3, 5, 6)] == [0.0, 0.0, 10.0]


@in_schedules(20)
async def test_in_real_time_the_clock_does_not_wait_and_records_what_is_late() -> None:
    settings = Config(
        simulation=SimulationConfig(rounds=1, ticks_per_round=6),
        population=PopulationConfig(deliberation_minutes=2.0),
        oracle=OracleConfig(mode="realtime", deadline_s=100.0),
        run=RunConfig(tick_s=1.0),
    )
    run = await CrossingRun(settings, TrafficDomain(1), ScriptedOracle(never)).run()
    assert run.story(0)[2:] == [(4, "red", "timeout"), (5, "green", "rule")]
    assert run.updates(0)[2].reason == "late"
    assert (run.simulation.engine.open_questions.late, anyio.current_time()) == (1, 6.0)


@in_schedules(20)
async def test_questions_that_the_oracles_full_mailbox_refuses_are_asked_later() -> None:
    settings = Config(
        simulation=SimulationConfig(rounds=1, ticks_per_round=8),
        population=PopulationConfig(deliberation_minutes=1.0),
        oracle=OracleConfig(queue_size=1, max_concurrency=1),
        run=RunConfig(mailbox_capacity=1),
    )
    run = await CrossingRun(settings, TrafficDomain(20), ScriptedOracle(after(0.5))).run()
    assert [run.story(light) for light in range(20)] == [run.story(0)] * 20
    assert run.story(0)[2] == (3, "green", "oracle")


class Past(Record):
    """The first five ticks were run before."""

    def is_recorded(self, tick: int) -> bool:
        return tick < 5


@in_schedules(10)
async def test_a_stop_waits_until_what_was_run_before_is_done_again_and_only_new_ticks_are_paced() -> None:
    stopped, begun = Simulation(config(ticks=12), TrafficDomain(), record=Past()), anyio.current_time()
    stopped.stop()
    await stopped.run()
    assert stopped.engine.tick == 5
    await Simulation(config(ticks=8, tick_s=2), TrafficDomain(), record=Past()).run()
    assert anyio.current_time() - begun == pytest.approx(3 * 2.0)


@in_schedules(10)
async def test_after_a_stall_no_two_ticks_begin_within_less_than_the_pace() -> None:
    """A tick a second, of a run whose oracle takes 3.5 s once and then answers at once."""
    slow = iter((3.5,))
    begun: list[float] = []

    class TimedCrossing(Crossing):
        def triggers(self, tick: int) -> list[Trigger[int]]:
            begun.append(anyio.current_time())
            return super().triggers(tick)

    async def stalls_once(_: StatefulAgent[Any], options: Sequence[Light]) -> Light:
        await anyio.sleep(next(slow, 0.0))
        return options[0]

    domain = TrafficDomain(1)
    domain.world = TimedCrossing(1)
    settings = config(ticks=10, lookahead=1, tick_s=1.0)
    await Simulation(settings, domain, ScriptedOracle(stalls_once)).run()
    waits = [round(after - before, 6) for before, after in pairwise(begun)]
    stalled = waits.index(2.5)
    assert waits == [*[1.0] * stalled, 2.5, *[1.0] * (8 - stalled)]
