"""A scripted model and a scripted client give their answers in order, and keep what they are asked."""

import pytest

from actors.testing import ScriptedClient, ScriptedModel
from prism.llm import ChatRequest, ChoiceRequest, LanguageModel, LLMFailureException, Message
from prism.models import PolicyDecision, ValidationResult

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
    assert (await model.check()).server == "scripted 1"
    await model.aclose()


async def test_a_client_gives_its_records_and_raises_its_errors() -> None:
    client = ScriptedClient(VALID, TIMEOUT, VALID)
    assert await client.call_with_retry("first", ValidationResult) is VALID
    with pytest.raises(LLMFailureException):
        await client.call_with_retry("second", ValidationResult)
    with pytest.raises(TypeError, match="asked for PolicyDecision, and the script has ValidationResult"):
        await client.call_with_retry("third", PolicyDecision)
    assert client.prompts == ["first", "second", "third"]
