"""The engine of the interest rate: valid actions one after the other, all or nothing, every reasoning kept."""

import json
import logging
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.testing import ScriptedClient, ScriptedModel
from prism.config import Config
from prism.config.model import SimulationConfig
from prism.economy import Action, GlobalState
from prism.engines import EconLLMEngine
from prism.llm import LLMClient, LLMFailureException
from prism.models import PolicyDecision, StateUpdateDecision
from tests.catalogue import catalogue
from tests.engines.scripted import INVALID, STATE, action, approved, failure
from tests.llm.support import no_sleep

LOWERED = StateUpdateDecision(
    new_interest_rate=2.0,
    reasoning="Action proposes lowering rates by 0.5%. Current rate 2.5%, new rate 2.0%.",
    confidence=0.9,
    action_applied="Lower interest rates by 0.5%",
)
LOWERED_AGAIN = StateUpdateDecision(new_interest_rate=1.8, reasoning="Further lower by 0.2%", confidence=0.9)


def engine_on(*answers: StateUpdateDecision | Exception) -> tuple[EconLLMEngine, ScriptedClient]:
    client = ScriptedClient(*answers)
    engine = EconLLMEngine(config=Config(), llm_client=client)
    engine.current_state = STATE
    return engine, client


def prompt_about(proposed: Action, state: GlobalState = STATE.global_state) -> str:
    return engine_on(LOWERED)[0]._construct_state_update_prompt(proposed, state)


async def test_a_valid_action_changes_the_rate_and_ends_the_turn() -> None:
    engine, _ = engine_on(LOWERED)
    new_state = await engine.run_turn([approved()])
    assert new_state.global_state.interest_rate == 2.0
    assert new_state.turn == 2
    assert msgspec.structs.replace(new_state, turn=1, global_state=STATE.global_state, reasoning_chains=()) == STATE
    assert msgspec.structs.replace(new_state.global_state, interest_rate=2.5) == STATE.global_state
    assert len(new_state.reasoning_chains) > 0
    assert any("component=engine" in str(chain) for chain in new_state.reasoning_chains)


async def test_an_unvalidated_action_is_skipped_and_a_line_says_so(caplog: pytest.LogCaptureFixture) -> None:
    engine, client = engine_on(LOWERED)
    caplog.set_level(logging.INFO)
    new_state = await engine.run_turn([action("Deploy military forces", validated=False, validation_result=INVALID)])
    assert new_state.global_state.interest_rate == engine.current_state.global_state.interest_rate
    assert (new_state.turn, new_state.reasoning_chains, client.prompts) == (2, (), [])
    info_logs = [record.message for record in caplog.records if record.levelname == "INFO"]
    assert info_logs == ["SKIPPED Agent [TestNation] due to unvalidated Action"]


async def test_a_name_cannot_add_a_line_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    await engine_on(LOWERED)[0].run_turn([action(agent_name="A\nSKIPPED Agent [B]\u2028")])
    assert [len(record.message.splitlines()) for record in caplog.records] == [1]


async def test_the_reasoning_is_logged_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    engine, _ = engine_on(
        StateUpdateDecision(
            new_interest_rate=3.0,
            reasoning="Inflation high, increase rates to cool economy.",
            confidence=0.85,
            action_applied="Increase interest rates",
        )
    )
    caplog.set_level(logging.DEBUG)
    await engine.run_turn([approved()])
    debug_logs = [record.message for record in caplog.records if record.levelname == "DEBUG"]
    assert any("llm_reasoning_chain" in message for message in debug_logs)
    assert any("component=engine" in message for message in debug_logs)
    assert any("cool economy" in message for message in debug_logs)


@catalogue("answers", [[failure("engine", "server_error")], [LOWERED, failure("engine", "server_error")]])
async def test_a_failure_ends_the_turn_and_leaves_the_state_alone(
    answers: list[StateUpdateDecision | Exception],
) -> None:
    engine, _ = engine_on(*answers)
    with pytest.raises(LLMFailureException) as caught:
        await engine.run_turn([approved(), approved()])
    assert caught.value.reason == "server_error"
    assert caught.value.component == "engine"
    assert engine.current_state == STATE


