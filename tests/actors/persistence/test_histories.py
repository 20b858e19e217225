"""Who says what is told exactly, and shortly where agents do what they did before."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.persistence import histories
from actors.persistence.histories import Said, tell, told

PEOPLE, SYMBOLS = 4_000, 6


def said(ticks: list[list[tuple[int, int]]]) -> Said:
    """Messages of these agents and symbols."""
    messages = [message for tick in ticks for message in tick]
    agents, symbols = (np.array([each[place] for each in messages], dtype=np.int64) for place in (0, 1))
    return Said.of(np.array([len(tick) for tick in ticks], dtype=np.int64), agents, symbols)


def routine(ticks: int, seed: int) -> Said:
    """People who come seldom, and then do five things, one in each tick; the third has an effect, which follows it."""
    draw, left = Random(seed), dict[int, int]()
    days = list[list[tuple[int, int]]]()
    for _ in range(ticks):
        left = {person: step + 1 for person, step in left.items() if step < 4}
        left |= {person: 0 for person in draw.sample(range(PEOPLE), 30) if person not in left}
        acting = sorted(left.items())
        effects = [(person, 5) for person, step in acting if step == 2]
        days.append([*acting, *effects])
    return said(days)


def assert_told(messages: Said, symbols: int) -> dict[str, bytes]:
    blocks = tell(messages, symbols)
    again = told(blocks, symbols)
    for field in Said._fields:
        assert np.array_equal(getattr(again, field), getattr(messages, field)), field
    return blocks


@given(st.lists(st.lists(st.tuples(st.integers(0, 40), st.integers(0, SYMBOLS - 1)), max_size=30), max_size=12))
def test_whoever_says_whatever_is_told_exactly(ticks: list[list[tuple[int, int]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histories, "_LEAST", 1)
        for least in (0, 64):  # with anybody foreseen, and with nobody
            patch.setattr(histories, "_RUN", least)
            assert_told(said(ticks), SYMBOLS)


def test_people_with_a_routine_are_named_when_they_come_and_not_again() -> None:
    messages = routine(60, seed=1)
    blocks = assert_told(messages, SYMBOLS)
    came = int((messages.symbols == 0).sum())
    named = len(blocks["gaps"]) // 4
    assert came <= named < 1.05 * came
    assert len(blocks["bits"]) < len(messages.agents) / 4
