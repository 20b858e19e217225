import anyio
import msgspec
import pytest
from structlog.typing import EventDict

from actors.core.errors import ActorError, MailboxClosedError
from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from actors.runtime.supervisor import Supervisor
from prism.agents import Trigger, Update
from prism.errors import OracleUnavailableError
from tests.actors.traffic_lights import CrossingRun, config, faulty, with_faulty_action
from tests.domains import Crossing, TrafficDomain, TrafficLight, traffic_chart
from tests.schedules import in_schedules, run_scheduled

pytestmark = pytest.mark.usefixtures("logged")


def in_tick_1(light: TrafficLight) -> bool:
    return light.agent_id == 1 and light.tick == 1


def always(light: TrafficLight) -> bool:
    return light.agent_id == 1


class Deaf(Crossing):
    """A world that goes on sending to lights that are out of order."""

    def apply(self, update: Update[int]) -> None:
        super().apply(update)
        self.away.pop(update.agent, None)


@in_schedules(20)
async def test_a_guard_that_raises_is_false_and_crashes_nobody() -> None:
    domain = TrafficDomain(3, traffic_chart(guard=faulty(lambda light: light.agent_id == 1)))
    run = await CrossingRun(config(ticks=4), domain).run()
    assert run.story(1) == [(tick, "red", "no_row") for tick in range(4)]
    assert run.story(0)[0] == (0, "green", "rule")
    assert [seen.count for seen in domain.chart.guard_errors] == [4]
    assert run.simulation.supervisor.crashes == 0


@in_schedules(20)
async def test_an_action_that_raises_is_a_recorded_no_op_and_the_agent_goes_on_from_where_it_was() -> None:
    run = await CrossingRun(config(ticks=5), with_faulty_action(in_tick_1)).run()
    assert run.story(1)[:3] == [(0, "green", "rule"), (1, "green", "crash"), (2, "amber", "rule")]
    assert run.updates(1)[1].reason == "FaultError"
    assert run.story(0) == run.story(2)


@in_schedules(20)
async def test_an_agent_that_crashes_too_often_is_quarantined_and_the_others_go_on() -> None:
    run = await CrossingRun(config(ticks=9, restart_intensity=2), with_faulty_action(always)).run()
    assert run.story(1) == [(0, "red", "crash"), (1, "red", "crash"), (2, "red", "quarantine")]
    assert run.story(0)[-1][0] >= 7
    assert run.simulation.supervisor.quarantined == run.simulation.progress().quarantined == 1


@in_schedules(20)
@pytest.mark.parametrize("lookahead", [0, 1, 3])
async def test_a_crash_on_a_decision_is_a_recorded_no_op_and_the_question_is_asked_anew(lookahead: int) -> None:
    decided = 2 + lookahead
    domain = with_faulty_action(lambda light: light.agent_id == 1 and light.tick == decided)
    run = await CrossingRun(config(ticks=12, lookahead=lookahead), domain).run()
    assert run.story(1)[2:4] == [(decided, "amber", "crash"), (decided + 1 + lookahead, "green", "oracle")]
    assert run.story(0)[2] == (decided, "green", "oracle")


def test_what_an_error_says_is_logged_and_not_recorded_because_it_may_differ_from_process_to_process() -> None:
    async def digest() -> str:
        def act(light: TrafficLight, context: object) -> None:
            raise KeyError(object(), "\ud800")

        return (await CrossingRun(domain=TrafficDomain(2, traffic_chart(action=act))).run()).digest

    assert run_scheduled(0, digest) == run_scheduled(0, digest)


@in_schedules(10)
async def test_a_world_that_sends_to_a_quarantined_agent_is_an_error_and_no_hang() -> None:
    domain = with_faulty_action(always)
    domain.world = Deaf(3)
    with pytest.raises(ExceptionGroup) as caught:
        await CrossingRun(config(restart_intensity=0), domain).run()
    assert caught.group_contains(MailboxClosedError, match="'agent 1' is closed", depth=2)


@in_schedules(10)
async def test_an_agent_that_cannot_read_a_message_answers_nothing_twice() -> None:
    codec, inbox = Codec(int, int), Mailbox[bytes]("agent", 5)
    supervisor = Supervisor(TrafficDomain(), codec, Mailbox("engine", 5), 3, 10)
    inbox.put(codec.encode(Trigger(0, 0, "clock", 0)))
    inbox.put(b"not a message")
    with pytest.raises(msgspec.DecodeError):
        await supervisor.run_agent(0, inbox)
    assert supervisor.engine.statistics().accepted == 1


class Service:
    """Crashes as often as it is told to, and then ends."""

    def __init__(self, crashes: int, error: Exception) -> None:
        self.crashes, self.error, self.runs = crashes, error, 0

    async def run(self) -> None:
        self.runs += 1
        await anyio.lowlevel.checkpoint()
        if self.runs <= self.crashes:
            raise self.error


async def test_a_service_is_run_again_unless_it_crashes_too_often_or_has_nobody_to_ask(logged: list[EventDict]) -> None:
    def supervisor() -> Supervisor:
        return Supervisor(TrafficDomain(), Codec(int, int), Mailbox("engine", 5), 2, 100)

    service = Service(crashes=2, error=ValueError("x"))
    await supervisor().run_service("oracle", service.run, lambda: 0)
    assert service.runs == 3
    assert [event["event"] for event in logged] == ["actor_restarted"] * 2
    service = Service(crashes=9, error=ValueError("x"))
    with pytest.raises(ActorError, match="'oracle' crashed 3 times within 100 ticks, last with ValueError: x"):
        await supervisor().run_service("oracle", service.run, lambda: 0)
    assert service.runs == 3
    service = Service(crashes=1, error=OracleUnavailableError("no backend"))
    with pytest.raises(OracleUnavailableError):
        await supervisor().run_service("oracle", service.run, lambda: 0)
    assert service.runs == 1
