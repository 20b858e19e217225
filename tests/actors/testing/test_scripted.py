"""The stand-ins for the world in tests: a scripted model and client, and virtual time."""

from threading import Event

import anyio
import anyio.lowlevel
import pytest
from anyio import to_thread

from actors.testing import ScriptedClient, ScriptedModel
from actors.testing.virtual_time import run_in_virtual_time
from prism.llm import ChatRequest, ChoiceRequest, LanguageModel, LLMFailureException, Message
from prism.models import PolicyDecision, ValidationResult
from tests.patience import HANG_S

HELLO = ChatRequest(messages=(Message(role="user", content="Hello"),))
VALID = ValidationResult(is_valid=True, reasoning="It concerns interest rates.", confidence=0.9)
TIMEOUT = LLMFailureException(reason="timeout", attempts=1, component="agent")


async def test_a_model_gives_its_answers_in_order_and_the_last_one_ever_after() -> None:
    scripted = ScriptedModel("one", TIMEOUT, lambda request: request.messages[0].content.upper(), latency_s=2.0)
    model: LanguageModel = scripted
    assert (await model.complete(HELLO)).text == "one"
    with pytest.raises(LLMFailureException, match="timeout"):
        await model.complete(HELLO)
    assert [(await model.complete(HELLO)).text for _ in range(2)] == ["HELLO", "HELLO"]
    assert (await model.complete(HELLO)).latency_s == 2.0
    assert scripted.requests == [HELLO] * 5


async def test_a_model_gives_no_probabilities_and_is_always_there() -> None:
    model = ScriptedModel("one")
    assert await model.choose(ChoiceRequest(state="", instructions="", options={})) is None
    assert (await model.check()).server == "scripted"
    await model.aclose()


async def test_a_client_gives_its_records_and_raises_its_errors() -> None:
    client = ScriptedClient(VALID, TIMEOUT, VALID)
    assert await client.call_with_retry("first", ValidationResult) is VALID
    with pytest.raises(LLMFailureException):
        await client.call_with_retry("second", ValidationResult)
    with pytest.raises(TypeError, match="asked for PolicyDecision, and the script has ValidationResult"):
        await client.call_with_retry("third", PolicyDecision)
    assert client.prompts == ["first", "second", "third"]


def test_a_year_passes_at_once_and_timers_fire_in_their_order() -> None:
    async def wait() -> list[tuple[float, int]]:
        fired: list[tuple[float, int]] = []

        async def sleep(days: int) -> None:
            await anyio.sleep(86_400 * days)
            fired.append((anyio.current_time(), days))

        async with anyio.create_task_group() as tasks:
            for days in (365, 1, 30):
                tasks.start_soon(sleep, days)
        return fired

    assert run_in_virtual_time(wait) == [(86_400, 1), (30 * 86_400, 30), (365 * 86_400, 365)]


@pytest.mark.timeout(60)
def test_a_cancelled_timer_before_the_next_one_is_not_waited_for() -> None:
    async def give_up_and_wait() -> float:
        with anyio.move_on_after(3600):  # its timer is cancelled, and is the next one in the loop's list
            await anyio.lowlevel.checkpoint()
        await anyio.sleep(7200)
        return anyio.current_time()

    assert run_in_virtual_time(give_up_and_wait) == 7200


def test_the_clock_stands_still_while_a_thread_works() -> None:
    async def work_beside_a_timer() -> float:
        hour_is_over = Event()

        async def hour() -> None:
            await anyio.sleep(3600)
            hour_is_over.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hour)
            await anyio.sleep(10)
            assert not await to_thread.run_sync(hour_is_over.wait, 0.05)
            ended = anyio.current_time()
            tasks.cancel_scope.cancel()
        return ended

    assert run_in_virtual_time(work_beside_a_timer) == 10


def test_the_result_of_a_thread_comes_at_its_time() -> None:
    async def ask_a_thread() -> tuple[int, float]:
        await anyio.sleep(5)
        with anyio.fail_after(HANG_S):
            answer = await to_thread.run_sync(lambda: 42)
        return answer, anyio.current_time()

    assert run_in_virtual_time(ask_a_thread) == (42, 5)
