"""A nation, its chart and its oracle, without actors: whom a question is put to, and what becomes of the answer."""

from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from msgspec.structs import replace

from actors.testing import ScriptedModel
from prism.agents import Decision, Question, Source, Trigger, Update, turn
from prism.economy import Action, GlobalState, NationState, SimulationState
from prism.economy.nation import ECONOMY_CHART, Applied, Nation, PolicyState, PolicyStep, Proposed, Reviewed, Situation
from prism.economy.oracle import EconomyModelOracle, EconomyOracle, model_components
from prism.engines import EconLLMEngine
from prism.errors import OracleError
from prism.llm import LLMClient, LLMFailureException, Tape, TapedModel
from prism.llm.spending import metered
from prism.models import StateUpdateDecision
from prism.statechart import Answer
from tests.catalogue import catalogue
from tests.economy.support import ALONE, components
from tests.llm.support import no_sleep

STATE = SimulationState(
    turn=3,
    agents={"Ada": NationState(name="Ada", economic_strength=1.0)},
    global_state=GlobalState(interest_rate=5.0, inflation=6.0),
)
PROPOSAL = "Raise the interest rate by 1 percentage point"
RATE = '{"new_interest_rate": 5.5, "reasoning": "Inflation is far too high.", "confidence": 0.5}'
REFUSED = LLMFailureException("client_error", status_code=400)
LEAST_WAIT_S = 1.0
"""Before a second attempt, where there is a server."""
ASKED = {"turn_begins": PolicyState.OBSERVING, "review": PolicyState.PROPOSED, "apply": PolicyState.ACCEPTED}


def nation(state: PolicyState = PolicyState.OBSERVING) -> Nation:
    return Nation(0, "Ada", state, tick=3)


def asked(agent: Nation, trigger: str, action: str | None = PROPOSAL) -> Question[Situation]:
    proposal = None if action is None or trigger == "turn_begins" else Action(agent_name="Ada", action_string=action)
    question = turn(ECONOMY_CHART, agent, Trigger(3, 0, trigger, Situation(state=STATE, action=proposal)))
    assert isinstance(question, Question)
    return question


async def answer(question: Question[Situation], oracle: Any = None) -> Answer:
    options = [PolicyState(option) for option in question.options]
    agent = nation(PolicyState(question.state))
    oracle = oracle or EconomyOracle(components())
    found: Answer = await oracle.answer(agent, agent.state, question.trigger, options, question.context)
    return found


def settled(agent: Nation, question: Question[Situation], answer: Answer) -> Update[PolicyStep]:
    decision = Decision(answer.state, Source.ORACLE, question.tick, "", answer.content)
    update = turn(ECONOMY_CHART, agent, Trigger(3, 0, question.trigger, question.context, decision))
    assert isinstance(update, Update)
    return update


async def ask(oracle: Any, trigger: str) -> tuple[str, PolicyStep]:
    found = await answer(asked(nation(ASKED[trigger]), trigger), oracle)
    return found.state, msgspec.json.decode(found.content, type=PolicyStep)


def over(model: Any) -> EconomyModelOracle:
    return EconomyModelOracle(model, ALONE.llm, lambda client: model_components(ALONE, client))


def test_a_quarter_begins_with_a_question_wherever_the_last_one_ended_and_a_review_is_a_choice() -> None:
    for left in PolicyState:
        assert asked(nation(left), "turn_begins").options == ("proposed",)
    review = asked(nation(PolicyState.PROPOSED), "review")
    assert review.options == ("rejected", "accepted"), "the first option changes nothing"


@catalogue("left", [PolicyState.OBSERVING, PolicyState.REJECTED, PolicyState.APPLIED])
@catalogue("trigger", ["review", "apply"])
def test_what_was_not_proposed_is_neither_reviewed_nor_applied(trigger: str, left: PolicyState) -> None:
    proposal = Action(agent_name="Ada", action_string=PROPOSAL)
    update = turn(ECONOMY_CHART, nation(left), Trigger(3, 0, trigger, Situation(state=STATE, action=proposal)))
    assert isinstance(update, Update)
    assert (update.source, update.to_state) == (Source.NO_ROW, left)


async def test_an_answer_becomes_the_effect_of_the_turn_with_its_reasoning() -> None:
    agent = nation()
    question = asked(agent, "turn_begins")
    update = settled(agent, question, await answer(question))
    assert (agent.state, update.to_state) == (PolicyState.PROPOSED, "proposed")
    assert isinstance(update.effect, Proposed)
    assert update.effect.chain.reasoning == update.effect.decision.reasoning
    assert "The rule asks for" in update.effect.chain.reasoning


@pytest.mark.parametrize(("action", "found"), [("Raise the tax on fuel", "accepted"), ("Deploy troops", "rejected")])
async def test_the_judgement_decides_between_the_two_options(action: str, found: str) -> None:
    agent = nation(PolicyState.PROPOSED)
    question = asked(agent, "review", action)
    assert settled(agent, question, await answer(question)).to_state == found


async def test_an_answer_to_another_question_is_an_error_of_the_nation_and_moves_it_nowhere() -> None:
    agent = nation()
    proposal = await answer(asked(agent, "turn_begins"))
    other = nation(PolicyState.PROPOSED)
    question = asked(other, "review")
    with pytest.raises(msgspec.ValidationError, match="Invalid value 'proposed'"):
        settled(other, question, Answer("accepted", proposal.content))
    assert other.state is PolicyState.PROPOSED


