"""The questions that a chart's rows are meant for, and their options, as the chart knows them beforehand."""

from __future__ import annotations

from prism.economy.chart import ECONOMY_CHART
from prism.social.chart import SOCIAL_CHART
from prism.statechart import AgentState, Statechart, Transition, question_kinds
from tests.catalogue import catalogue

SCROLLING, EVALUATING, COMPOSING = AgentState.SCROLLING, AgentState.EVALUATING, AgentState.COMPOSING


def test_the_options_are_those_of_the_rows_for_the_oracle() -> None:
    four = ("scrolling", "engaging_like", "engaging_reshare", "composing")
    assert question_kinds(SOCIAL_CHART) == {("evaluating", "decides"): four}


def test_one_option_alone_is_no_question_with_fixed_options() -> None:
    assert question_kinds(ECONOMY_CHART) == {("proposed", "review"): ("rejected", "accepted")}


@catalogue("oracle", [None, True])
def test_a_row_without_a_target_offers_all_targets_of_its_trigger(oracle: bool | None) -> None:
    rows = [
        Transition("decides", EVALUATING, COMPOSING, guard=lambda *_: False),
        Transition("decides", EVALUATING, SCROLLING, guard=lambda *_: True),
        Transition("decides", EVALUATING, None, oracle=oracle),
    ]
    chart = Statechart(states=(EVALUATING, COMPOSING, SCROLLING), initial=EVALUATING, transitions=rows)
    # As in a question, the most passive option comes first.
    assert question_kinds(chart) == {("evaluating", "decides"): ("scrolling", "composing")}


def test_questions_that_only_overlapping_guards_make_have_no_options_beforehand() -> None:
    rows = [
        Transition("decides", EVALUATING, COMPOSING, guard=lambda *_: True),
        Transition("decides", EVALUATING, SCROLLING, guard=lambda *_: True),
    ]
    chart = Statechart(states=(EVALUATING, COMPOSING, SCROLLING), initial=EVALUATING, transitions=rows)
    assert question_kinds(chart) == {}
