"""Shadow questions: turns that rules have settled are put to the oracle too, and nothing follows from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

from actors.core.state import RunState
from actors.runs.summary import ShadowSummary, summarise
from actors.runtime import shadows
from actors.runtime.simulation import SHADOW_PATIENCE_S, Simulation
from prism.columns import Columns
from prism.config import Config
from prism.divergence import EMBEDDED, RULE
from prism.errors import OracleUnavailableError
from prism.rng import Draw, uniform
from prism.social.chart import SOCIAL_CHART
from prism.statechart import AgentState, Oracle, Statechart, Transition
from tests.actors.social_runs import SMALL, run, simulation, with_oracle
from tests.schedules import run_scheduled

pytestmark = pytest.mark.long

SHADOWED = with_oracle(SMALL, shadow=0.5)
Late = Callable[[Any], Any]


class Outside(Oracle[Any]):
    """An oracle that gives the embedded answers from outside, and does something else on shadow questions.

    Args:
        embedded: the embedded oracle.
        shadow: awaited on each shadow question: one whose post is not between the person's thresholds.
    """

    def __init__(self, embedded: Oracle[Any], shadow: Late) -> None:
        self.shadows = 0
        self._embedded = embedded
        self._shadow = shadow

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        if not agent.persona.low_threshold < agent.relevance(context) < agent.persona.high_threshold:
            self.shadows += 1
            await self._shadow(agent)
        return await self._embedded.ask(agent, current_state, trigger, options, context)


async def at_once(_: Any) -> None:
    await anyio.lowlevel.checkpoint()


def ended(
    config: Config, ask: Callable[[Oracle[Any]], Oracle[Any]] = lambda oracle: oracle, schedule: int = 0
) -> Simulation:
    return run_scheduled(schedule, partial(run, config, ask))


def shadow_of(done: Simulation) -> ShadowSummary:
    shadow = summarise(done, 0.0).shadow
    assert shadow is not None
    return shadow


@pytest.fixture(scope="module")
def usual() -> Simulation:
    """The run without shadow questions."""
    return ended(SMALL)


def unchanged(done: Simulation, usual: Simulation) -> bool:
    """Return whether a run came to what it would have come to without shadow questions."""
    counts = [
        (each.engine.digest.hexdigest(), each.domain.world.totals(), each.counters.rows) for each in (done, usual)
    ]
    divergences = [summarise(each, 0.0).divergence for each in (done, usual)]
    return counts[0] == counts[1] and divergences[0] == divergences[1] and not done.oracle.statistics.fallbacks


def test_shadow_questions_change_nothing_and_are_the_same_in_every_schedule(usual: Simulation) -> None:
    assert summarise(usual, 0.0).shadow is None
    runs = [ended(SHADOWED, schedule=schedule) for schedule in range(5)]
    assert all(unchanged(each, usual) for each in runs)
    first, *others = map(shadow_of, runs)
    assert others == [first] * 4
    assert first.outcomes == {"answered": first.questions}
    assert [(each.trigger, each.state) for each in first.divergence] == [("decides", "evaluating")]
    (found,) = first.divergence
    assert found.against.keys() == {RULE, EMBEDDED}
    assert found.questions == first.questions


def test_the_shadow_is_a_share_of_the_turns_that_a_rule_settled(usual: Simulation) -> None:
    settled = sum(
        count
        for (state, _, trigger, source), count in usual.counters.rows.items()
        if (state, trigger, source) == ("evaluating", "decides", "rule")
    )
    assert settled > 30
    assert shadow_of(ended(with_oracle(SMALL, shadow=1.0))).questions == settled
    half = shadow_of(ended(SHADOWED)).questions
    assert abs(half - settled / 2) < 3 * math.sqrt(settled / 4)
    (found,) = shadow_of(ended(with_oracle(SMALL, shadow=1.0))).divergence
    assert set(found.choices[RULE]) == {"scrolling", "composing", "engaging_like", "engaging_reshare"}
    assert found.choices[RULE]["engaging_like"] == 0.0  # no rule likes


def test_which_turns_are_asked_about_follows_from_the_seed_alone() -> None:
    asked: set[tuple[int, int]] = set()

    async def note(agent: Any) -> None:
        asked.add((agent.agent_id, agent.tick))

    ended(SHADOWED, lambda oracle: Outside(oracle, note))
    seed = SMALL.simulation.seed
    assert asked
    assert all(uniform(seed, agent, tick, Draw.SHADOW) < 0.5 for agent, tick in asked)


async def pieces(config: Config, tick: int) -> tuple[Simulation, Simulation]:
    """Return a run that ended, and one that went on from a checkpoint of it at a tick."""
    whole, taken = simulation(config), []

    async def take() -> None:
        if whole.engine.tick == tick:
            taken.append(await whole.checkpoint())

    await whole.run(between=take)
    (state, columns), resumed = taken[0], simulation(config)
    resumed.restore(msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=RunState), Columns(columns))
    await resumed.run()
    return whole, resumed


@pytest.mark.parametrize("tick", [1, 7, 20, 35])
def test_a_resumed_run_ends_with_the_same_shadow(tick: int) -> None:
    whole, resumed = run_scheduled(tick, partial(pieces, SHADOWED, tick))
    assert summarise(resumed, 0.0).shadow == summarise(whole, 0.0).shadow
    assert summarise(resumed, 0.0).divergence == summarise(whole, 0.0).divergence


def test_an_oracle_outside_is_asked_in_the_gaps(usual: Simulation) -> None:
    done = ended(SHADOWED, lambda oracle: Outside(oracle, at_once))
    assert unchanged(done, usual)
    assert shadow_of(done) == shadow_of(ended(SHADOWED))
    assert done.oracle.statistics.shadow_calls == shadow_of(done).questions
    assert summarise(done, 0.0).oracle_calls == summarise(usual, 0.0).oracle_calls


@pytest.mark.parametrize("error", [OSError("gone"), OracleUnavailableError("nobody"), KeyError("x")])
def test_a_shadow_call_that_fails_is_counted_and_not_repeated(error: Exception, usual: Simulation) -> None:
    async def fail(_: Any) -> None:
        raise error

    done = ended(with_oracle(SHADOWED, on_outage="stop"), lambda oracle: Outside(oracle, fail))
    assert unchanged(done, usual)
    shadow = shadow_of(done)
    assert shadow.outcomes == {"failed": shadow.questions}
    assert [each.fallbacks for each in shadow.divergence] == [shadow.questions]
    assert done.oracle.statistics.shadow_calls == shadow.questions


def test_shadow_calls_that_hang_leave_room_for_questions_and_end_with_the_run(usual: Simulation) -> None:
    async def took() -> tuple[Simulation, float]:
        begun = anyio.current_time()
        done = await run(SHADOWED, lambda oracle: Outside(oracle, lambda _: anyio.sleep_forever()))
        return done, anyio.current_time() - begun

    done, seconds = run_scheduled(0, took)
    assert unchanged(done, usual)
    assert shadow_of(done).outcomes == {"unfinished": shadow_of(done).questions}
    assert seconds == pytest.approx(SHADOW_PATIENCE_S)
    assert done.oracle.shadows_in_flight <= SMALL.oracle.max_concurrency // 4


def test_questions_beyond_those_that_may_wait_are_discarded_and_counted(
    usual: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadows, "WAITING_MAX", 2)
    monkeypatch.setattr(shadows, "CAPACITY", 3)
    all_of_them = with_oracle(SMALL, shadow=1.0)
    done = ended(all_of_them, lambda oracle: Outside(oracle, lambda _: anyio.sleep_forever()))
    assert unchanged(done, usual)
    outcomes = shadow_of(done).outcomes
    # Two wait, three are in the mailbox, three at the actor, and as many are called as may be at once.
    assert outcomes["unfinished"] <= 2 + 3 + 3 + max(1, SMALL.oracle.max_concurrency // 4)
    assert shadow_of(done).questions == outcomes["unfinished"] + outcomes["late"]
    assert shadow_of(done).questions == shadow_of(ended(all_of_them)).questions


def test_the_embedded_oracle_misses_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    all_of_them = with_oracle(SMALL, shadow=1.0)
    roomy = shadow_of(ended(all_of_them))
    monkeypatch.setattr(shadows, "WAITING_MAX", 2)
    monkeypatch.setattr(shadows, "CAPACITY", 3)
    assert shadow_of(ended(all_of_them)) == roomy
    assert roomy.outcomes == {"answered": roomy.questions}


def test_a_metric_of_the_choices_is_not_that_of_the_shadow() -> None:
    done = ended(SHADOWED)
    done.engine.open_questions.choices.restore(())
    assert done.snapshot({}).divergence["decides", EMBEDDED] == 0.0
    assert done.snapshot({}).divergence["decides", RULE] > 0.0


def test_shadow_calls_stop_at_half_of_a_spend_cap(usual: Simulation) -> None:
    most = 2 * summarise(usual, 0.0).oracle_calls
    done = ended(with_oracle(SHADOWED, max_calls=most), lambda oracle: Outside(oracle, at_once))
    assert unchanged(done, usual)
    outcomes = shadow_of(done).outcomes
    assert outcomes["spent"] > 0
    assert outcomes["answered"] > 0


def test_without_the_oracle_nothing_is_asked_for_comparison_either() -> None:
    off = msgspec.structs.replace(SHADOWED, statechart=msgspec.structs.replace(SMALL.statechart, oracle_enabled=False))
    assert summarise(ended(off), 0.0).shadow is None


def test_the_options_of_a_shadow_question_are_those_of_the_rows_for_the_oracle() -> None:
    four = ("scrolling", "engaging_like", "engaging_reshare", "composing")
    assert SOCIAL_CHART.question_options(AgentState.EVALUATING, "decides") == four
    assert SOCIAL_CHART.question_options(AgentState.COMPOSING, "compose_done") == ()
    assert SOCIAL_CHART.question_options(AgentState.IDLE, "decides") == ()


def test_a_row_without_a_target_offers_all_targets_of_its_trigger() -> None:
    rows = [
        Transition("decides", AgentState.EVALUATING, AgentState.COMPOSING, guard=lambda *_: False),
        Transition("decides", AgentState.EVALUATING, AgentState.SCROLLING, guard=lambda *_: True),
        Transition("decides", AgentState.EVALUATING, None),
    ]
    states = (AgentState.EVALUATING, AgentState.COMPOSING, AgentState.SCROLLING)
    chart = Statechart(states=states, initial=AgentState.EVALUATING, transitions=rows)
    # As in a question, the most passive option comes first.
    assert chart.question_options(AgentState.EVALUATING, "decides") == (AgentState.SCROLLING, AgentState.COMPOSING)
