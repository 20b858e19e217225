"""Any agent that asks a model, and the adviser of a nation: its prompt, its reasoning kept and logged, its failures."""

import json
import logging
from datetime import UTC, datetime

import msgspec
import pytest

from actors.testing import ScriptedClient, ScriptedModel
from prism.agents import EconLLMAgent, LLMAgent
from prism.clock import SimulatedClock
from prism.economy import NationState, SimulationState
from prism.llm import LLMClient, LLMFailureException
from prism.models import PolicyDecision
from tests.catalogue import catalogue
from tests.engines.scripted import HOSTILE, STATE, SpiedClient, failure
from tests.llm.support import no_sleep

LOWER = PolicyDecision(
    action="Lower interest rates by 0.5%",
    reasoning="High unemployment (8%) indicates weak demand. Lower rates stimulate borrowing.",
    confidence=0.85,
)
SAID = msgspec.json.encode(LOWER).decode()


class Gardener(LLMAgent):
    """An agent of another domain, in which only watering counts."""

    def _construct_prompt(self, state: SimulationState) -> str:
        return f"It is day {state.turn}. What now?"

    def _validate_decision(self, decision: PolicyDecision) -> bool:
        return "water" in decision.action.lower()


async def test_an_action_is_what_the_model_decided() -> None:
    action = await EconLLMAgent(name="TestNation", llm_client=ScriptedClient(LOWER)).decide_action(STATE)
    assert action.agent_name == "TestNation"
    assert action.action_string == "Lower interest rates by 0.5%"
    assert action.policy_decision is not None
    assert action.policy_decision.reasoning.startswith("High unemployment")
    assert action.policy_decision.confidence == 0.85
    assert action.validated is False


async def test_the_reasoning_is_logged_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    decision = PolicyDecision(
        action="Increase taxes", reasoning="High inflation requires demand reduction", confidence=0.7
    )
    caplog.set_level(logging.DEBUG)
    await EconLLMAgent(name="TestNation", llm_client=ScriptedClient(decision)).decide_action(STATE)
    debug_logs = [record for record in caplog.records if record.levelname == "DEBUG"]
    assert any("llm_reasoning_chain" in record.message for record in debug_logs)
    assert any("component=agent" in record.message for record in debug_logs)
    assert any("High inflation requires demand reduction" in record.message for record in debug_logs)
    assert any('agent="TestNation"' in record.message and "confidence=0.7" in record.message for record in debug_logs)


async def test_a_failure_reaches_the_caller() -> None:
    agent = EconLLMAgent(name="TestNation", llm_client=ScriptedClient(failure("agent")))
    with pytest.raises(LLMFailureException) as caught:
        await agent.decide_action(STATE)
    assert (caught.value.reason, caught.value.attempts) == ("timeout", 2)


@catalogue("client", ["scripted", "real"])
async def test_the_line_about_a_failure_names_the_agent(client: str, caplog: pytest.LogCaptureFixture) -> None:
    silent = LLMClient(ScriptedModel("no JSON", "no JSON"), sleep=no_sleep)
    agent = EconLLMAgent('Ada "the Great"', silent if client == "real" else ScriptedClient(failure("agent")))
    with pytest.raises(LLMFailureException):
        await agent.decide_action(STATE)
    (line,) = [record for record in caplog.records if record.getMessage().startswith("LLM_FAILURE")]
    assert line.levelname == "ERROR"
    assert line.getMessage().startswith(r'LLM_FAILURE component=agent agent="Ada \"the Great\"" reason=')


async def test_an_action_is_free_text_and_not_one_of_a_list() -> None:
    text = "Implement trade sanctions on neighboring countries to boost domestic production"
    decision = PolicyDecision(action=text, reasoning="Economic independence strategy", confidence=0.6)
    action = await EconLLMAgent(name="TestNation", llm_client=ScriptedClient(decision)).decide_action(STATE)
    assert action.action_string == text


async def test_an_irrelevant_decision_is_handed_on_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    decision = PolicyDecision(action='Call it "a day"', reasoning="It is late already.", confidence=1.0)
    client = ScriptedClient(decision)
    action = await Gardener("Ada", client).decide_action(STATE)
    assert action.action_string == 'Call it "a day"'
    assert client.prompts == ["It is day 1. What now?"]
    (warning,) = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert warning == 'irrelevant_decision agent="Ada" turn=1 action="Call it \\"a day\\""'


async def test_a_chain_has_the_facts_of_the_call_and_the_simulated_time() -> None:
    model = ScriptedModel("no JSON", f"I think:\n{SAID}")
    clock = SimulatedClock(datetime(2000, 1, 1, tzinfo=UTC), tick_seconds=3600.0)
    agent = EconLLMAgent("TestNation", LLMClient(model, sleep=no_sleep), clock=clock)
    decision, chain = await agent.propose(STATE)
    assert decision == LOWER
    assert chain.prompt == model.requests[0].messages[0].content
    assert (chain.response, chain.reasoning) == (f"I think:\n{SAID}", LOWER.reasoning)
    assert (chain.component, chain.agent_name, chain.model) == ("agent", "TestNation", "scripted-1")
    assert (chain.duration_ms, chain.retry_count, chain.confidence) == (250, 1, LOWER.confidence)
    assert chain.timestamp == datetime(2000, 1, 1, 1, tzinfo=UTC)


