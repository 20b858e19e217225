"""The course of a run: what is left out at a caller's wish, and what a run is known by beside it."""

from __future__ import annotations

from pathlib import Path

from actors.record.course import read_course
from actors.record.run import Recorded


def test_points_in_time_are_means_that_sum_to_all_agents(embedded: Path) -> None:
    course = read_course(embedded, each_ticks=5)
    assert len(course.people) == -(-course.ticks // 5)
    assert {round(sum(point.values()), 9) for point in course.people[1:]} == {course.header.agents}
    assert read_course(embedded).people == []


def test_rounds_end_among_the_ticks_that_are_asked_for(embedded: Path) -> None:
    read = Recorded(embedded)
    each = read.config.simulation.ticks_per_round
    assert read.rounds["tick"][-1] == read.summary_fields["ticks"]
    assert read.rounds_until(2 * each - 1)["round"] == [1]
    assert {*map(len, read.rounds_until(each - 1).values())} == {0}
