"""The driver of an experiment, with processes that are killed, files that change and directories that are no runs."""

import os
import signal
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import pytest

from actors.results.result import read_result
from actors.store.lock import locked
from actors.studies.experiments.cells import (
    KILLED,
    LOST,
    Done,
    Executor,
    LostError,
    Task,
    Where,
    cell_path,
    count_done,
    opened,
    work,
)
from actors.studies.experiments.outcome import _cell
from actors.studies.experiments.plan import Cell, make_plan
from tests.actors.studies.experiments.files import write_experiment
from tests.catalogue import catalogue


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return make_plan(write_experiment(tmp_path)).cells[0]


def killed(marked: Path, task: Task) -> Done:
    """Kill the process of one cell, when another one is at work too; each try leaves a line."""
    with marked.with_suffix(".tries").open("a") as file:
        file.write(f"{task.path.name}\n")
    if task.path.name == marked.read_text():
        os.kill(os.getpid(), signal.SIGKILL)
    return Done()


def test_the_cells_beside_one_that_kills_its_process_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(write_experiment(tmp_path))
    guilty, marked = plan.cells[1], tmp_path / "guilty"
    marked.write_text(guilty.key)
    monkeypatch.setattr("actors.studies.experiments.cells.work", partial(killed, marked))
    ended = list[str]()
    with opened(Where(jobs=3)) as executor:
        problems = executor.run(plan.cells, tmp_path, lambda cell, _: ended.append(cell.key))
        assert executor.standing.losses[KILLED] >= 3
    assert problems == {guilty.key: "its process was killed 3 times; is there enough memory?"}
    assert sorted(ended) == sorted(cell.key for cell in plan.cells)
    assert marked.with_suffix(".tries").read_text().split().count(guilty.key) >= 2


class Unlucky(Executor):
    """A place that loses its node once with each cell."""

    begun: list[str]

    def at_once(self, *, are_suspect: bool) -> int:
        return 1 if are_suspect else 9

    def begin(self, cell: Cell, out: Path) -> Future[Done]:
        self.begun = [*getattr(self, "begun", []), cell.key]
        begun = Future[Done]()
        begun.set_result(Done())
        return begun

    def end(self, cell: Cell, begun: Future[Done], out: Path) -> Done:
        if self.begun.count(cell.key) == 1:
            raise LostError(LOST, "its node was lost")
        return begun.result()

    def stop(self) -> None: ...


def test_cells_that_lose_their_node_are_begun_again(tmp_path: Path) -> None:
    cells, place = make_plan(write_experiment(tmp_path)).cells[:2], Unlucky()
    assert place.run(cells, tmp_path, lambda *_: None) == {}
    keys = [each.key for each in cells]  # which of two cells ended first is not known
    assert place.begun in (2 * keys, [*keys, *reversed(keys)])
    assert (place.standing.losses, place.standing.done) == ({LOST: 2}, 2)


def test_an_error_of_somebody_elses_code_is_a_problem_of_its_cell(
    cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("in a domain")

    monkeypatch.setattr("actors.studies.experiments.cells.run", fail)
    assert "raised ZeroDivisionError: in a domain" in work(Task(cell.config, cell_path(tmp_path, cell), {})).problem


def test_a_directory_that_another_process_begins_is_not_discarded(
    cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = cell_path(tmp_path, cell)
    path.mkdir(parents=True)
    monkeypatch.setattr("actors.studies.experiments.cells.LOCKED_WAIT_S", 0.0)
    with locked(path):
        assert work(Task(cell.config, path, {})).problem == f"{path}: another process still works on it"
        assert path.exists()


def stubborn(marked: Path, task: Task) -> Done:
    """Let the marked cell take no notice of SIGTERM, as somebody else's code may; the other one waits for it."""
    guilty = marked.read_text()
    pipe = marked.with_suffix(".pipe")
    if task.path.name != guilty:
        return Done(pipe.read_text())
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pipe.write_text(f"{os.getpid()}")
    while True:
        signal.pause()


def test_an_interrupted_experiment_ends_also_if_a_cell_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(write_experiment(tmp_path))
    marked, told = tmp_path / "guilty", list[str]()
    marked.write_text(plan.cells[0].key)
    os.mkfifo(marked.with_suffix(".pipe"))
    monkeypatch.setattr("actors.studies.experiments.cells.work", partial(stubborn, marked))

    def interrupt(_: Cell, done: Done) -> None:
        told.append(done.problem)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), opened(Where(jobs=2)) as executor:
        executor.run(plan.cells[:2], tmp_path, interrupt)
    assert told
    assert not Path(f"/proc/{told[0]}").exists()


def test_an_input_file_that_changes_after_the_plan_leaves_no_run_under_the_old_key(tmp_path: Path) -> None:
    graph = tmp_path / "graph.txt"
    ring = "".join(f"{each} {(each + 1) % 60}\n" for each in range(60))
    graph.write_text(ring)
    base = "simulation: {rounds: 1, ticks_per_round: 4}\npopulation: {size: 60, graph: {path: graph.txt}}\n"
    cell = make_plan(write_experiment(tmp_path, base=base)).cells[0]
    graph.write_text(ring + "0 2\n")
    path = cell_path(tmp_path, cell)
    done = work(Task(cell.config, path, cell.inputs))
    assert done.problem.endswith("has changed since the plan was made, so the run is discarded")
    assert not path.exists()
    graph.write_text(ring)
    assert work(Task(cell.config, path, cell.inputs)).problem == ""
    assert count_done(tmp_path) == 1


def test_a_cell_that_was_killed_before_its_journal_existed_is_run_anew(cell: Cell, tmp_path: Path) -> None:
    path = cell_path(tmp_path, cell)
    task = Task(cell.config, path, cell.inputs)
    assert work(task).problem == ""
    digest = read_result(path).summary.digest
    for left in path.iterdir():
        if left.name not in {"config.yaml", "manifest.json", "run.lock"}:
            left.unlink()
    assert work(task).problem == ""
    assert read_result(path).summary.digest == digest


@catalogue(
    ("value", "cell"),
    [("=1+1", "'=1+1"), ("\uff1d1", "'\uff1d1"), ("'", "''"), ("", ""), (True, "true"), (2, 2), ([1], "[1]")],
)
def test_a_cell_of_the_table_is_no_formula(value: object, cell: object) -> None:
    assert _cell(value) == cell
