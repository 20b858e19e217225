"""A nation and its chart: one turn at a time, without actors, and the rate that it sets."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.agents import Decision, Question, Source, Trigger, Update, turn
from prism.economy import Action, GlobalState, NationState, SimulationState
from prism.economy.embedded import RateChange, read_rate_change
from prism.economy.nation import ECONOMY_CHART, Nation, PolicyState, PolicyStep, Proposed, Situation
from prism.economy.oracle import EconomyOracle
from prism.statechart import Answer
from tests.catalogue import catalogue
from tests.economy.one_nation import components

STATE = SimulationState(
    turn=3, agents={"Ada": NationState(name="Ada", economic_strength=1.0)}, global_state=GlobalState(inflation=6.0)
)


def situation(action: str | None = None) -> Situation:
    proposal = None if action is None else Action(agent_name="Ada", action_string=action)
    return Situation(state=STATE, action=proposal)


def nation(state: PolicyState = PolicyState.OBSERVING) -> Nation:
    return Nation(0, "Ada", state, tick=3)


def asked(agent: Nation, trigger: str, told: Situation) -> Question[Situation]:
    question = turn(ECONOMY_CHART, agent, Trigger(3, 0, trigger, told))
    assert isinstance(question, Question)
    return question


def settled(agent: Nation, question: Question[Situation], answer: Answer) -> Update[PolicyStep]:
    decision = Decision(answer.state, Source.ORACLE, question.tick, "", answer.content)
    update = turn(ECONOMY_CHART, agent, Trigger(3, 0, question.trigger, question.context, decision))
    assert isinstance(update, Update)
    return update


async def answer(question: Question[Situation]) -> Answer:
    options = [PolicyState(option) for option in question.options]
    agent = nation(PolicyState(question.state))
    return await EconomyOracle(components()).answer(agent, agent.state, question.trigger, options, question.context)


def test_a_quarter_begins_with_a_question_wherever_the_last_one_ended_and_a_review_is_a_choice() -> None:
    for left in PolicyState:
        assert asked(nation(left), "turn_begins", situation()).options == ("proposed",)
    review = asked(nation(PolicyState.PROPOSED), "review", situation("Raise rates"))
    assert review.options == ("rejected", "accepted"), "the first option changes nothing"


@catalogue("left", [PolicyState.OBSERVING, PolicyState.REJECTED, PolicyState.APPLIED])
@catalogue("trigger", ["review", "apply"])
def test_what_was_not_proposed_is_neither_reviewed_nor_applied(trigger: str, left: PolicyState) -> None:
    update = turn(ECONOMY_CHART, nation(left), Trigger(3, 0, trigger, situation("Raise rates")))
    assert isinstance(update, Update)
    assert (update.source, update.to_state) == (Source.NO_ROW, left)


async def test_an_answer_becomes_the_effect_of_the_turn_with_its_reasoning() -> None:
    agent = nation()
    question = asked(agent, "turn_begins", situation())
    update = settled(agent, question, await answer(question))
    assert (agent.state, update.to_state) == (PolicyState.PROPOSED, "proposed")
    assert isinstance(update.effect, Proposed)
    assert update.effect.chain.reasoning == update.effect.decision.reasoning
    assert "The rule asks for" in update.effect.chain.reasoning


@pytest.mark.parametrize(("action", "found"), [("Raise the tax on fuel", "accepted"), ("Deploy troops", "rejected")])
async def test_the_judgement_decides_between_the_two_options(action: str, found: str) -> None:
    agent = nation(PolicyState.PROPOSED)
    question = asked(agent, "review", situation(action))
    assert settled(agent, question, await answer(question)).to_state == found


async def test_an_answer_to_another_question_is_an_error_of_the_nation_and_moves_it_nowhere() -> None:
    agent = nation()
    proposal = await answer(asked(agent, "turn_begins", situation()))
    other = nation(PolicyState.PROPOSED)
    question = asked(other, "review", situation("Raise rates"))
    with pytest.raises(msgspec.ValidationError, match="Invalid value 'proposed'"):
        settled(other, question, Answer("accepted", proposal.content))
    assert other.state is PolicyState.PROPOSED


async def test_a_nation_remembers_the_turn_and_the_proposal() -> None:
    agent = nation()
    for trigger, told in (("turn_begins", situation()), ("review", situation("Raise rates"))):
        question = asked(agent, trigger, told)
        settled(agent, question, await answer(question))
    contexts = [record.context for record in agent.state_history]
    assert contexts == [{"turn": 3}, {"turn": 3, "action": "Raise rates"}]


READ = {
    "Raise the interest rate by 0.50 percentage points": RateChange(direction=1, points=0.5),
    "Lower interest rates by 0.5%": RateChange(direction=-1, points=0.5),
    "Increase rates by 50 basis points": RateChange(direction=1, points=0.5),
    "Increase interest rates.": RateChange(direction=1),
    "Set the interest rate to 3.25%": RateChange(direction=0, level=3.25),
    "Set the policy rate at -0.5%": RateChange(direction=0, level=-0.5),
    "Cut the policy rate from 4% to 3.5%": RateChange(direction=-1, level=3.5),
    "Keep the interest rate at 4.00%": RateChange(direction=0),
    "Cut taxes by 5%, keep interest rates unchanged": RateChange(direction=0),
    "Lower interest rates by 0.5% and raise spending by 3%": RateChange(direction=-1, points=0.5),
    "Raise spending by 3%;\nlower the central bank policy rate": RateChange(direction=-1),
    "Do not keep rates unchanged: raise rates by 0.5 points": RateChange(direction=1, points=0.5),
}
NOT_UNDERSTOOD = (
    "Cut the tax rate by 2%",
    "Fix the exchange rate at 1.2",
    "Set the interest rate",
    "Raise rates by -0.5%",
    "Raise interest rates by 25 to 50 basis points",
    "Raise rates by between 0.25% and 0.5%",
    "Do not raise interest rates by 0.5%",
    "Refrain from cutting rates by 1%",
    "Interest rates should not be raised",
    "Raise taxes, not interest rates",
    "Strengthen the oversight of interest rate swaps",
    "Deploy military forces",
)


@catalogue(("action", "change"), [*READ.items(), *((action, None) for action in NOT_UNDERSTOOD)])
def test_an_action_is_read_for_what_it_asks_of_the_interest_rate(action: str, change: RateChange | None) -> None:
    assert read_rate_change(action) == change


@given(st.text(max_size=500))
def test_any_text_can_be_read(text: str) -> None:
    change = read_rate_change(text)
    assert change is None or change.direction in (-1, 0, 1)