async def test_actions_are_applied_one_after_the_other() -> None:
    engine, client = engine_on(LOWERED, LOWERED_AGAIN)
    new_state = await engine.run_turn(
        [approved("Lower rates 0.5%", "Nation1"), approved("Lower rates 0.2%", "Nation2")]
    )
    assert new_state.global_state.interest_rate != engine.current_state.global_state.interest_rate
    assert len(new_state.reasoning_chains) >= 2
    assert new_state.global_state.interest_rate == 1.8
    assert [chain.agent_name for chain in new_state.reasoning_chains] == ["Nation1", "Nation2"]
    rates = [line for prompt in client.prompts for line in prompt.splitlines() if line.startswith("- Interest Rate:")]
    assert rates == ["- Interest Rate: 2.5%", "- Interest Rate: 2.0%"]


async def test_a_state_has_the_reasoning_of_its_own_turn_only() -> None:
    engine, _ = engine_on(LOWERED, LOWERED_AGAIN)
    engine.current_state = await engine.run_turn([approved()])
    after = await engine.run_turn([approved()])
    assert (after.turn, [chain.reasoning for chain in after.reasoning_chains]) == (3, [LOWERED_AGAIN.reasoning])


async def test_one_action_can_be_evaluated_by_itself() -> None:
    simulation = SimulationConfig(epoch=datetime(2000, 1, 1, tzinfo=UTC), tick_seconds=3600.0)
    model = ScriptedModel(failure("ollama"), msgspec.json.encode(LOWERED).decode())
    engine = EconLLMEngine(Config(simulation=simulation), llm_client=LLMClient(model, sleep=no_sleep))
    decision, chain = await engine.evaluate(approved("Cut the rate", "Norland"), GlobalState(), turn=5)
    assert (decision.new_interest_rate, decision.action_applied) == (2.0, "Cut the rate")
    assert (chain.component, chain.agent_name) == ("engine", "Norland")
    assert (chain.model, chain.duration_ms, chain.retry_count) == ("scripted-1", 250, 1)
    assert chain.timestamp == datetime(2000, 1, 1, 5, tzinfo=UTC)
    assert engine.current_state.turn == 0


@catalogue("said", ["1e999", "NaN", '"2.0"', "1e6"])
async def test_a_rate_that_is_no_rate_is_an_invalid_response(said: str) -> None:
    model = ScriptedModel(f'{{"new_interest_rate": {said}, "reasoning": "Because I say so.", "confidence": 1}}')
    engine = EconLLMEngine(llm_client=LLMClient(model, sleep=no_sleep), current_state=STATE)
    with pytest.raises(LLMFailureException, match=r"^engine: invalid_response \(attempts=2\)"):
        await engine.run_turn([approved()])
    assert engine.current_state == STATE


def test_the_prompt_names_the_indicators_the_action_and_the_fields_of_an_answer() -> None:
    state = msgspec.structs.replace(STATE.global_state, total_economic_value=1234.567)
    lines = prompt_about(approved(), state).splitlines()
    assert lines[lines.index("- Interest Rate: 2.5%") + 1] == "- Total Economic Value: 1234.57"
    assert "Agent reasoning" not in prompt_about(action(validated=True)), "an action from elsewhere has none"
    for line in ("- GDP Growth: 2.0%", "- Inflation: 2.0%", "- Unemployment: 5.0%", "- Interest Rate: 2.5%"):
        assert line in lines
    assert 'Validated action: "Lower interest rates by 0.5%"' in lines
    assert 'Agent reasoning: "Demand is weak,\\nand prices are stable."' in lines
    assert "Think step-by-step:" in lines
    for field in ("new_interest_rate", "reasoning", "confidence"):
        assert any(line.startswith(f'  "{field}":') for line in lines)


@given(st.text(), st.text(min_size=10, max_size=2000))
def test_any_action_and_its_reasoning_stay_one_quoted_text_each(text: str, reasoning: str) -> None:
    decision = PolicyDecision(action="Lower rates", reasoning=reasoning, confidence=0.5)
    hostile = action(text, policy_decision=decision, validated=True)
    told, plain = prompt_about(hostile).splitlines(), prompt_about(approved()).splitlines()
    place = plain.index('Validated action: "Lower interest rates by 0.5%"')
    assert [*told[:place], *told[place + 2 :]] == [*plain[:place], *plain[place + 2 :]]
    assert json.loads(told[place].removeprefix("Validated action: ")) == text
    assert json.loads(told[place + 1].removeprefix("Agent reasoning: ")) == reasoning
