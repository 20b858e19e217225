"""The gateway of an experiment: its proxy, and its places for calls in virtual time."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, aclosing, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from anyio import to_thread
from starlette.datastructures import Headers
from starlette.types import Message

from actors.studies.gateway.place import ExperimentTape, Limits, Totals
from actors.studies.gateway.proxy import BODY_MAX_BYTES, Asked, Broker, Places, Service, application
from prism.config import PricesConfig
from prism.llm import Tape, TapeError
from prism.llm.failure import Usage
from prism.llm.headers import Replied
from tests.catalogue import catalogue
from tests.schedules import in_schedules

ID = "3-7-0123456789abcdef"
PRICES = PricesConfig(input=100_000.0, output=0.0)  # a dollar for ten tokens
LOST, BUSY = Replied(failure="timeout", status=503, body=""), Replied(status=503, body="busy")


Tapes = Callable[[], Awaitable[ExperimentTape]]


@pytest.fixture
def tapes(tmp_path: Path) -> Iterator[Tapes]:
    """Open the tape once more, for a gateway that takes over."""
    with ExitStack() as stack:

        def again() -> ExperimentTape:
            stack.close()
            return stack.enter_context(closing(ExperimentTape(tmp_path / "tape", "record")))

        yield lambda: to_thread.run_sync(again)


class Server:
    """A server that fails in this order, then answers with the number of its call; each once its gate is open."""

    def __init__(self, *failures: Replied) -> None:
        self.failures = list(failures)
        self.asked = 0
        self.within_s, self.path = 0.0, ""
        self.gate = anyio.Event()
        self.gate.set()

    async def forward(self, _method: str, path: str, _body: bytes, _name: str, within_s: float) -> Any:
        self.asked, self.within_s, self.path = self.asked + 1, within_s, path
        text = str(self.asked)
        await self.gate.wait()
        return self.failures.pop(0) if self.failures else Replied(body=text, is_answer=True, usage=Usage(1, 2))

    async def aclose(self) -> None:
        """Do nothing."""


def question(text: str = "What?", cell: str = "a", name: str = ID, attempt: int = 0, deadline: str = "5") -> Asked:
    headers = Headers({"x-prism-attempt": str(attempt), "x-prism-deadline": deadline})
    return Asked("s", cell, "POST", "/chat", text.encode(), name, headers)


@asynccontextmanager
async def broker_of(tape: ExperimentTape, server: Server | None, **limits: object) -> AsyncIterator[Broker]:
    chosen = msgspec.convert({"max_concurrency": 4, **limits}, Limits)
    model: Any = server
    async with aclosing(Broker(chosen, tape, {"s": Service("key", PRICES, 60.0, model)})) as broker:
        yield broker


async def told(broker: Broker, asked: Asked) -> str:
    reply = await broker.answer(asked)
    return reply.body if reply.is_answer else reply.failure or str(reply.status)


async def test_a_cell_that_was_killed_gets_its_answer_again_and_another_cell_asks_for_itself(tapes: Tapes) -> None:
    server = Server()
    async with broker_of(await tapes(), server) as broker:
        assert [await told(broker, question()), await told(broker, question())] == ["1", "1"]
        assert await told(broker, question(cell="b")) == "2"
        assert await told(broker, question(attempt=1)) == "3", "the first answer was of no use"
        assert [await told(broker, question(cell=cell, name="")) for cell in "ab"] == ["4", "4"], "all share a check"
    assert (server.asked, broker.statistics().from_tape, broker.statistics().totals.calls) == (4, 1, 3)


async def test_equal_questions_are_asked_once_while_they_are_under_way_and_after(tapes: Tapes) -> None:
    server, said = Server(), list[str]()
    server.gate = anyio.Event()

    async def note(broker: Broker, cell: str) -> None:
        said.append(await told(broker, question(cell=cell, name=f"3-{cell}-0123456789abcdef")))

    async with broker_of(await tapes(), server, ask_once=True) as broker, anyio.create_task_group() as tasks:
        for cell in "abc":
            tasks.start_soon(note, broker, cell)
        await anyio.wait_all_tasks_blocked()
        assert server.asked == 1
        server.gate.set()
    async with broker_of(await tapes(), server, ask_once=True) as later:
        assert await told(later, question(cell="d")) == "1"
        assert await told(later, question("Another draw?")) == "2"
    assert said == ["1", "1", "1"]
    assert (broker.statistics().shared, later.statistics().from_tape) == (2, 1)


async def test_a_spent_budget_refuses_new_questions_and_answers_old_ones(tapes: Tapes) -> None:
    server = Server()
    async with broker_of(await tapes(), server, max_usd=0.15) as broker:
        assert [await told(broker, question(str(number))) for number in range(3)] == ["1", "2", "unavailable"]
    async with broker_of(await tapes(), server, max_usd=0.15) as continued:
        assert await told(continued, question("0")) == "1"
        assert "0.2000 of oracle.max_usd 0.15; raise it" in (await continued.answer(question("9"))).body
        assert await told(continued, question("9", name="")) == "3", "a check is no part of the budget"
    async with broker_of(await tapes(), server, max_usd=0.25) as raised:
        assert await told(raised, question("9")) == "4"
        assert (raised.statistics().totals.calls, raised.statistics().totals.completion_tokens) == (3, 6)


async def test_a_full_disk_gives_no_answer_out_and_says_so(tapes: Tapes) -> None:
    server, tape = Server(), await tapes()
    async with broker_of(tape, server) as broker:
        await to_thread.run_sync(tape._execute, "PRAGMA max_page_count = 1")
        long = question(name="x" * 10_000)
        assert [await told(broker, long), await told(broker, question("2"))] == ["unavailable", "unavailable"]
        assert broker.statistics().problem.endswith("database or disk is full; what was under way is lost")
    assert server.asked == 1
    async with broker_of(await tapes(), server) as continued:
        assert await told(continued, question("2")) == "2"


async def test_a_replay_asks_nobody_and_repeats_a_failure_that_had_no_answer(tmp_path: Path) -> None:
    server = Server(LOST, Replied(status=400, body="no"), BUSY)
    tape = await to_thread.run_sync(ExperimentTape, tmp_path / "tape", "record")
    async with broker_of(tape, server) as broker:
        recorded = [await told(broker, question(text)) for text in ("1", "1", "2", "2", "3")]
        assert broker.statistics().totals.failed == 3
    await to_thread.run_sync(tape.close)
    assert recorded == ["timeout", "400", "503", "4", "5"]
    tape = await to_thread.run_sync(ExperimentTape, tmp_path / "tape", "replay")
    async with broker_of(tape, None, max_calls=0) as broker:
        assert [await told(broker, question(text)) for text in ("1", "1", "2", "3")] == ["400", "400", "4", "5"]
        missing = await broker.answer(question("9"))
    await to_thread.run_sync(tape.close)
    assert (missing.failure, f"no answer to the question {ID}" in missing.body) == ("unavailable", True)


async def test_a_tape_that_is_damaged_while_it_is_in_use_stops_cells_and_nothing_new_is_asked(tapes: Tapes) -> None:
    server, tape = Server(), await tapes()
    async with broker_of(tape, server) as broker:
        assert await told(broker, question()) == "1"
        await to_thread.run_sync(tape._execute, "UPDATE answers SET answer = X'00'")
        again, other = await broker.answer(question()), await broker.answer(question("2"))
        assert again.body == other.body == broker.statistics().problem, "nothing new is asked"
        assert broker.statistics().problem.startswith(f"{tape.path}: is damaged: ")
    assert server.asked == 1


@catalogue(("deadline", "name", "within_s"), [("5", ID, 5.0), ("600", ID, 60.0), ("soon", ID, 60.0), ("5", "", 300.0)])
async def test_a_call_may_take_as_long_as_its_question_and_a_check_longer(
    tapes: Tapes, deadline: str, name: str, within_s: float
) -> None:
    server = Server()
    async with broker_of(await tapes(), server) as broker:
        await broker.answer(question(f"{deadline}?", deadline=deadline, name=name))
    assert server.within_s == within_s


class Client:
    """A client that sends a request, and is gone afterwards if it is told so."""

    def __init__(
        self, token: str = "secret", *, path: str = "/s/a/chat", body: bytes = b"What?", is_gone: bool = False
    ) -> None:
        self._token, self._path, self._body, self._is_gone = token, path, body, is_gone
        self.is_read = False
        self.sent: list[Message] = []

    async def receive(self) -> Message:
        if not self.is_read:
            self.is_read = True
            return {"type": "http.request", "body": self._body}
        if not self._is_gone:
            await anyio.sleep_forever()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def ask(self, broker: Broker) -> int:
        """Ask the application of a broker, and return the status."""
        headers = [(b"authorization", f"Bearer {self._token}".encode()), (b"x-request-id", f"{ID}-1-1-5f3a9c".encode())]
        scope = {"type": "http", "method": "POST", "path": self._path, "query_string": b"v=1", "headers": headers}
        await application("secret", broker)(scope, self.receive, self.send)
        return int(self.sent[0]["status"])


async def test_the_call_of_a_client_that_is_gone_is_kept_and_its_answer_is_there_for_the_next(tapes: Tapes) -> None:
    server, client, again = Server(), Client(is_gone=True), Client()
    async with broker_of(await tapes(), server) as broker:
        await client.ask(broker)
        assert await again.ask(broker) == 200
    assert (again.sent[1]["body"], server.asked, server.path) == (b"1", 1, "/chat?v=1")


@catalogue("path", ["/s/a/chat", "/elsewhere"])
async def test_a_client_without_the_token_is_refused_before_the_body_is_read(tapes: Tapes, path: str) -> None:
    server, client = Server(), Client("guessed", path=path)
    async with broker_of(await tapes(), server) as broker:
        assert await client.ask(broker) == 403
    assert (client.is_read, server.asked) == (False, 0)
    assert (b"connection", b"close") in client.sent[0]["headers"]


@catalogue(
    ("status", "sent"),
    [(413, {"body": b"x" * (BODY_MAX_BYTES + 1)}), (404, {"path": "/other/a/chat"}), (404, {"path": "/s"})],
)
async def test_what_is_no_question_to_a_known_model_is_refused(tapes: Tapes, status: int, sent: dict[str, Any]) -> None:
    server = Server()
    async with broker_of(await tapes(), server) as broker:
        assert await Client(**sent).ask(broker) == status
    assert server.asked == 0


async def test_a_failure_crosses_with_its_reason_and_its_pause(tapes: Tapes) -> None:
    async with broker_of(await tapes(), Server(LOST, Replied(status=429, body="busy", pause_s=0.007))) as broker:
        clients = Client(), Client()
        assert [await client.ask(broker) for client in clients] == [503, 429]
    assert (b"x-prism-failure", b"timeout") in clients[0].sent[0]["headers"]
    assert (b"retry-after-ms", b"7") in clients[1].sent[0]["headers"]


def said(text: str = "yes") -> Replied:
    return Replied(body=text, is_answer=True)


def test_the_latest_reply_stays_and_the_totals_are_those_of_all_calls(tmp_path: Path) -> None:
    with closing(ExperimentTape(tmp_path / "t", "record")) as tape:
        for text in ("first", "second"):
            tape.write(b"k", said(text), "1-2-abc", Totals(calls=1, prompt_tokens=10, usd=0.25))
        with closing(ExperimentTape(tmp_path / "t", "look")) as looked:
            assert looked.totals == tape.totals
    with closing(ExperimentTape(tmp_path / "t", "replay")) as again:
        assert (again.read(b"k"), again.read(b"other")) == (said("second"), None)
        assert again.totals == Totals(calls=2, prompt_tokens=20, usd=0.5)


def test_the_tape_of_a_run_is_refused(tmp_path: Path) -> None:
    with closing(Tape(tmp_path / "t", "record")) as tape:
        tape._execute("INSERT INTO answers VALUES (?, '', '{}')", b"head")
    with pytest.raises(TapeError, match="is the tape of a run, and not of an experiment"):
        ExperimentTape(tmp_path / "t", "record")


class Answering:
    """A server whose calls take a second; it notes who was served, and how many at once."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.begun: list[tuple[float, str]] = []
        self.under_way = self.most = 0

    async def ask(self, cell: str, service: str = "s") -> None:
        await self.places.take(service)
        self.begun.append((anyio.current_time(), cell))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await anyio.sleep(1.0)
        finally:
            self.under_way -= 1
            self.places.give_back()


@in_schedules(5)
async def test_no_more_calls_begin_in_a_second_than_the_rate_allows() -> None:
    server = Answering(Places(100, rate_per_s=4.0))
    async with anyio.create_task_group() as tasks:
        for number in range(21):
            tasks.start_soon(server.ask, f"cell {number % 3}")
    times = [time for time, _ in server.begun]
    assert [round(time - times[0], 6) for time in times] == [0.25 * place for place in range(21)]


@in_schedules(5)
async def test_a_pause_of_one_service_holds_its_requests_and_no_others() -> None:
    places = Places(1)
    server = Answering(places)
    async with anyio.create_task_group() as tasks:
        places.pause("paused", 10.0)
        places.pause("paused", 5.0)  # a shorter one changes nothing
        tasks.start_soon(server.ask, "a", "paused")
        tasks.start_soon(server.ask, "b", "other")
    assert sorted(server.begun) == [(0.0, "b"), (10.0, "a")]
