"""The record of an experiment: what its files say, whether it has ended, is going on, or is damaged."""

import json
from pathlib import Path

import numpy as np
import pytest

from actors.core.errors import RunDirectoryError
from actors.studies.experiments.record import CellState, read_experiment_record, read_over_time
from tests.actors.studies.experiments.files import (
    CONDITIONS,
    SEEDS,
    write_end,
    write_experiment_directory,
)
from tests.catalogue import catalogue

SHORT, LONG = CONDITIONS


@pytest.mark.slow
def test_of_an_experiment_that_is_going_on_what_is_done_is_worked_out(tmp_path: Path) -> None:
    record = read_experiment_record(write_experiment_directory(tmp_path / "e", done=SEEDS + 5))
    assert not record.is_final
    assert [cell.state for cell in record.cells].count(CellState.DONE) == SEEDS + 5
    comparison = record.outcome.comparisons[0]
    assert (comparison.difference.mean, comparison.difference.count) == (-10.0, 5)
    assert record.outcome.missing == {LONG: [6, 7, 8]}
    assert record.outcome.exploratory == []


@pytest.mark.slow
def test_measures_of_ones_own_are_not_executed(tmp_path: Path) -> None:
    measures = {"likes": "likes", "own": "harm:function"}
    record = read_experiment_record(write_experiment_directory(tmp_path / "e", measures=measures))
    assert record.values[SHORT, 1] == {"likes": 1.0}


@pytest.mark.slow
def test_a_result_that_was_lost_is_missing_and_the_end_is_the_end(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", done=2 * SEEDS - 1)
    before = read_experiment_record(path)
    write_end(path)
    record = read_experiment_record(path)
    assert (before.is_final, record.is_final) == (False, True)
    assert record.outcome.missing == {LONG: [8]}
    assert (record.values, record.outcome.comparisons) == (before.values, before.outcome.comparisons)


def test_a_new_plan_is_followed_once_it_is_made_and_the_old_outcome_is_not_its(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", done=4)
    write_end(path, missing={})
    plan = json.loads(next((path / "plans").iterdir()).read_bytes())
    plan["hash"], plan["cells_done"] = "cd" * 32, 4
    (path / "plans" / "002-cdcdcdcdcdcdcdcd.json").write_text(json.dumps(plan))
    record = read_experiment_record(path)
    assert (record.plan.hash, record.plans, record.is_final) == ("cd" * 32, 2, False)
    assert record.outcome.exploratory == []  # the first plan had the hypothesis, before any result


@catalogue(
    ("name", "content", "problem"),
    [
        ("plans/001-abababababababab.json", b"{", "holds a file that is no plan"),
        ("outcome.json", b"[]", "is no outcome"),
        ("", b"", "holds no plan yet"),
    ],
)
def test_a_file_that_is_damaged_or_missing_is_one_line_with_its_name(
    tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    path = write_experiment_directory(tmp_path / "e")
    if name:
        (path / name).write_bytes(content)
    else:
        (path / "plans" / "001-abababababababab.json").unlink()
    with pytest.raises(RunDirectoryError, match=problem) as caught:
        read_experiment_record(path)
    assert "\n" not in str(caught.value)


def test_bands_are_quantiles_of_the_cells(tmp_path: Path) -> None:
    record = read_experiment_record(write_experiment_directory(tmp_path / "e"))
    courses = read_over_time(record, [SHORT, LONG])
    likes = courses.over_time["likes"][LONG]
    assert list(likes.x) == [1, 2, 3, 4, 5, 6]
    values = [10 + seed for seed in range(1, SEEDS + 1)]  # in each round as many as in the first
    assert likes.middle == pytest.approx([np.median(values)] * 6)
    assert likes.low == pytest.approx([np.quantile(values, 0.05)] * 6)
    sizes = courses.sizes[SHORT]
    assert list(sizes.x) == [1, 2, 3, 4, 5]
    two = [(20 + seed + 3) / (83 + seed) for seed in range(1, SEEDS + 1)]
    assert sizes.middle[1] == pytest.approx(np.median(two))
    assert sizes.middle[4] == pytest.approx(np.median([3 / (83 + seed) for seed in range(1, SEEDS + 1)]))
