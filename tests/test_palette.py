"""The looks of states: fixed for the shipped charts, different for the states of any other."""

from __future__ import annotations

from itertools import combinations

import pytest

from prism.palette import HUES, MARK_TEXTS, MARKS, NATIONS, PEOPLE, state_styles
from tests.deploy.test_palette import ANY, GROUND, GROUNDS, difference


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
