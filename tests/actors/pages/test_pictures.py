"""Grids of charts: every row of a page is full."""

from __future__ import annotations

from actors.pages.page_frame import _sizes
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
