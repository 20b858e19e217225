"""Pictures of pages: rows of charts are full, every seed has its line, and no label is cut."""

from __future__ import annotations

import numpy as np
import pytest

from actors.pages.cascade_charts import _by_followers
from actors.pages.experiment_charts import Row, course_charts, rows_picture
from actors.pages.page_frame import _sizes
from actors.pages.picture import WORDS, figure, style, wrapped
from actors.pages.series import GROUP_COLORS, GROUP_DASHES, Line, color_of, draw_line
from actors.studies.experiments.over_time import OverTime, _over_time
from prism.answers import INDICATORS
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


def test_every_seed_has_a_line_of_its_own_beside_the_median() -> None:
    x = np.arange(5.0)
    each = np.array([x, x + 1, x + 4])
    line = Line(x, np.median(each, axis=0), each.min(axis=0), each.max(axis=0), each)
    with style():
        axes = figure().subplots()
        draw_line(axes, line, 0)
    drawn = [[float(y) for y in np.asarray(one.get_ydata())] for one in axes.lines]
    assert drawn == [each[0].tolist(), each[1].tolist(), each[2].tolist(), each[1].tolist()]
    assert axes.lines[-1].get_linewidth() > 2 * axes.lines[0].get_linewidth()


def test_a_band_of_an_experiment_keeps_the_lines_of_its_first_seeds() -> None:
    band = _over_time([np.arange(4.0) + seed for seed in range(30)])
    assert band.cells == 30
    assert band.each.tolist() == [[0.0 + seed, 1.0 + seed, 2.0 + seed, 3.0 + seed] for seed in range(20)]


@catalogue("followers", [1.0, 10.0, 50.0, 99.0])
def test_authors_with_as_many_followers_have_one_place(followers: float) -> None:
    (row,) = _by_followers(np.full(11, followers), np.zeros(11))
    assert row[0] == followers + 1


def test_an_indicator_has_its_name_also_where_not_all_are_drawn() -> None:
    bands = {"gdp_growth": {"strong": _over_time([np.arange(4.0)])}}
    with style():
        (chart,) = course_charts(OverTime({}, bands, frozenset(INDICATORS), {}, 0))
    assert chart.title == "Growth of output by round"


def test_no_word_of_a_long_label_is_cut() -> None:
    text = "the share of people who have seen a post about politics before the end of the third round, " * 3
    lines = wrapped(text).splitlines()
    assert " ".join(lines) == text.strip()
    assert max(map(len, lines)) <= WORDS
    with style():
        short, long = (rows_picture([Row(words, 1.0, 0.0, 2.0, "#000000")], "posts") for words in ("likes", text))
    assert long.axes[0].texts[0].get_text() == wrapped(text)
    assert long.get_size_inches()[1] - short.get_size_inches()[1] == pytest.approx((len(lines) - 1) * 12 / 72)


def test_many_groups_differ_in_colour_or_dashes() -> None:
    looks = [(color_of(place), GROUP_DASHES[place % len(GROUP_DASHES)]) for place in range(40)]
    assert len(set(looks)) == 40
    assert len(set(GROUP_COLORS)) == 10
