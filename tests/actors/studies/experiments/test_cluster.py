"""Experiments on a real Ray cluster, and places that lose their workers."""

import socket
from concurrent.futures import Future
from pathlib import Path

import pytest

from actors.core.errors import PlaceError
from actors.factory import ray_cluster
from actors.studies.experiments.cells import KILLED, LOST, Done, Executor, LostError, Where, opened
from actors.studies.experiments.plan import Cell, make_plan
from tests.actors.studies.experiments.cluster import in_namespace, why_not
from tests.actors.studies.experiments.files import EXPERIMENT, write_experiment

BASE = """
simulation: {rounds: 12, ticks_per_round: 24}
population: {size: 60, graph: {path: graph.txt}, activity: {mean: 0.9, sigma: 0.1}}
"""


@pytest.mark.slow
@pytest.mark.timeout(420)
def test_a_killed_process_a_killed_node_and_a_killed_driver_change_nothing_in_the_table(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := why_not("ray", "grpc"):
        pytest.skip(reason)
    monkeypatch.chdir(short)
    (short / "graph.txt").write_text("".join(f"{each} {(each + 1) % 60}\n" for each in range(60)))
    write_experiment(short, EXPERIMENT.replace("seeds: 3", "seeds: 4"), BASE)
    found = in_namespace(short)
    plan = make_plan(short / "e.yaml")
    with opened(Where(jobs=2)) as executor:
        problems = executor.run(plan.cells, short / "here", lambda *_: None)
    assert problems == {}
    assert found["nodes"] == "2", "both nodes run cells"
    for name in ("struck", "killed", "client"):
        for cell in plan.cells:
            names = {path.name for path in (short / name / "cells" / cell.key).iterdir()}
            here = {path.name for path in (short / "here" / "cells" / cell.key).iterdir()}
            assert names == here - {"run.lock"}
            journals = [(short / each / "cells" / cell.key / "journal.prism").read_bytes() for each in (name, "here")]
            assert journals[0] == journals[1]
    tables = {(short / name / "results.csv").read_bytes() for name in ("struck", "killed", "client")}
    assert len(tables) == 1
    assert 0 < int(found["done_at_loss"]) < len(plan.cells)
    assert 0 < int(found["done_at_kill"]) < len(plan.cells)
    assert found["again"].count(", seed ") == len(plan.cells) - int(found["done_at_kill"]), "what was done is kept"
    assert found["no_client"] == (
        "prism: --on ray://127.0.0.1:9: nobody answers there; is the cluster up, and is it the right port? "
        "10001 is Ray's client\n"
    )


def test_what_is_no_place_is_refused() -> None:
    for on in ("rey", "ray://head", "head:", "a b:1"):
        with pytest.raises(PlaceError, match=f"--on {on}: expected processes, ray, ray://HOST:PORT or HOST:PORT"):
            opened(Where(on=on)).__enter__()


def test_an_address_at_which_nobody_answers_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "find_spec", lambda _: object())
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"ray://127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(PlaceError, match=f"--on {place}: nobody answers there; is the cluster up"):
        opened(Where(on=place)).__enter__()
    monkeypatch.setenv("RAY_ADDRESS", place)
    with pytest.raises(PlaceError, match=f"--on ray, RAY_ADDRESS={place}: nobody answers there; is the cluster up"):
        opened(Where(on="ray")).__enter__()


class Struck(Executor):
    """A place whose workers are killed with each cell, or whose node is lost once with each."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason, self.begun = reason, list[str]()

    def at_once(self, *, are_suspect: bool) -> int:
        return 1 if are_suspect else 9

    def begin(self, cell: Cell, out: Path) -> Future[Done]:
        self.begun.append(cell.key)
        begun = Future[Done]()
        begun.set_result(Done())
        return begun

    def end(self, cell: Cell, begun: Future[Done], out: Path) -> Done:
        if self.reason == KILLED or self.begun.count(cell.key) == 1:
            raise LostError(self.reason, "its worker was lost")
        return begun.result()

    def stop(self) -> None: ...


def test_a_cell_that_ends_its_process_three_times_has_failed(tmp_path: Path) -> None:
    ended = dict[str, str]()
    cells = make_plan(write_experiment(tmp_path)).cells[:2]
    place = Struck(KILLED)
    found = place.run(cells, tmp_path, lambda cell, done: ended.update({cell.key: done.problem}))
    assert found == ended == dict.fromkeys(ended, "its worker was lost 3 times; is there enough memory?")
    assert sorted(place.begun) == sorted(3 * [each.key for each in cells])
    assert place.standing.losses[KILLED] == 6
    place = Struck(LOST)
    assert place.run(cells, tmp_path, lambda *_: None) == {}
    assert [place.standing.losses[LOST], place.standing.done] == [2, 2]
