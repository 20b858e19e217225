from typing import Any

import msgspec
import pytest

from prism.agents import Decision, Question, Source, Trigger, Update, turn
from prism.social.chart import SOCIAL_CHART
from prism.social.posts.post import PostView
from prism.statechart import AgentState, Statechart, Transition
from tests.catalogue import catalogue
from tests.social.people import person, relevant
from tests.statechart.charts import Person, chart_of, decides, says

TORN, BORING, GREAT = relevant(0.5), relevant(0.1), relevant(0.9)


def trigger(name: str, context: PostView | None = None, *, tick: int = 6, decision: Decision | None = None) -> Any:
    return Trigger[PostView](tick, 7, name, context, decision)


def test_a_rule_moves_the_agent_and_says_from_where_to_where() -> None:
    ada = person(AgentState.IDLE, agent_id=7)
    assert turn(SOCIAL_CHART, ada, trigger("feed_ready")) == Update[str](
        6, 7, "feed_ready", "idle", "scrolling", Source.RULE
    )
    assert (ada.state, ada.tick, ada.entered) == (AgentState.SCROLLING, 6, 6)


def test_a_trigger_without_a_row_leaves_the_agent_where_it_was() -> None:
    ada = person(AgentState.IDLE, agent_id=7, tick=2)
    assert turn(SOCIAL_CHART, ada, trigger("sees_post")) == Update[str](
        6, 7, "sees_post", "idle", "idle", Source.NO_ROW
    )
    assert (ada.state, ada.entered) == (AgentState.IDLE, 2)


def test_a_choice_is_asked_about_and_the_agent_stays() -> None:
    ada = person(agent_id=7, tick=2)
    assert turn(SOCIAL_CHART, ada, trigger("decides", TORN)) == Question(
        6, 7, "decides", "evaluating", ("scrolling", "engaging_like", "engaging_reshare", "composing"), TORN
    )
    assert (ada.state, ada.entered, ada.pending_action) == (AgentState.EVALUATING, 2, None)


def test_a_choice_takes_its_first_option_when_nobody_may_be_asked() -> None:
    ada = person(agent_id=7)
    answer = turn(SOCIAL_CHART, ada, trigger("decides", TORN), ask=False)
    assert answer == Update[str](6, 7, "decides", "evaluating", "scrolling", Source.RULE)


def test_a_choice_of_one_option_is_taken_without_asking() -> None:
    answer = turn(chart_of(decides(AgentState.COMPOSING, oracle=True)), Person(), trigger("decides"))
    assert isinstance(answer, Update)
    assert (answer.to_state, answer.source) == ("composing", Source.RULE)


def test_what_the_agent_is_about_to_do_is_the_updates_effect() -> None:
    ada = person(agent_id=7)
    answer = turn(SOCIAL_CHART, ada, trigger("decides", GREAT))
    assert isinstance(answer, Update)
    assert answer.effect == ada.pending_action
    assert answer.effect in {"like", "reshare", "reply"}


@catalogue("source", [Source.ORACLE, Source.FALLBACK])
@catalogue("state", ["scrolling", "engaging_like", "engaging_reshare", "composing"])
def test_a_decision_moves_the_agent_to_any_option(state: str, source: Source) -> None:
    ada = person(agent_id=7)
    decision = Decision(state, source, 6, "timeout" if source is Source.FALLBACK else "")
    answer = turn(SOCIAL_CHART, ada, trigger("decides", TORN, tick=10, decision=decision))
    effect = "reply" if state == "composing" else None
    assert answer == Update[str](10, 7, "decides", "evaluating", state, source, effect, decision.reason)
    assert (ada.state, ada.tick, ada.entered) == (state, 10, 10)


STALE = [
    *((state, 0, TORN) for state in ("resting", "idle", "engaging_reply", "sleeping", "")),  # no option
    ("composing", 8, TORN),  # the agent has come back to its state
    ("composing", 0, BORING),  # no choice any longer
]


@catalogue(("state", "entered", "view"), STALE)
def test_a_decision_that_came_to_nothing_is_stale(state: str, entered: int, view: PostView) -> None:
    decision = Decision(state, Source.ORACLE, 6)
    answer = turn(SOCIAL_CHART, person(agent_id=7, tick=entered), trigger("decides", view, tick=10, decision=decision))
    assert answer == Update[str](10, 7, "decides", "evaluating", "evaluating", Source.NO_ROW, None, "stale")


def test_a_decision_selects_its_rows_as_of_the_tick_of_the_question() -> None:
    chart = chart_of(
        decides(AgentState.COMPOSING, lambda agent, _: agent.ticks_in_state == 2),
        decides(AgentState.SCROLLING, says(True)),
    )
    assert isinstance(turn(chart, Person(tick=4), trigger("decides", tick=6)), Question)
    agent = Person(tick=10, ticks_in_state=6)
    answer = turn(chart, agent, trigger("decides", tick=10, decision=Decision("composing", Source.ORACLE, 6)))
    assert isinstance(answer, Update)
    assert (answer.to_state, answer.tick, agent.entered) == ("composing", 10, 10)


@catalogue("decision", [None, Decision("composing", Source.ORACLE, 6)])
def test_an_action_that_raises_reaches_the_caller_and_moves_nobody(decision: Decision | None) -> None:
    def fails(_agent: Any, _context: Any) -> None:
        raise OSError("disk full")

    marked = decision is not None
    rows = [Transition("decides", AgentState.EVALUATING, AgentState.COMPOSING, action=fails, oracle=marked)]
    agent = Person()
    with pytest.raises(OSError, match=r"^disk full$"):
        turn(Statechart(AgentState, rows, AgentState.IDLE), agent, trigger("decides", decision=decision))
    assert (agent.state, agent.state_history) == (AgentState.EVALUATING, [])


@pytest.mark.parametrize(
    "message",
    [
        Trigger[PostView](6, 7, "decides", TORN, Decision("composing", "fallback", 2, "timeout")),
        Update[str](6, 7, "decides", "evaluating", "composing", "oracle", "reply"),
        Question[PostView](6, 7, "decides", "evaluating", ("scrolling", "composing"), TORN),
    ],
)
def test_messages_survive_encoding_and_are_told_apart(message: Any) -> None:
    kinds = Trigger[PostView] | Update[str] | Question[PostView]
    decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(kinds)
    assert decoder.decode(msgspec.msgpack.encode(message)) == message
