"""The colours of the dashboards and the looks of states: one for each state everywhere, and told apart by all."""

import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from actors.core.phase import Phase
from deploy.grafana.boards import BOARDS, PHASE_NAMES, PHASES
from prism.agents import MOVED
from prism.economy.nation import ECONOMY_CHART
from prism.palette import HUES, MARK_TEXTS, MARKS, NATIONS, PEOPLE, SOURCES, state_styles
from prism.social.chart import SOCIAL_CHART
from tests.catalogue import catalogue
from tests.deploy.test_dashboards import panels

Numbers = NDArray[np.float64]
XYZ = np.array(((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505)))
XYZ /= np.array(((0.95047,), (1.0,), (1.08883,)))
NEIGHBOURS, ANY, GROUND = 24.0, 15.0, 20.0
"""The least differences in CIE L*a*b*, where 2 can just be seen: of neighbours in a stack, of any two, of a ground."""
GROUNDS = ("#181b1f", "#ffffff")
"""The ground of a panel in Grafana's dark and light theme."""
SIGHT: tuple[Numbers, ...] = (
    np.eye(3),
    np.array(((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998))),
    np.array(((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881))),
    np.array(((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039))),
)
"""What is seen of linear RGB with all colours, without red, green or blue.

Source: Machado, Oliveira and Fernandes (2009), full severity.
"""


def lab(color: str, sight: Numbers) -> Numbers:
    """Return CIE L*a*b* of a colour of sRGB, under D65, as this sight has it."""
    parts = np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(sight @ linear, 0.0, 1.0)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array((116 * y - 16, 500 * (x - y), 200 * (y - z)))


def difference(first: str, second: str) -> float:
    """Return the difference of two colours to whoever sees least of it."""
    return min(math.dist(lab(first, sight), lab(second, sight)) for sight in SIGHT)


def test_every_state_of_both_charts_has_a_colour_and_so_have_sources_and_phases() -> None:
    assert PEOPLE.keys() == {state.value for state in SOCIAL_CHART.states}
    assert NATIONS.keys() == {state.value for state in ECONOMY_CHART.states}
    assert SOURCES.keys() == {source.value for source in MOVED}
    assert PHASES.keys() == set(Phase)
    assert len(PHASE_NAMES) == len(Phase) + 1


@catalogue("colors", [PEOPLE, NATIONS, SOURCES])
def test_neighbours_in_a_stack_are_told_apart_by_everybody(colors: Mapping[str, str]) -> None:
    in_order = [colors[name] for name in sorted(colors)]
    assert all(difference(*pair) >= NEIGHBOURS for pair in pairwise(in_order))
    assert all(difference(*pair) >= ANY for pair in combinations(in_order, 2))
    assert all(difference(color, ground) >= GROUND for color in in_order for ground in GROUNDS)


def test_a_state_has_the_same_colour_on_every_panel() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for board in BOARDS:
        for panel in panels(board):
            for override in panel["fieldConfig"]["overrides"]:
                colors = [each["value"]["fixedColor"] for each in override["properties"] if each["id"] == "color"]
                found[override["matcher"]["options"]].update(colors)
    for name, color in {**PEOPLE, **NATIONS, **SOURCES}.items():
        assert found[name] == {color}, name


@pytest.mark.parametrize("fixed", [PEOPLE, NATIONS], ids=["people", "nations"])
def test_the_states_of_a_shipped_chart_have_their_colours_in_any_order(fixed: dict[str, str]) -> None:
    styles = state_styles(list(fixed))
    assert {state: style.color for state, style in styles.items()} == fixed
    assert styles == state_styles(list(reversed(fixed)))
    assert len({style.mark for style in styles.values()}) == len(fixed)


def test_up_to_144_states_of_another_chart_look_different() -> None:
    names = [f"state {number:03}" for number in range(144)]
    styles = state_styles(names)
    assert len(set(styles.values())) == 144
    assert styles["state 000"].color == HUES[0]
    first = [styles[name] for name in names[:12]]
    assert len({style.mark for style in first}) == len({style.color for style in first}) == 12
    assert len(state_styles([str(number) for number in range(150)])) == 150
    assert styles == state_styles(names[::-1])


def test_all_hues_can_be_told_apart_and_each_mark_has_a_character() -> None:
    assert len(HUES) == len(set(HUES)) == 12
    assert all(difference(*pair) >= ANY for pair in combinations(HUES, 2))
    assert all(difference(hue, ground) >= GROUND for hue in HUES for ground in GROUNDS)
    assert len(MARKS) == len(HUES)
    assert len(MARKS) == len(MARK_TEXTS) == len(set(MARK_TEXTS))
