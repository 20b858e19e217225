"""The grants of a budget in each tick, by what judgements turn out to cost."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from prism.config import load_config
from prism.config.model import PricesConfig
from prism.sharing import Judged
from prism.sharing.budget import BURST, COMPLETION_TOKENS, EARLY, OWNED, PROMPT_TOKENS, Budget, Price, price_in_usd
from prism.sharing.settings import calls_a_judgement

TICKS, DELIBERATION, QUESTIONS = 100, 4, 1000


def judged(tick: int, number: int, *, calls: int = 1, samples: int = 0, tokens: tuple[int, int] = (0, 0)) -> Judged:
    key = ("evaluating", "decides", "scrolling", "composing")
    return Judged(tick, number, "decides", (0.5, 0.5), key, (), (0.5, 0.5), samples, 0.1, calls, *tokens)


def spent_by(budget: Budget, judgement: Callable[[int, int], Judged], cost: float) -> list[float]:
    """Return what is spent in each tick in which as many questions are asked as the budget grants."""
    spent, waiting, left = [], dict[int, list[Judged]](), 0.0
    for tick in range(TICKS):
        counted = waiting.pop(tick - DELIBERATION - 1, [])
        budget.count(counted, [0.0] * len(counted))
        budget.begin(tick, dict.fromkeys(range(tick), QUESTIONS))
        left += math.fsum(budget.chance((), number) for number in range(1, QUESTIONS + 1))
        waiting[tick] = [judgement(tick, number) for number in range(int(left))]
        left -= int(left)
        spent.append(cost * len(waiting[tick]))
    return spent


def budget_of(amount: float, price: Price) -> Budget:
    return Budget(amount, price, ticks=TICKS, deliberation=DELIBERATION)


@pytest.mark.parametrize(("each", "expected"), [(1, 1), (1, 8), (8, 8)])
def test_a_budget_of_calls_is_kept_whatever_a_judgement_costs(each: int, expected: int) -> None:
    budget = budget_of(2000, Price(lambda judged: judged.calls_at_least, expected))
    spent = spent_by(budget, lambda tick, number: judged(tick, number, calls=each, samples=each), each)
    assert sum(spent[1 : DELIBERATION + 1]) <= EARLY * 2000 + DELIBERATION * 2000 / TICKS
    assert 0.97 * 2000 <= sum(spent) <= 1.02 * 2000


def in_a_tick(budget: Budget, questions: int) -> float:
    """Return how many of a tick's questions are asked, in the mean."""
    return math.fsum(budget.chance((), number) for number in range(1, questions + 1))


@pytest.mark.parametrize("times", [10, 100, 1000])
def test_a_burst_takes_a_multiple_of_the_grant_that_grows_with_its_logarithm(times: int) -> None:
    budget = budget_of(2000, Price(lambda judged: judged.calls_at_least, 1))
    budget.begin(50, dict.fromkeys(range(50), QUESTIONS))
    as_expected = in_a_tick(budget, QUESTIONS)
    assert in_a_tick(budget, times * QUESTIONS) == pytest.approx(
        as_expected * BURST * (1.0 + math.log(times / BURST)), rel=0.01
    )


def test_the_first_questions_have_a_chance_without_any_that_were_seen_before() -> None:
    for questions in (10, 1000, 100_000):
        budget = budget_of(2000, Price(lambda judged: judged.calls_at_least, 1))
        budget.begin(0, {})
        assert min(10, questions) <= in_a_tick(budget, questions) < 0.25 * 2000


def test_the_chances_of_a_tick_vary_little_when_questions_come_in_a_daily_rhythm() -> None:
    budget = budget_of(2000, Price(lambda judged: judged.calls_at_least, 1))
    of_hour = [20 + 80 * (tick % 24 > 8) for tick in range(TICKS)]
    chances, waiting, left = [], dict[int, list[Judged]](), 0.0
    for tick in range(TICKS):
        counted = waiting.pop(tick - DELIBERATION - 1, [])
        budget.count(counted, [0.0] * len(counted))
        budget.begin(tick, dict(enumerate(of_hour[:tick])))
        chances.append(budget.chance((), of_hour[tick]))
        left += in_a_tick(budget, of_hour[tick])
        waiting[tick] = [judged(tick, number) for number in range(int(left))]
        left -= int(left)
    later = chances[48:]
    assert max(later) < 2.0 * min(later)


def test_archetypes_are_asked_for_a_tenth_of_the_budget_by_what_they_cost() -> None:
    budget = budget_of(2000, Price(lambda judged: judged.calls_at_least, 1))
    assert budget.owners == OWNED * 2000
    budget.count([judged(0, 0, calls=8)], [0.0])
    assert budget.owners == OWNED * 2000 / 8


def test_a_budget_in_dollars_is_spent_by_the_tokens_of_judgements() -> None:
    prices = PricesConfig(input=2.0, output=10.0, cached=0.5)
    price = price_in_usd(prices, 1)
    assert price.of(judged(0, 0, tokens=(500, 20))) == pytest.approx(0.0012)
    spent = spent_by(
        budget_of(1.0, price), lambda tick, number: judged(tick, number, tokens=(500 + number % 3, 20)), 0.001202
    )
    assert 0.97 <= sum(spent) <= 1.02


def test_tokens_that_no_server_counts_are_assumed() -> None:
    price = price_in_usd(PricesConfig(input=2.0, output=10.0), 8)
    a_call = (2.0 * PROMPT_TOKENS + 10.0 * COMPLETION_TOKENS) / 1e6
    assert price.expected == pytest.approx(8 * a_call)
    assert price.of(judged(0, 0, calls=3)) == pytest.approx(3 * a_call)


@pytest.mark.parametrize(
    ("settings", "calls"),
    [
        ({}, 1),
        ({"oracle.backend": "ollama"}, 5),
        ({"oracle.backend": "ollama", "llm.method": "json"}, 5),
        ({"oracle.backend": "ollama", "llm.method": "probabilities"}, 1),
        ({"oracle.backend": "ollama", "llm.temperature": 0.0}, 1),
    ],
    ids=str,
)
def test_a_judgement_takes_as_many_calls_as_its_server_may_need(settings: dict[str, object], calls: int) -> None:
    config = load_config(overrides={"oracle.sharing.samples": 5, "llm.temperature": 0.7, **settings})
    assert calls_a_judgement(config) == calls
