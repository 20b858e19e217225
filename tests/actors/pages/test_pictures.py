"""Pictures of pages: rows of charts are full, and no label is cut."""

from __future__ import annotations

import pytest

from actors.pages.page_frame import _sizes
from actors.pages.picture import WORDS, style, wrapped
from actors.pages.rows import Row, rows_picture
from tests.catalogue import catalogue

PARTS = {"third": 2, "half": 3, "whole": 6}


@catalogue("charts", range(13))
def test_every_row_of_charts_is_full_and_the_first_charts_are_the_largest(charts: int) -> None:
    sizes = [PARTS[size] for size in _sizes(charts)]
    assert len(sizes) == charts
    assert sizes == sorted(sizes, reverse=True)
    room = 6
    for size in sizes:
        room -= size
        assert room >= 0
        room = room or 6
    assert room == 6


def test_no_word_of_a_long_label_is_cut() -> None:
    text = "the share of people who have seen a post about politics before the end of the third round, " * 3
    lines = wrapped(text).splitlines()
    assert " ".join(lines) == text.strip()
    assert max(map(len, lines)) <= WORDS
    with style():
        short, long = (rows_picture([Row(words, 1.0, 0.0, 2.0)], "posts") for words in ("likes", text))
    assert long.axes[0].texts[0].get_text() == wrapped(text)
    assert long.get_size_inches()[1] - short.get_size_inches()[1] == pytest.approx((len(lines) - 1) * 12 / 72)
