"""People who live by a chart of one's own: states, delays, effects and choices that the default chart does not have."""

import asyncio
from collections import Counter
from itertools import product
from typing import Any

import msgspec
import pytest

from prism.agents import SocialAgent
from prism.config import ChoiceConfig, PopulationConfig
from prism.errors import ConfigError
from prism.social.chart import SOCIAL_CHART, social_behaviour
from prism.social.choice import ChoiceOracle
from prism.social.vocabulary import TRIGGERS, social_vocabulary
from prism.statechart import AgentState, Behaviour, Choice, read_chart
from tests.catalogue import catalogue
from tests.social.driver import SMALL, Run, whole
from tests.social.people import person, persona, relevant, view

DOOM = """
initial: away
states:
  away:
    role: offline
    transitions:
      - {trigger: feed_ready, target: reading}
      - {trigger: wants_to_post, target: writing}
  online:
    initial: reading
    transitions:
      - {trigger: round_ends, target: away}
    states:
      writing:
        after: {ticks: {uniform: [2, 4]}, trigger: written}
        transitions:
          - {trigger: written, target: reading, effect: post}
      reading:
        role: browse
        after: {ticks: 2, trigger: timeout}
        transitions:
          - {trigger: sees_post, target: doomscrolling, when: agent.anxiety > 0.5, oracle: true, label: sink}
          - {trigger: sees_post, target: sharing, when: agent.anxiety > 0.5, oracle: true, label: share}
          - {trigger: sees_post, target: reading}
          - {trigger: timeout, target: away}
      doomscrolling:
        role: browse
        after: {ticks: agent.patience, trigger: timeout}
        transitions:
          - {trigger: sees_post, target: doomscrolling}
          - {trigger: timeout, target: away}
      sharing:
        effect: reshare
        after: {ticks: 1, trigger: shared}
        transitions:
          - {trigger: shared, target: reading}
"""
ATTRIBUTES = {"anxiety": {"type": "float", "min": 0, "max": 1}, "patience": {"type": "int", "min": 2, "max": 4}}
CONFIG = msgspec.structs.replace(
    SMALL,
    population=msgspec.convert({**msgspec.to_builtins(SMALL.population), "attributes": ATTRIBUTES}, PopulationConfig),
)


def behaviour(text: str = DOOM) -> Behaviour[Any]:
    return social_behaviour(read_chart(text, "doom.yaml"), social_vocabulary(CONFIG.population.attributes))


@pytest.fixture(scope="module")
def run() -> Run:
    """A whole run, which tests only look at."""
    return asyncio.run(whole(CONFIG, behaviour=behaviour()))


def test_effects_take_place_when_the_chart_says_so(run: Run) -> None:
    steps, totals = Counter((each.from_state, each.trigger) for each in run.updates), run.world.totals()
    assert totals["posts"] == steps["writing", "written"] > 20
    assert totals["reshares"] == steps["sharing", "shared"] > 20
    assert totals["likes"] == totals["replies"] == 0


def test_delays_are_drawn_or_read_from_the_person(run: Run) -> None:
    entered: dict[int, int] = {}
    writing, doomed = Counter[int](), list[tuple[int, object]]()
    for update in run.updates:
        if (update.from_state, update.trigger) == ("writing", "written"):
            writing[update.tick - entered[update.agent]] += 1
        if (update.from_state, update.trigger) == ("doomscrolling", "timeout"):
            patience = run.domain.population.personas[update.agent].attributes["patience"]
            doomed.append((update.tick - entered[update.agent], patience))
        entered[update.agent] = update.tick
    assert set(writing) == {2, 3, 4}
    assert len(doomed) > 5
    assert all(waited == patience for waited, patience in doomed)


def test_an_option_engages_by_the_effect_of_its_row_or_of_its_delay() -> None:
    text = DOOM.replace("oracle: true, label: sink}", "oracle: true, label: sink, effect: like}")
    options: Any = [behaviour(text).states(name) for name in ("doomscrolling", "sharing")]
    reading: Any = behaviour(text).states("reading")
    oracle = ChoiceOracle(ChoiceConfig(like=20.0, reshare=10.0, scale=0.1), 1, behaviour(text))
    plain = ChoiceOracle(ChoiceConfig(like=20.0, reshare=10.0, scale=0.1), 1, behaviour())
    for asked, state in ((oracle, "doomscrolling"), (plain, "sharing")):
        found = [asyncio.run(asked.ask(person(agent_id=n), reading, "sees_post", options, view())) for n in range(9)]
        assert set(found) == {state}


