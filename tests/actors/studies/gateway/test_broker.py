"""The broker with a model that is a list of outcomes: who is asked, what is shared, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import anyio
import msgspec
from anyio import to_thread

from actors.studies.gateway.broker import Broker, Service
from actors.studies.gateway.place import Limits
from actors.studies.gateway.tape import ExperimentTape
from prism.config import LLMConfig, PricesConfig
from prism.llm import ChatRequest, Completion, Health, LLMFailureException, Message
from prism.llm.backend import Backend
from prism.llm.failure import Reason
from prism.llm.gateway_model import Checked, Put, Unavailable
from prism.llm.question_id import Asked
from prism.llm.tape import Failed
from tests.actors.studies.gateway.conftest import Tapes

ID = "3-7-0123456789abcdef"
PRICES = PricesConfig(input=100_000.0, output=0.0)  # a dollar for ten tokens


class Model(Backend):
    """A model that fails in this order, then answers with the number of its call; each once its gate is open."""

    component = "listed"

    def __init__(self, *failures: LLMFailureException) -> None:
        super().__init__(LLMConfig())
        self.failures = list(failures)
        self.asked = self.checks = 0
        self.gate = anyio.Event()
        self.gate.set()

    async def complete(self, request: ChatRequest) -> Completion:
        self.asked += 1
        text = str(self.asked)
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        return Completion(text=text, model="m", prompt_tokens=1, completion_tokens=2, latency_s=0.1)

    async def check(self) -> Health:
        self.checks += 1
        await self.gate.wait()
        return Health(backend="listed", version="", model="m", latency_s=0.0, dialect="", note="")


def question(text: str = "What?", cell: str = "a", name: str = ID, attempt: int = 0, seed: int = 1) -> Put:
    request = ChatRequest(messages=(Message(role="user", content=text),), seed=seed)
    asked = Asked(name, "0" * 32, 1, "p")
    return Put(service="s", cell=cell, within_s=5.0, attempt=attempt, request=request, asked=asked)


@asynccontextmanager
async def broker_of(tape: ExperimentTape, model: Model | None, **limits: object) -> AsyncIterator[Broker]:
    chosen = msgspec.convert({"max_concurrency": 4, **limits}, Limits)
    service = Service("key", PRICES) if model is None else Service("key", PRICES, model, model.check)
    async with aclosing(Broker(chosen, tape, {"s": service})) as broker:
        yield broker


async def told(broker: Broker, put: Put) -> str:
    reply = await broker.answer(put)
    if isinstance(reply, Failed):
        return reply.reason
    return reply.text if isinstance(reply, Completion) else type(reply).__name__.lower()


def failed(reason: Reason, status: int | None = None) -> LLMFailureException:
    return LLMFailureException(reason, status_code=status)


async def test_a_cell_that_was_killed_gets_its_answer_again_and_another_cell_asks_for_itself(tapes: Tapes) -> None:
    model = Model()
    async with broker_of(await tapes(), model) as broker:
        assert await told(broker, question()) == "1"
        assert await told(broker, question()) == "1"
        assert await told(broker, question(cell="b")) == "2"
        assert await told(broker, question(attempt=1)) == "3", "the first answer was of no use"
    assert (model.asked, model.checks) == (3, 1)
    assert broker.statistics().from_tape == 1


async def test_equal_questions_are_asked_once_while_they_are_under_way_and_after(tapes: Tapes) -> None:
    model, said = Model(), list[str]()
    model.gate = anyio.Event()

    async def note(broker: Broker, cell: str) -> None:
        said.append(await told(broker, question(cell=cell, name=f"3-{cell}-0123456789abcdef")))

    async with broker_of(await tapes(), model, ask_once=True) as broker, anyio.create_task_group() as tasks:
        for cell in "abc":
            tasks.start_soon(note, broker, cell)
        await anyio.wait_all_tasks_blocked()
        assert (model.checks, model.asked) == (1, 0)
        model.gate.set()
    async with broker_of(await tapes(), model, ask_once=True) as later:
        assert await told(later, question(cell="d")) == "1"
        assert await told(later, question(seed=2)) == "2", "another draw"
    assert said == ["1", "1", "1"]
    assert (broker.statistics().shared, later.statistics().from_tape) == (2, 1)


async def test_a_spent_budget_refuses_new_questions_and_answers_old_ones(tapes: Tapes) -> None:
    model = Model()
    async with broker_of(await tapes(), model, max_usd=0.15) as broker:
        assert [await told(broker, question(str(number))) for number in range(3)] == ["1", "2", "unavailable"]
    async with broker_of(await tapes(), model, max_usd=0.15) as continued:
        assert await told(continued, question("0")) == "1"
        refused = await continued.answer(question("9"))
        assert isinstance(refused, Unavailable)
        assert "0.2000 of oracle.max_usd 0.15; raise it" in refused.detail
    async with broker_of(await tapes(), model, max_usd=0.25) as raised:
        assert await told(raised, question("9")) == "3"
        assert (raised.statistics().totals.calls, raised.statistics().totals.completion_tokens) == (3, 6)
    assert model.asked == 3


async def test_a_full_disk_gives_no_answer_out_and_says_so(tapes: Tapes) -> None:
    model, tape = Model(), await tapes()
    async with broker_of(tape, model) as broker:
        assert isinstance(await broker.answer(msgspec.structs.replace(question(), request=None)), Checked)
        await to_thread.run_sync(tape._execute, "PRAGMA max_page_count = 1")
        long = question(name="x" * 10_000)
        assert [await told(broker, long), await told(broker, question("2"))] == ["unavailable", "unavailable"]
        assert broker.statistics().problem.endswith("database or disk is full; what was under way is lost")
    assert model.asked == 1
    async with broker_of(await tapes(), model) as continued:
        assert await told(continued, question("2")) == "2"


async def test_a_replay_asks_nobody_and_repeats_a_failure_that_had_no_answer(tmp_path: Path) -> None:
    model = Model(failed("timeout"), failed("refused", 400), failed("overloaded", 503))
    tape = await to_thread.run_sync(ExperimentTape, tmp_path / "tape", "record")
    async with broker_of(tape, model) as broker:
        recorded = [await told(broker, question(text)) for text in ("1", "1", "2", "2", "3")]
    await to_thread.run_sync(tape.close)
    assert recorded == ["timeout", "refused", "overloaded", "4", "5"]
    tape = await to_thread.run_sync(ExperimentTape, tmp_path / "tape", "replay")
    async with broker_of(tape, None, max_calls=0) as broker:
        assert [await told(broker, question(text)) for text in ("1", "1", "2", "3")] == ["refused", "refused", "4", "5"]
        missing = await broker.answer(question("9"))
    await to_thread.run_sync(tape.close)
    assert isinstance(missing, Unavailable)
    assert f"no answer to the question {ID}" in missing.detail


async def test_a_tape_that_is_damaged_while_it_is_in_use_stops_cells_and_nothing_new_is_asked(tapes: Tapes) -> None:
    model, tape = Model(), await tapes()
    async with broker_of(tape, model) as broker:
        assert await told(broker, question()) == "1"
        await to_thread.run_sync(tape._execute, "UPDATE answers SET answer = X'00'")
        again, other = await broker.answer(question()), await broker.answer(question("2"))
        assert again == other == Unavailable(detail=broker.statistics().problem), "nothing new is asked"
        assert broker.statistics().problem.startswith(f"{tape.path}: is damaged: ")
    assert model.asked == 1


async def test_a_call_that_takes_too_long_is_a_timeout_and_counts(tapes: Tapes) -> None:
    model = Model()
    async with broker_of(await tapes(), model) as broker:
        await broker.answer(msgspec.structs.replace(question(), request=None))
        model.gate = anyio.Event()
        assert await told(broker, msgspec.structs.replace(question(), within_s=0.01)) == "timeout"
        assert (broker.statistics().totals.calls, broker.statistics().totals.failed) == (1, 1)
