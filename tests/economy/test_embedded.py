"""The embedded economy: what its advisers propose, what it reads of an action, and the rate that it sets."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from prism.config import EconomyConfig, TaylorConfig
from prism.economy import Action, GlobalState
from prism.economy.embedded import EmbeddedEconomy, RateChange, read_rate_change, validated
from tests.catalogue import catalogue

ALIKE = EconomyConfig(preference_spread=0.0)
VOLCKER = GlobalState(interest_rate=8.0, inflation=10.0, unemployment=5.9)
STATES = st.builds(
    GlobalState,
    interest_rate=st.floats(-5.0, 40.0),
    inflation=st.floats(-20.0, 60.0),
    unemployment=st.floats(0.0, 60.0),
)


def action(text: str, nation: str = "Arvendia") -> Action:
    return Action(agent_name=nation, action_string=text)


def alone(taylor: TaylorConfig | None = None) -> EconomyConfig:
    """An economy of one nation, which sets the rate by itself."""
    return EconomyConfig(
        nations=("Arvendia",), strengths=(1.0,), preference_spread=0.0, taylor=taylor or TaylorConfig()
    )


def turn(economy: EmbeddedEconomy, state: GlobalState, order: Sequence[str]) -> GlobalState:
    """The state after each nation has proposed and its proposal has been applied, in an order."""
    after = state
    for nation in order:
        proposal = action(economy.propose(nation, state).action, nation)
        after = replace(after, interest_rate=economy.evaluate(proposal, after).new_interest_rate)
    return after


SLUMP = GlobalState(interest_rate=0.3, inflation=-2.0, unemployment=12.0)
PROPOSALS: dict[str, tuple[GlobalState, str, str]] = {
    # Taylor (1993): 2 + 10 + 0.5 x 8 + 0.5 x 0 = 16.
    "high inflation asks for a higher rate": (
        VOLCKER,
        "Raise the interest rate by 1.00 percentage points",
        "2.00 + 10.00 + 0.50 x (8.00) + 0.50 x (0.00) = 16.00%",
    ),
    # The gap is -2 by Okun's law, which the rule answers with one point.
    "unemployment asks for a lower rate": (
        GlobalState(interest_rate=4.0, inflation=2.0, unemployment=6.9),
        "Lower the interest rate by 1.00 percentage points",
        "an output gap of -2.00% by Okun's law",
    ),
    "a rate that is right is kept": (GlobalState(unemployment=5.9), "Keep the interest rate at 4.00%", ""),
    "no nation proposes to go below the floor": (SLUMP, "Lower the interest rate by 0.25 percentage points", ""),
    "nor from the floor": (replace(SLUMP, interest_rate=0.0), "Keep the interest rate at 0.00%", ""),
}


@pytest.mark.parametrize(("state", "proposed", "because"), PROPOSALS.values(), ids=PROPOSALS)
def test_a_proposal_follows_from_the_numbers_of_the_rule(state: GlobalState, proposed: str, because: str) -> None:
    decision = EmbeddedEconomy(ALIKE, 1).propose("Borland", state)
    assert decision.action == proposed
    assert because in decision.reasoning


@given(state=STATES, step_size=st.sampled_from([0.05, 0.125, 0.25, 0.3, 1.0]))
def test_what_the_adviser_writes_the_engine_reads(state: GlobalState, step_size: float) -> None:
    economy = alone(TaylorConfig(rate_step=step_size))
    decision = EmbeddedEconomy(economy, 1).propose("Arvendia", state)
    change = read_rate_change(decision.action)
    assert change is not None
    wanted = change.direction * (change.points or 0.0)
    new = EmbeddedEconomy(economy, 1).evaluate(action(decision.action), state).new_interest_rate
    assert new - state.interest_rate == pytest.approx(wanted, abs=1e-9)
    assert validated(action(decision.action)).is_valid
    assert math.isclose(wanted / step_size, round(wanted / step_size), abs_tol=1e-9)


@given(state=STATES)
def test_no_proposal_leads_away_from_the_rules_rate(state: GlobalState) -> None:
    economy = alone()
    decision = EmbeddedEconomy(economy, 1).propose("Arvendia", state)
    aim = max(0.0, 2 + state.inflation + 0.5 * (state.inflation - 2) + 0.5 * 2 * (5.9 - state.unemployment))
    new = EmbeddedEconomy(economy, 1).evaluate(action(decision.action), state).new_interest_rate
    assert abs(new - aim) <= abs(state.interest_rate - aim) + 1e-9


def test_confidence_in_a_change_is_the_chance_that_it_brings_the_rate_nearer() -> None:
    # The rule asks for 16 and the rate goes from 8 to 9: halfway is 8.5, 7.5 away, five errors of 1.5.
    decision = EmbeddedEconomy(alone(TaylorConfig(rate_error=1.5)), 1).propose("Arvendia", VOLCKER)
    assert decision.confidence == pytest.approx(0.5 * math.erfc(-5.0 / math.sqrt(2.0)))
    # That of no change is the chance that one step would do: a normal deviate within one standard deviation.
    kept = EmbeddedEconomy(alone(TaylorConfig(rate_error=1.0)), 1).propose("Arvendia", GlobalState(unemployment=5.9))
    assert kept.confidence == pytest.approx(0.6827, abs=1e-4)


@catalogue(
    ("text", "is_valid"),
    [
        *((text, False) for text in ("Deploy military forces", "Sing", "Build a monument to the founders")),
        *((text, True) for text in ("Lower interest rates by 0.5%", "Increase military spending", "Cut taxes")),
        ("Impose tariffs on steel", True),
    ],
)
def test_what_is_economic_in_part_is_accepted_and_all_else_rejected(text: str, is_valid: bool) -> None:
    result = validated(action(text))
    assert (result.is_valid, result.action_evaluated) == (is_valid, text)
    # Laplace's rule of succession
    assert validated(action("Cut taxes")).confidence == pytest.approx(2 / 3)
    assert validated(action("Deploy military forces")).confidence == pytest.approx(4 / 5)


@catalogue(
    ("text", "rate"),
    [
        ("Raise the interest rate by 0.50 percentage points", 8.5),
        ("Set the interest rate to 7.75%", 7.75),
        ("Raise the interest rate by 5%", 9.0),  # no more than rate_step_max
        ("Set the interest rate to 2%", 7.0),
        ("Raise interest rates", 9.0),  # the rule asks for 16
        ("Lower interest rates", 8.0),  # against the rule it goes nowhere
        ("Cut the tax rate by 2%", 8.0),
        ("Keep interest rates unchanged", 8.0),
    ],
)
def test_the_engine_takes_an_action_at_its_word_within_bounds(text: str, rate: float) -> None:
    decision = EmbeddedEconomy(alone(), 1).evaluate(action(text), VOLCKER)
    assert decision.new_interest_rate == pytest.approx(rate)
    assert f"to {rate:.2f}%" in decision.reasoning
    assert decision.action_applied == text


def test_the_floor_ends_a_fall_and_lifts_nothing() -> None:
    engine = EmbeddedEconomy(alone(TaylorConfig(rate_floor=1.0)), 1)
    lower = action("Lower the interest rate by 1%")
    assert engine.evaluate(lower, GlobalState(interest_rate=1.5)).new_interest_rate == 1.0
    assert engine.evaluate(lower, GlobalState(interest_rate=0.5)).new_interest_rate == 0.5


@given(order=st.permutations(EconomyConfig().nations))
def test_the_order_of_nations_does_not_change_the_rate(order: list[str]) -> None:
    economy, nations = EmbeddedEconomy(EconomyConfig(), 4), EconomyConfig().nations
    state = GlobalState(interest_rate=5.0, inflation=3.0, unemployment=6.5)
    raise_it = "Raise the interest rate by 1.00 percentage points"
    two = EmbeddedEconomy(EconomyConfig(nations=("Arvendia", "Borland"), strengths=(3.0, 1.0)), 1)
    moved = [two.evaluate(action(raise_it, nation), VOLCKER).new_interest_rate for nation in ("Arvendia", "Borland")]
    assert moved == pytest.approx([8.75, 8.25]), "each by its share of all strength"
    there, back = turn(economy, state, order), turn(economy, state, nations)
    assert there.interest_rate == pytest.approx(back.interest_rate)


def test_an_unknown_nation_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected one of the nations Arvendia, Borland, .*, got 'Freedonia'"):
        EmbeddedEconomy(ALIKE, 1).propose("Freedonia", VOLCKER)
    with pytest.raises(ValueError, match="got 'Freedonia'"):
        EmbeddedEconomy(ALIKE, 1).evaluate(action("Raise interest rates", "Freedonia"), VOLCKER)


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