async def test_another_turn_is_another_draw() -> None:
    model = ScriptedModel(SAID)
    agent = EconLLMAgent("TestNation", LLMClient(model, sleep=no_sleep))
    for turn in (1, 2, 2):
        await agent.propose(msgspec.structs.replace(STATE, turn=turn))
    first, second, again = [request.sample for request in model.requests]
    assert first != second == again
    assert model.requests[1].asked_by == "agent for TestNation in turn 2"


@pytest.mark.parametrize(
    ("replies", "reason", "calls"),
    [
        (["no JSON", '{"action": "", "reasoning": "Too short an action.", "confidence": 1}'], "invalid_response", 2),
        ([failure("ollama"), failure("ollama")], "timeout", 2),
        ([failure("ollama", "client_error")], "client_error", 1),
    ],
)
async def test_a_model_is_asked_once_more_and_then_the_failure_says_who_asked(
    replies: list[str | LLMFailureException], reason: str, calls: int
) -> None:
    model = ScriptedModel(*replies)
    shared = LLMClient(model, component="engine", sleep=no_sleep)
    with pytest.raises(LLMFailureException) as caught:
        await EconLLMAgent("TestNation", shared).decide_action(STATE)
    assert (caught.value.reason, caught.value.attempts, caught.value.component) == (reason, calls, "agent")
    assert len(model.requests) == calls


def test_an_agent_has_a_name() -> None:
    with pytest.raises(ValueError, match="name: expected a text that is not blank, got ' '"):
        EconLLMAgent(" ", ScriptedClient(LOWER))


HOLD = PolicyDecision(action="Hold the interest rate", reasoning="All is well in the economy.", confidence=0.9)


async def prompt_of(name: str = "TestNation", state: SimulationState = STATE) -> str:
    client = ScriptedClient(HOLD)
    await EconLLMAgent(name, client).propose(state)
    return client.prompts[0]


async def test_the_prompt_asks_to_think_step_by_step_about_the_indicators() -> None:
    client = SpiedClient(ScriptedModel(msgspec.json.encode(HOLD).decode()))
    await EconLLMAgent(name="TestNation", llm_client=client).decide_action(STATE)
    called_prompt = client.call_args[1]["prompt"]
    assert "Think step-by-step" in called_prompt
    assert "What is the most pressing economic issue?" in called_prompt
    assert "GDP Growth:" in called_prompt
    assert "Inflation:" in called_prompt
    assert client.call_args[1]["response_model"] is PolicyDecision


async def test_the_prompt_names_the_four_indicators_the_nation_and_the_fields_of_an_answer() -> None:
    prompt = await prompt_of()
    for line in ("- GDP Growth: 2.0%", "- Inflation: 2.0%", "- Unemployment: 5.0%", "- Interest Rate: 2.5%"):
        assert line in prompt.splitlines()
    assert 'You advise the nation "TestNation". Its economic strength is 100.0.' in prompt
    for field in PolicyDecision.__struct_fields__:
        assert f'"{field}":' in prompt


async def test_prompts_of_nations_differ_only_behind_what_they_share() -> None:
    one, other = await prompt_of("Norland"), await prompt_of("Sudland")
    shared = one.partition("You advise")[0]
    assert other.startswith(shared)
    assert "- Interest Rate: 2.5%" in shared


@catalogue("name", HOSTILE)
async def test_a_hostile_name_stays_one_quoted_text(name: str) -> None:
    state = msgspec.structs.replace(STATE, agents={name: NationState(name=name, economic_strength=100.0)})
    told, plain = (await prompt_of(name, state)).splitlines(), (await prompt_of()).splitlines()
    ((line, _),) = [(line, expected) for line, expected in zip(told, plain, strict=True) if line != expected]
    quoted = line.removeprefix("You advise the nation ").removesuffix(". Its economic strength is 100.0.")
    assert json.loads(quoted) == name


@catalogue(
    ("action", "warnings"), [("Lower interest rates by 0.5%", 0), ("Deploy military forces", 1), ("Raise tariffs", 0)]
)
async def test_a_decision_counts_as_economic_by_its_action_alone(
    action: str, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    decision = PolicyDecision(action=action, reasoning="It helps trade, taxes and the interest rate.", confidence=0.5)
    assert (await EconLLMAgent("TestNation", ScriptedClient(decision)).propose(STATE))[0] == decision
    assert [record.levelname for record in caplog.records] == ["WARNING"] * warnings