async def test_a_nation_remembers_the_turn_and_the_proposal() -> None:
    agent = nation()
    for trigger in ("turn_begins", "review"):
        question = asked(agent, trigger)
        settled(agent, question, await answer(question))
    contexts = [record.context for record in agent.state_history]
    assert contexts == [{"turn": 3}, {"turn": 3, "action": PROPOSAL}]


async def test_each_question_goes_to_the_one_whom_it_is_for() -> None:
    oracle = EconomyOracle(components())
    found = [await ask(oracle, trigger) for trigger in ASKED]
    assert [(state, type(outcome)) for state, outcome in found] == [
        ("proposed", Proposed),
        ("accepted", Reviewed),
        ("applied", Applied),
    ]
    assert [outcome.chain.component for _, outcome in found] == ["agent", "validator", "engine"]


async def test_what_is_embedded_bears_simulated_time_and_no_duration() -> None:
    _, outcome = await ask(EconomyOracle(components()), "apply")
    assert outcome.chain.timestamp.isoformat() == "2026-10-01T22:30:00+00:00"
    assert (outcome.chain.duration_ms, outcome.chain.model, outcome.chain.prompt) == (0, "embedded", "")
    assert msgspec.json.decode(outcome.chain.response) == msgspec.to_builtins(outcome.decision)


async def test_a_model_is_asked_once_for_each_question_and_its_calls_are_counted() -> None:
    model = ScriptedModel(RATE)
    oracle = over(model)
    with metered() as ledger:
        state, outcome = await ask(oracle, "apply")
    assert (state, outcome.chain.duration_ms, outcome.chain.model) == ("applied", 250, "scripted-1")
    assert len(model.requests) == 1
    assert ([(each.outcome, each.calls, each.tokens) for each in ledger], oracle.source) == ([("ok", 1, 2)], "llm")


class Boom(EconLLMEngine):
    """An engine for which a new rate is work for everybody, and a new turn, and a world without nations."""

    def _apply_state_update(self, decision: StateUpdateDecision, current_state: SimulationState) -> SimulationState:
        state = super()._apply_state_update(decision, current_state)
        return replace(state, turn=99, agents={}, global_state=replace(state.global_state, unemployment=0.5))


async def test_what_an_engine_changes_besides_the_rate_is_heard_in_a_run_and_in_its_journal() -> None:
    async def applied(engine: EconLLMEngine) -> Applied:
        answer = await ask(EconomyOracle(components()._replace(engine=engine)), "apply")
        assert isinstance(answer[1], Applied)
        return answer[1]

    client = LLMClient(ScriptedModel(RATE), component="engine", sleep=no_sleep)
    usual, boom = await applied(EconLLMEngine(llm_client=client)), await applied(Boom(llm_client=client))
    assert usual.indicators is None
    assert "indicators" not in msgspec.to_builtins(usual), "journals of before are the same"
    assert usual.applied_to(STATE) == EconLLMEngine(llm_client=client).updated(STATE, usual.decision)
    indicators = replace(STATE.global_state, interest_rate=5.5, unemployment=0.5)
    assert boom.applied_to(STATE) == replace(STATE, global_state=indicators), "turn and nations are the world's"
    proposal = Action(agent_name="Ada", action_string=PROPOSAL, validated=True)
    alone = Boom(llm_client=client, current_state=STATE)
    assert (await alone.run_turn([proposal])).global_state == indicators


async def test_a_failure_that_ends_a_run_leaves_the_tape_so_that_the_question_can_be_asked_again(
    tmp_path: Path,
) -> None:
    taped = TapedModel(ScriptedModel(REFUSED, RATE), Tape(tmp_path / "tape.sqlite", "record"), "record")
    oracle = over(taped)
    with metered() as ledger, pytest.raises(LLMFailureException, match="engine: client_error"):
        await ask(oracle, "apply")
    assert [(each.outcome, each.calls) for each in ledger] == [("client_error", 1)]
    question = asked(nation(PolicyState.ACCEPTED), "apply")
    await oracle.before_retry(nation(PolicyState.ACCEPTED), "apply", question.context, "client_error")
    _, outcome = await ask(oracle, "apply")
    assert isinstance(outcome, Applied)
    assert outcome.decision.new_interest_rate == 5.5
    await taped.aclose()


async def test_a_first_attempt_that_failed_is_replayed_without_the_wait_for_a_server(tmp_path: Path) -> None:
    path = tmp_path / "tape.sqlite"
    model = ScriptedModel(LLMFailureException("server_error"), RATE)
    recorded = TapedModel(model, Tape(path, "record"), "record")
    client = LLMClient(recorded, component="engine", seed=ALONE.llm.seed, sleep=no_sleep)
    live = await ask(
        EconomyModelOracle(recorded, ALONE.llm, lambda _: model_components(ALONE, lambda _: client)), "apply"
    )
    await recorded.aclose()
    replayed = TapedModel(None, Tape(path, "replay"), "replay")
    with anyio.fail_after(LEAST_WAIT_S / 2):
        assert await ask(over(replayed), "apply") == live
    await replayed.aclose()
    assert live[1].chain.retry_count == 1


async def test_a_question_about_nothing_is_an_error() -> None:
    oracle, ada = EconomyOracle(components()), nation(PolicyState.PROPOSED)
    options = [PolicyState.REJECTED, PolicyState.ACCEPTED]
    with pytest.raises(OracleError, match="says nothing of the situation"):
        await oracle.answer(ada, ada.state, "review", options)
    with pytest.raises(OracleError, match="has no proposal"):
        await oracle.ask(ada, ada.state, "review", options, Situation(state=STATE))
