"""Drawings: each format has every state and every row, and is well-formed."""

import json
import re
from xml.etree import ElementTree as ET

from actors.plots import render, statechart
from actors.plots.statechart import BOX
from prism.economy.nation import ECONOMY_CHART
from prism.social.chart import SOCIAL_BEHAVIOUR, social_definition
from prism.statechart import Activity, Outline, flatten, mermaid, outline, read_chart
from tests.statechart.test_chart_file import vocabulary

SVG = "{http://www.w3.org/2000/svg}"
SOCIAL = outline(SOCIAL_BEHAVIOUR)
STATES = [path[-1].name for path in social_definition().walk()]
LEAVES = [state.value for state in SOCIAL_BEHAVIOUR.states]
RUN = Activity(
    agents=10,
    ticks=100,
    taken={("idle", "feed_ready", "scrolling"): 1234, ("evaluating", "round_ends", "idle"): 5},
    dwell_ticks={"idle": 30.92},
    shares={"idle": 0.793, "scrolling": 0.207},
)
STRANGE = """
initial: a
name: 'A <chart> & "more"'
states:
  a:
    description: 'x < y & "z"'
    transitions:
      - {trigger: t, target: a}
      - {trigger: u, target: b, when: agent.mood > 3}
      - {trigger: u}
  b:
"""


def svg(chart: Outline) -> str:
    return render(statechart(chart, chart.definition.name), has_title=True)


def texts_of(picture: str) -> list[str]:
    """Return the texts of a picture; those of several lines are one."""
    return [" ".join(each.itertext()) for each in ET.fromstring(picture).iter(f"{SVG}text")]


def test_mermaid_nests_states_and_marks_what_the_oracle_decides() -> None:
    text = mermaid(SOCIAL)
    assert text.startswith("stateDiagram-v2\n    [*] --> idle\n")
    assert text.count("{") == text.count("}") == 2
    assert "    evaluating --> engaging_like : decides?\n" in text
    assert "    online --> idle : round_ends\n" in text
    assert all(re.search(rf"\b{state}\b", text) for state in STATES)


def boxes_of(chart: Outline) -> dict[str, tuple[float, float]]:
    rows = [row for values in statechart(chart).to_dict()["datasets"].values() for row in json.loads(values)]
    return {row["words"]: (row["x"], row["y"]) for row in rows if row.get("words") in LEAVES}


def test_boxes_of_states_do_not_overlap_and_each_layer_begins_at_the_left() -> None:
    found = boxes_of(SOCIAL)
    assert found.keys() == set(LEAVES)
    for name, (x, y) in found.items():
        for other, (other_x, other_y) in found.items():
            assert name == other or abs(x - other_x) >= BOX[0] or abs(y - other_y) >= BOX[1] / 2
    # On a phone, which shows 344 pixels, the initial state and the first of each layer are seen.
    assert found["idle"][0] < 344 - BOX[0] / 2
    assert statechart(SOCIAL).width < 800


def test_a_run_and_a_chart_made_in_python_are_drawn_too() -> None:
    for draw in (mermaid, svg):
        text = draw(outline(SOCIAL_BEHAVIOUR, RUN))
        for part in ("feed_ready (1,234)", "round_ends (5)", "sees_post (0)", "79.3% of the time", "30.9 ticks a stay"):
            assert part in text
    for draw in (mermaid, svg):
        text = draw(outline(ECONOMY_CHART))
        for part in ("observing", "proposed", "rejected", "accepted", "applied", "turn_begins"):
            assert part in text


def test_texts_cannot_break_out_of_a_drawing() -> None:
    chart = outline(flatten(read_chart(STRANGE, "strange.yaml"), vocabulary()))
    assert any('A <chart> & "more"' in text for text in texts_of(svg(chart)))
    assert "the oracle chooses the target" in svg(chart)
    assert "<<choice>>" in mermaid(chart)
