"""The colours of the dashboards and the looks of states: one for each state everywhere, and told apart by all."""

import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations, pairwise

import pytest

from actors.core.phase import Phase
from deploy.grafana.boards import BOARDS, PHASE_NAMES, PHASES
from prism.agents import MOVED
from prism.economy.chart import ECONOMY_CHART
from prism.palette import HUES, MARK_TEXTS, MARKS, NATIONS, PEOPLE, SOURCES, state_styles
from prism.social.chart import SOCIAL_CHART
from tests.catalogue import catalogue
from tests.deploy.test_dashboards import panels

Rgb = tuple[float, float, float]
NEIGHBOURS, ANY, GROUND = 24.0, 15.0, 20.0
"""The least differences in CIE L*a*b*, where 2 can just be seen: of neighbours in a stack, of any two, of a ground."""
GROUNDS = ("#181b1f", "#ffffff")
"""The ground of a panel in Grafana's dark and light theme."""
SIGHT: Mapping[str, tuple[Rgb, Rgb, Rgb]] = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
"""What is seen of linear RGB. Source: Machado, Oliveira and Fernandes (2009), full severity."""


def linear(color: str) -> Rgb:
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return _linear(red), _linear(green), _linear(blue)


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def times(rows: tuple[Rgb, Rgb, Rgb], color: Rgb) -> Rgb:
    first, second, third = (sum(weight * part for weight, part in zip(row, color, strict=True)) for row in rows)
    return first, second, third


def lab(color: Rgb) -> Rgb:
    """Return CIE L*a*b* of linear sRGB, under D65."""
    red, green, blue = (min(1.0, max(0.0, part)) for part in color)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(first: str, second: str) -> float:
    """Return the difference of two colours to whoever sees least of it."""
    return min(
        math.dist(lab(times(sight, linear(first))), lab(times(sight, linear(second)))) for sight in SIGHT.values()
    )


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
