"""The broker with servers that are lists of replies: who is asked, what is shared, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
import msgspec
import pytest
from anyio import to_thread

from actors.studies.gateway.broker import Broker, Request
from actors.studies.gateway.service import Limits, Service
from actors.studies.gateway.tape import ExperimentTape, Kept
from prism.config.model import PricesConfig
from tests.actors.studies.gateway.conftest import Tapes

HOST = "http://10.0.0.1:80"
SERVICE = Service(
    key="service",
    origins=frozenset({HOST}),
    headers={},
    query={},
    secrets=(),
    has_key=False,
    prices=PricesConfig(),
    ca_files={},
)
ID = "3-7-0123456789abcdef"


class Server:
    """Replies in their order; then the number of the call. It answers when its gate is open."""

    def __init__(self, *replies: Kept) -> None:
        self.replies = list(replies)
        self.asked: list[Request] = []
        self.gate = anyio.Event()
        self.gate.set()

    async def call(self, request: Request, key: str) -> Kept:
        self.asked.append(request)
        reply = self.replies.pop(0) if self.replies else Kept(key="", status=200, body=str(len(self.asked)), usd=0.1)
        await self.gate.wait()
        return msgspec.structs.replace(reply, key=key, is_call=request.is_call)


def question(body: bytes = b'{"seed": 1}', cell: str = "a", name: str = ID, process: str = "p") -> Request:
    return Request(
        method="POST",
        place=f"{HOST}/api/chat",
        body=body,
        headers={},
        service="s",
        cell=cell,
        process=process,
        question=f"{name}-1-1-{process}" if name else "",
        within_s=5.0,
    )


Open = Callable[..., AbstractAsyncContextManager[Broker]]


@asynccontextmanager
async def broker_of(tape: ExperimentTape, server: Server, **limits: object) -> AsyncIterator[Broker]:
    async with anyio.create_task_group() as tasks:
        chosen = msgspec.convert({"max_concurrency": 4, **limits}, Limits)
        yield Broker(chosen, tape, {"s": SERVICE}, {"s": server.call}, tasks)


async def told(broker: Broker, request: Request) -> str:
    kept = await broker.answer(request)
    if kept.is_answer:
        broker.note_served(request)
    return kept.body if kept.is_answer else kept.failure or str(kept.status)


async def test_a_cell_that_was_killed_gets_its_answer_again_and_another_cell_asks_for_itself(
    tapes: Tapes,
) -> None:
    server = Server()
    async with broker_of(await tapes(), server) as broker:
        assert await told(broker, question()) == "1"
        assert await told(broker, question(process="after the kill")) == "1"
        assert await told(broker, question(cell="b")) == "2"
    assert len(server.asked) == 2
    assert broker.statistics().from_tape == 1


async def test_equal_requests_are_asked_once_while_they_are_under_way_and_after(
    tapes: Tapes,
) -> None:
    server, said = Server(), list[str]()
    server.gate = anyio.Event()

    async def note(broker: Broker, cell: str) -> None:
        said.append(await told(broker, question(cell=cell, process=cell)))

    async with broker_of(await tapes(), server, ask_once=True) as broker, anyio.create_task_group() as tasks:
        for cell in "abc":
            tasks.start_soon(note, broker, cell)
        await anyio.wait_all_tasks_blocked()
        assert len(server.asked) == 1
        server.gate.set()
    async with broker_of(await tapes(), server, ask_once=True) as later:
        assert await told(later, question(cell="d")) == "1"
    assert said == ["1", "1", "1"]
    assert len(server.asked) == 1
    assert (broker.statistics().shared, later.statistics().from_tape) == (2, 1)


@pytest.mark.parametrize(
    ("first", "second", "shares"),
    [
        (b'{"seed": 1}', b'{"seed": 1}', True),
        (b'{"seed": 1}', b'{"seed": 2}', False),
        (b'{"options": {"seed": 1}}', b'{"options": {"seed": 1}}', True),
        (b'{"temperature": 0.0}', b'{"temperature": 0.0}', True),
        (b'{"temperature": 0.7}', b'{"temperature": 0.7}', False),
        (b'{"temperature": 1.0, "logprobs": true}', b'{"temperature": 1.0, "logprobs": true}', True),
    ],
)
async def test_two_agents_share_an_answer_only_if_their_draw_is_the_same(
    tapes: Tapes, first: bytes, second: bytes, shares: bool
) -> None:
    server = Server()
    async with broker_of(await tapes(), server, ask_once=True) as broker:
        await told(broker, question(first))
        await told(broker, question(second, cell="b", name="3-8-fedcba9876543210"))
    assert len(server.asked) == (1 if shares else 2)


async def test_the_check_of_a_server_is_shared_by_all_cells(tapes: Tapes) -> None:
    server = Server()
    async with broker_of(await tapes(), server) as broker:
        first = [await told(broker, question(name="", process="p")) for _ in range(2)]
        assert first == [await told(broker, question(name="", cell="b", process="q")) for _ in range(2)] == ["1", "2"]
    assert len(server.asked) == 2


async def test_a_spent_budget_refuses_new_questions_and_answers_old_ones(tapes: Tapes) -> None:
    server = Server()
    async with broker_of(await tapes(), server, max_usd=0.15) as broker:
        assert [await told(broker, question(b"%d" % number)) for number in range(3)] == ["1", "2", "spent"]
    async with broker_of(await tapes(), server, max_usd=0.15) as continued:
        assert await told(continued, question(b"0", process="q")) == "1"
        refused = await continued.answer(question(b"9"))
        assert (refused.failure, "$" in refused.body) == ("spent", False)
        assert "0.2000 of oracle.max_usd 0.15; raise it" in refused.body
    async with broker_of(await tapes(), server, max_usd=0.25) as raised:
        assert await told(raised, question(b"9")) == "3"
    assert len(server.asked) == 3


async def test_only_the_addresses_of_a_service_are_asked(tapes: Tapes) -> None:
    async with broker_of(await tapes(), Server()) as broker:
        for place, problem in [
            (f"{HOST}/api/chat", None),
            ("http://10.0.0.1/api/chat", None),
            ("http://10.0.0.1:81/api/chat", "not the address of this service"),
            ("http://10.0.0.1:80@evil/api/chat", "not the address of this service"),
            ("http://10.0.0.1:x/", "no address"),
        ]:
            assert broker.refusal(msgspec.structs.replace(question(), place=place)) == problem
        assert broker.refusal(msgspec.structs.replace(question(), service="other")) == "no such service"


async def test_a_full_disk_gives_no_answer_out_and_says_so(tapes: Tapes) -> None:
    server = Server(Kept(key="", status=200, body="x" * 10_000))
    tape = await tapes()
    await to_thread.run_sync(tape._execute, "PRAGMA max_page_count = 1")
    async with broker_of(tape, server) as broker:
        assert [await told(broker, question(b"1")), await told(broker, question(b"2"))] == ["tape", "tape"]
        assert broker.statistics().problem.endswith("database or disk is full; what was under way is lost")
    assert len(server.asked) == 1
    async with broker_of(await tapes(), server) as continued:
        assert await told(continued, question(b"2")) == "2"


async def test_a_replay_asks_nobody_and_repeats_a_failure_that_had_no_answer(tmp_path: Path) -> None:
    server = Server(Kept(key="", failure="timeout"), Kept(key="", status=400, body="no"), Kept(key="", status=503))
    tape = await to_thread.run_sync(ExperimentTape, tmp_path / "tape", "record")
    async with broker_of(tape, server) as broker:
        recorded = [await told(broker, question(body)) for body in (b"1", b"1", b"2", b"2", b"3")]
    await to_thread.run_sync(tape.close)
    assert recorded == ["timeout", "400", "503", "4", "5"]
    tape = await to_thread.run_sync(ExperimentTape, tmp_path / "tape", "replay")
    async with broker_of(tape, Server(), max_calls=0) as broker:
        bodies = (b"1", b"1", b"1", b"2", b"2", b"3")
        assert [await told(broker, question(body)) for body in bodies] == ["timeout", "400", "400", "4", "missing", "5"]
        missing = await broker.answer(question(b"9"))
    await to_thread.run_sync(tape.close)
    assert f"no answer to the question {ID}" in missing.body


async def test_a_tape_that_is_damaged_while_it_is_in_use_stops_cells_and_nothing_new_is_asked(tapes: Tapes) -> None:
    server, tape = Server(), await tapes()
    async with broker_of(tape, server) as broker:
        assert (await broker.answer(question())).is_answer
        await to_thread.run_sync(tape._execute, "UPDATE answers SET answer = X'00'")
        again = await broker.answer(question(process="q"))
        assert (again.failure, again.status) == ("tape", 0)
        assert again.body.startswith(f"{tape.path}: is damaged: ")
        other = await broker.answer(question(b'{"seed": 2}'))
        assert (other.failure, other.body) == ("tape", again.body), "nothing new is asked"
        assert broker.statistics().problem == again.body
    assert len(server.asked) == 1
