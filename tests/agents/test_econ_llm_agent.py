"""What the adviser of a nation is told, and which of its decisions are economic."""

import json

import msgspec
import pytest

from actors.testing import ScriptedClient, ScriptedModel
from prism.agents import EconLLMAgent
from prism.economy import NationState, SimulationState
from prism.models import PolicyDecision
from tests.catalogue import catalogue
from tests.engines.scripted import HOSTILE, STATE, SpiedClient

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
