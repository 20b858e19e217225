"""The counts of a chart's rows: which steps of a run belong to which row."""

from __future__ import annotations

from actors.runs.no_effect import covered_rows
from actors.store.course import Step
from prism.social.chart import social_behaviour
from prism.statechart import read_chart

CHART = """
initial: away
states:
  away:
    role: offline
    transitions: [{trigger: feed_ready, target: reading}]
  reading:
    role: browse
    transitions:
      - {trigger: sees_post, target: away, when: post.appeal > 0.5, oracle: true}
      - {trigger: sees_post, target: reading, when: post.appeal < 0.2, oracle: true}
      - {trigger: sees_post, target: reading}
      - {trigger: round_ends, target: away}
"""


def test_a_row_for_the_oracle_counts_when_it_was_the_only_option_and_nobody_was_asked() -> None:
    steps = {
        Step("reading", "sees_post", "away", False): 5,
        Step("reading", "sees_post", "away", True): 2,
        Step("reading", "sees_post", "reading", False): 30,
        Step("reading", "sees_post", "reading", True): 7,
    }
    rows = covered_rows(social_behaviour(read_chart(CHART, "c.yaml")), steps)
    assert [row.times for row in rows] == [0, 7, 7, 30, 0]