WRONG = [
    ("trigger: wants_to_post", "trigger: wants_to_pst", ":8: states.away.transitions[1]: nobody sends wants_to_pst; "),
    ("trigger: written, target: reading, effect: post", "trigger: writen, target: reading", "did you mean writen?"),
    ("role: offline", "role: browse", "initial: away needs `role: offline`"),
    ("{trigger: feed_ready, target: reading}", "{trigger: decides, target: reading}", "states.away: needs a row"),
    ("  - {trigger: round_ends, target: away}", "  - {trigger: ends, target: away}", "nobody sends ends; "),
    ("target: away}\n    states", "target: reading}\n    states", "needs a row for round_ends to a state with `role"),
    ("agent.anxiety > 0.5", "agent.anxeity > 0.5", "did you mean agent.anxiety"),
    ("agent.patience", "agent.interests", "no such field for a delay"),
    ("effect: reshare", "effect: shout", "shout: no such effect"),
]


@catalogue(("old", "new", "message"), WRONG)
def test_a_chart_that_the_world_cannot_run_is_one_line(old: str, new: str, message: str) -> None:
    assert old in DOOM
    with pytest.raises(ConfigError) as refused:
        behaviour(DOOM.replace(old, new, 1))
    assert str(refused.value).startswith("doom.yaml")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


IDLE, SCROLLING, EVALUATING, COMPOSING, LIKE, REPLY, RESHARE, RESTING = AgentState
TARGETS = {
    (IDLE, "feed_ready"): SCROLLING,
    (IDLE, "wants_to_post"): COMPOSING,
    (SCROLLING, "sees_post"): EVALUATING,
    (EVALUATING, "ignores"): SCROLLING,
    (EVALUATING, "decides"): COMPOSING,
    (COMPOSING, "compose_done"): REPLY,
    (SCROLLING, "timeout"): RESTING,
    (RESTING, "timeout"): IDLE,
    **{(state, "action_done"): RESTING for state in (LIKE, REPLY, RESHARE)},
    **{(state, "timeout"): SCROLLING for state in (EVALUATING, COMPOSING, LIKE, REPLY, RESHARE)},
    **{(state, "round_ends"): IDLE for state in AgentState if state is not IDLE},
}
"""Where somebody who is patient no more, about to reply, and convinced by the post, goes. Not listed: they stay."""


def ready(state: AgentState) -> SocialAgent:
    return person(state, tick=9, ticks_in_state=5, timeout_threshold=5, pending_action="reply")


@catalogue(("state", "trigger"), [*product(AgentState, [*TRIGGERS, "compose_done", "action_done", "sneezes"])])
def test_every_state_answers_every_trigger_as_the_table_says(state: AgentState, trigger: str) -> None:
    agent, target = ready(state), TARGETS.get((state, trigger))
    assert SOCIAL_CHART.fire(agent, trigger, relevant(0.9)) is target
    assert agent.state is (state if target is None else target)
    assert (trigger in SOCIAL_CHART.valid_triggers(state)) is (target is not None)


def test_a_decision_is_ambiguous_only_between_the_thresholds() -> None:
    torn = [SCROLLING, LIKE, RESHARE, COMPOSING]
    for share, targets in ((0.0, [SCROLLING]), (0.44, [SCROLLING]), (0.46, torn), (0.54, torn), (0.56, [COMPOSING])):
        rows = SOCIAL_CHART.candidates(ready(EVALUATING), "decides", relevant(share))
        assert [row.target for row in rows] == targets
    level = person().relevance(relevant(0.5))  # at a threshold the mind is made up
    bored = persona(low_threshold=level, engagement_threshold=0.6, high_threshold=0.7)
    keen = persona(low_threshold=0.3, engagement_threshold=0.4, high_threshold=level)
    for somebody, target in ((bored, SCROLLING), (keen, COMPOSING)):
        rows = SOCIAL_CHART.candidates(person(persona=somebody), "decides", relevant(0.5))
        assert [row.target for row in rows] == [target]


def test_whoever_chooses_to_write_writes_a_reply() -> None:
    agent = person()
    choice = SOCIAL_CHART.select(agent, "decides", relevant(0.5))
    assert isinstance(choice, Choice)
    row = choice.option(COMPOSING)
    assert row is not None
    assert SOCIAL_CHART.commit(agent, row, 1)
    assert agent.pending_action == "reply"


@catalogue(
    ("pending", "target"), [("reply", REPLY), ("reshare", RESHARE), ("like", LIKE), (None, None), ("dance", None)]
)
def test_what_was_composed_decides_the_engagement(pending: str | None, target: AgentState | None) -> None:
    assert SOCIAL_CHART.fire(person(COMPOSING, pending_action=pending), "compose_done") is target


@catalogue("state", [SCROLLING, EVALUATING, COMPOSING, LIKE, REPLY, RESHARE])
@catalogue(("ticks", "moves"), [(0, False), (4, False), (5, True), (99, True)])
def test_a_timeout_waits_for_the_threshold(state: AgentState, ticks: int, moves: bool) -> None:
    agent = person(state, tick=100, ticks_in_state=ticks, timeout_threshold=5)
    assert (SOCIAL_CHART.fire(agent, "timeout") is not None) is moves
