"""Several servers of one model in virtual time: shares, hosts that are away or slow, and hosts that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import anyio
import msgspec
import pytest
from structlog.typing import EventDict

from actors.oracle.circuit_breaker import FIRST_HOLD_S
from actors.oracle.host_pool import OPENS_AFTER, Host, HostPool
from prism.errors import OracleUnavailableError
from prism.llm import ChatRequest, ChoiceRequest, Completion, Distribution, Health, Identity, LLMFailureException
from prism.llm import Message as ChatMessage
from tests.schedules import in_schedules

pytestmark = pytest.mark.usefixtures("logged")

QUESTION = ChatRequest(messages=(ChatMessage(role="user", content="Which?"),))
IDENTITY = Identity(backend="ollama", model="llama", dialect="format", options={})
Fault = Callable[[float], LLMFailureException | None]
"""The time -> the failure of a call, or None."""


def never(_: float) -> LLMFailureException | None:
    return None


def away(begin: float, end: float, reason: str = "connection_error") -> Fault:
    return lambda now: LLMFailureException(reason) if begin <= now < end else None  # type: ignore[arg-type]


class Server:
    """A model whose calls take some time, and fail as told."""

    name = "ollama llama"

    def __init__(self, fault: Fault = never, *, takes_s: float = 0.1, note: str = "") -> None:
        self.identity = IDENTITY
        self.fault = fault
        self.takes_s = takes_s
        self.note = note
        self.asked: list[float] = []
        self.in_flight = self.most = 0

    async def complete(self, request: ChatRequest) -> Completion:
        self.asked.append(anyio.current_time())
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            if (failure := self.fault(anyio.current_time())) is not None:
                await anyio.sleep(0.001)
                raise failure
            await anyio.sleep(self.takes_s)
        finally:
            self.in_flight -= 1
        return Completion(
            text=request.messages[0].content, model="llama", prompt_tokens=1, completion_tokens=1, latency_s=0.1
        )

    async def choose(self, request: ChoiceRequest) -> Distribution | None:
        return None

    async def check(self) -> Health:
        await anyio.sleep(0.001)
        if (failure := self.fault(anyio.current_time())) is not None:
            raise OracleUnavailableError("no server answers here") from failure
        return Health(backend="ollama", version="1", model="llama", latency_s=0.1, dialect="format", note=self.note)

    async def aclose(self) -> None:
        self.asked.append(float("inf"))


def pool_of(*servers: Server) -> HostPool:
    return HostPool([Host(f"host-{number}", server) for number, server in enumerate(servers)])


async def ask(pool: HostPool, count: int, *, at_once: int) -> Counter[str]:
    """Ask so many questions, a number of them at a time; return the outcomes."""
    outcomes: Counter[str] = Counter()
    left = iter(range(count))

    async def one_after_another() -> None:
        for _ in left:
            try:
                await pool.complete(QUESTION)
                outcomes["ok"] += 1
            except LLMFailureException as error:
                outcomes[error.reason] += 1

    async with anyio.create_task_group() as tasks:
        for _ in range(at_once):
            tasks.start_soon(one_after_another)
    return outcomes


@in_schedules(16)
async def test_calls_are_shared_out_equally() -> None:
    servers = Server(), Server()
    pool = pool_of(*servers)
    await pool.check()
    assert await ask(pool, 400, at_once=8) == {"ok": 400}
    assert [server.most for server in servers] == [4, 4]
    assert [len(server.asked) for server in servers] == [pytest.approx(200, abs=10)] * 2


@in_schedules(16)
async def test_a_slow_host_gets_as_many_calls_as_it_can_answer() -> None:
    quick, slow = Server(takes_s=0.1), Server(takes_s=1.0)
    pool = pool_of(quick, slow)
    await pool.check()
    await ask(pool, 440, at_once=8)
    assert len(slow.asked) == pytest.approx(40, abs=8)


@pytest.mark.parametrize("reason", ["connection_error", "overloaded", "server_error"])
@in_schedules(16)
async def test_a_host_that_is_gone_costs_no_answer_and_is_asked_again_when_it_is_back(reason: str) -> None:
    steady, gone = Server(), Server(away(2.0, 6.0, reason))
    pool = pool_of(steady, gone)
    await pool.check()
    assert await ask(pool, 1_500, at_once=8) == {"ok": 1_500}
    while_away = [time for time in gone.asked if 2.0 <= time < 6.0]
    assert OPENS_AFTER <= len(while_away) <= 8 + OPENS_AFTER + 8  # those under way, and a probe now and then
    assert len([time for time in gone.asked if time >= 6.0]) > 50
    assert all(host.is_up for host in pool.hosts())


@in_schedules(1)
async def test_a_host_that_goes_and_comes_back_is_logged_once_each(logged: list[EventDict]) -> None:
    server = Server()
    pool = pool_of(Server(), server)
    await pool.check()
    server.fault = lambda _: LLMFailureException("connection_error", detail="refused")
    while pool.hosts()[1].is_up:
        await pool.complete(QUESTION)
    server.fault = never
    await anyio.sleep(FIRST_HOLD_S)
    while not pool.hosts()[1].is_up:
        await pool.complete(QUESTION)
    told = [(event["event"], event["host"]) for event in logged]
    assert told == [("host_away", "host-1"), ("host_back", "host-1")]


@in_schedules(16)
async def test_hosts_that_are_all_away_fail_the_call_and_the_first_that_is_back_answers() -> None:
    servers = Server(away(1.0, 20.0)), Server(away(1.0, 60.0))
    pool = pool_of(*servers)
    await pool.check()
    await anyio.sleep(1.0)
    assert await ask(pool, 20, at_once=4) == {"connection_error": 20}
    assert not any(host.is_up for host in pool.hosts())
    await anyio.sleep(20.0)
    # The caller's own probe decides when to ask: a pause of the host's breaker does not make it fail.
    assert await ask(pool, 1, at_once=1) == {"ok": 1}
    assert await ask(pool, 20, at_once=4) == {"ok": 20}


@in_schedules(16)
async def test_a_host_that_asks_for_a_pause_gets_it_while_another_answers() -> None:
    steady, limited = Server(), Server()
    limited.fault = lambda now: LLMFailureException("overloaded", retry_after_s=30.0) if now < 10.0 else None
    pool = pool_of(steady, limited)
    steady.fault, limited_fault = never, limited.fault
    limited.fault = never
    await pool.check()
    limited.fault = limited_fault
    assert await ask(pool, 1_000, at_once=4) == {"ok": 1_000}
    refused = [time for time in limited.asked if time < 30.0]
    assert len(refused) <= 4


@in_schedules(16)
async def test_a_timeout_is_not_asked_elsewhere() -> None:
    servers = Server(away(1.0, 2.0, "timeout")), Server()
    pool = pool_of(*servers)
    await pool.check()
    await anyio.sleep(1.0)
    with pytest.raises(LLMFailureException, match="timeout"):
        await pool.complete(QUESTION)
    assert servers[1].asked == []


@in_schedules(16)
async def test_a_cancelled_call_leaves_its_host_free() -> None:
    server = Server(takes_s=10.0)
    pool = pool_of(server)
    await pool.check()
    with anyio.move_on_after(1.0):
        await pool.complete(QUESTION)
    assert pool.hosts()[0].in_flight == 0
    server.takes_s = 0.1
    with anyio.fail_after(1.0):
        await pool.complete(QUESTION)


@in_schedules(16)
async def test_a_host_that_was_away_at_the_start_is_checked_before_its_first_call() -> None:
    late = Server(away(0.0, 10.0))
    pool = pool_of(Server(), late)
    health = await pool.check()
    assert health.note == "1 of 2 hosts are there"
    await ask(pool, 200, at_once=2)
    assert late.asked == []
    await ask(pool, 1_000, at_once=2)
    assert len(late.asked) > 100


@in_schedules(1)
async def test_a_host_that_turns_out_to_be_another_model_later_is_not_asked() -> None:
    late = Server(away(0.0, 1.0))
    pool = pool_of(Server(), late)
    await pool.check()
    late.identity = msgspec.structs.replace(IDENTITY, model="other")
    await anyio.sleep(2.0)
    assert await ask(pool, 100, at_once=2) == {"ok": 100}
    assert late.asked == []


@in_schedules(1)
async def test_hosts_that_are_all_away_at_the_start_are_an_error() -> None:
    with pytest.raises(OracleUnavailableError, match=r"^no server answers here$"):
        await pool_of(Server(away(0.0, 1.0)), Server(away(0.0, 1.0))).check()


@in_schedules(1)
async def test_a_host_that_can_never_be_used_is_an_error_although_another_is_there() -> None:
    refusing = Server(lambda _: LLMFailureException("client_error", status_code=404))
    with pytest.raises(OracleUnavailableError, match=r"^no server answers here$"):
        await pool_of(Server(), refusing).check()


@in_schedules(1)
async def test_hosts_that_would_answer_otherwise_are_refused_with_the_difference() -> None:
    other = Server(note="decides by chat")
    with pytest.raises(OracleUnavailableError) as caught:
        await pool_of(Server(note="decides by probabilities"), other).check()
    assert str(caught.value) == (
        "llm.hosts: host-1 would answer otherwise than host-0: note is 'decides by chat', not 'decides by "
        "probabilities'; all hosts need the same server and model"
    )


@in_schedules(1)
async def test_closing_the_pool_closes_each_host() -> None:
    servers = Server(), Server()
    await pool_of(*servers).aclose()
    assert [server.asked for server in servers] == [[float("inf")]] * 2
