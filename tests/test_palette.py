"""The looks of states: fixed for the shipped charts, different for the states of any other."""

from __future__ import annotations

from itertools import combinations

import pytest

from prism.palette import HUES, MARK_TEXTS, MARKS, NATIONS, PEOPLE, state_styles
from tests.deploy.test_palette import ANY, difference


@pytest.mark.parametrize("fixed", [PEOPLE, NATIONS], ids=["people", "nations"])
def test_the_states_of_a_shipped_chart_have_their_colours_in_any_order(fixed: dict[str, str]) -> None:
    styles = state_styles(list(fixed))
    assert {state: style.color for state, style in styles.items()} == fixed
    assert styles == state_styles(list(reversed(fixed)))
    assert len({style.mark for style in styles.values()}) == len(fixed)


def test_up_to_64_states_of_another_chart_look_different() -> None:
    styles = state_styles([f"state {number}" for number in range(64)])
    assert len(set(styles.values())) == 64
    assert styles["state 0"].color == HUES[0]
    assert len({styles[f"state {number}"].mark for number in range(8)}) == 8


def test_all_hues_can_be_told_apart_and_each_mark_has_a_character() -> None:
    assert all(difference(*pair) >= ANY for pair in combinations(HUES, 2))
    assert len(MARKS) == len(MARK_TEXTS) == len(set(MARK_TEXTS))
