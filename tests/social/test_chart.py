"""Every state with every trigger of the default chart."""

from __future__ import annotations

from itertools import product

from prism.agents import SocialAgent
from prism.social.chart import SOCIAL_CHART
from prism.statechart import AgentState, Choice
from tests.catalogue import catalogue
from tests.social.people import person, persona, relevant

IDLE, SCROLLING, EVALUATING, COMPOSING, LIKE, REPLY, RESHARE, RESTING = AgentState
TRIGGERS = [
    "feed_ready",
    "wants_to_post",
    "sees_post",
    "ignores",
    "decides",
    "compose_done",
    "action_done",
    "timeout",
    "round_ends",
]
TARGETS = {
    (IDLE, "feed_ready"): SCROLLING,
    (IDLE, "wants_to_post"): COMPOSING,
    (SCROLLING, "sees_post"): EVALUATING,
    (EVALUATING, "ignores"): SCROLLING,
    (EVALUATING, "decides"): COMPOSING,
    (COMPOSING, "compose_done"): REPLY,
    (LIKE, "action_done"): RESTING,
    (REPLY, "action_done"): RESTING,
    (RESHARE, "action_done"): RESTING,
    (SCROLLING, "timeout"): RESTING,
    (EVALUATING, "timeout"): SCROLLING,
    (COMPOSING, "timeout"): SCROLLING,
    (LIKE, "timeout"): SCROLLING,
    (REPLY, "timeout"): SCROLLING,
    (RESHARE, "timeout"): SCROLLING,
    (RESTING, "timeout"): IDLE,
    (SCROLLING, "round_ends"): IDLE,
    (EVALUATING, "round_ends"): IDLE,
    (COMPOSING, "round_ends"): IDLE,
    (LIKE, "round_ends"): IDLE,
    (REPLY, "round_ends"): IDLE,
    (RESHARE, "round_ends"): IDLE,
    (RESTING, "round_ends"): IDLE,
}
"""Where somebody who is patient no more, about to reply, and convinced by the post, goes. Not listed: they stay."""


def ready(state: AgentState) -> SocialAgent:
    return person(state, tick=9, ticks_in_state=5, timeout_threshold=5, pending_action="reply")


@catalogue(("state", "trigger"), [*product(AgentState, [*TRIGGERS, "sneezes"])])
def test_every_state_answers_every_trigger_as_the_table_says(state: AgentState, trigger: str) -> None:
    agent, target = ready(state), TARGETS.get((state, trigger))
    assert SOCIAL_CHART.fire(agent, trigger, relevant(0.9)) is target
    assert agent.state is (state if target is None else target)
    assert (trigger in SOCIAL_CHART.valid_triggers(state)) is (target is not None)


@catalogue(
    ("share", "targets"),
    [
        (0.0, [SCROLLING]),
        (0.44, [SCROLLING]),
        (0.46, [SCROLLING, LIKE, RESHARE, COMPOSING]),
        (0.54, [SCROLLING, LIKE, RESHARE, COMPOSING]),
        (0.56, [COMPOSING]),
        (0.95, [COMPOSING]),
    ],
)
def test_a_decision_is_ambiguous_only_between_the_thresholds(share: float, targets: list[AgentState]) -> None:
    rows = SOCIAL_CHART.candidates(ready(EVALUATING), "decides", relevant(share))
    assert [row.target for row in rows] == targets


def test_at_a_threshold_the_mind_is_made_up() -> None:
    post = relevant(0.5)
    level = person().relevance(post)
    bored = persona(low_threshold=level, engagement_threshold=0.6, high_threshold=0.7)
    keen = persona(low_threshold=0.3, engagement_threshold=0.4, high_threshold=level)
    rows = [SOCIAL_CHART.candidates(person(persona=somebody), "decides", post) for somebody in (bored, keen)]
    assert [[row.target for row in found] for found in rows] == [[SCROLLING], [COMPOSING]]


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
