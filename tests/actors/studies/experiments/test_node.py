"""The work of a node of a cluster, without the cluster: a cell with its files, and the parcel that is sent back."""

from __future__ import annotations

import os
import re
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from actors.results.result import read_result
from actors.studies.experiments import node, parcels
from actors.studies.experiments.cells import Done, Task, cell_path, work
from actors.studies.experiments.node import Order, Sort, discard, load_here, order_of, piece_of, run_order, sort_here
from actors.studies.experiments.parcels import Arrival, Parcel, pack
from actors.studies.experiments.plan import Cell, make_plan
from tests.actors.studies.experiments.files import write_experiment
from tests.catalogue import catalogue

RING = "".join(f"{each} {(each + 1) % 60}\n" for each in range(60))
GRAPH_BASE = "simulation: {rounds: 1, ticks_per_round: 4}\npopulation: {size: 60, graph: {path: graph.txt}}\n"


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "node"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    monkeypatch.chdir(tmp_path)


def cell_with_graph(directory: Path) -> Cell:
    (directory / "graph.txt").write_text(RING)
    return make_plan(write_experiment(directory, base=GRAPH_BASE)).cells[0]


def order(cell: Cell, path: str | None = None, sort: Sort | None = None) -> Order:
    return order_of(cell, path, "e")._replace(sort=sort or sort_here())


def fetched(*_: str) -> bytes:
    return RING.encode()


def test_a_cell_on_a_node_has_the_digest_of_the_cell_here_and_needs_no_file_there(tmp_path: Path) -> None:
    cell = cell_with_graph(tmp_path)
    here = tmp_path / "here"
    assert work(Task(cell.config, here, cell.inputs)).problem == ""
    (tmp_path / "graph.txt").unlink()
    returned = run_order(order(cell), "n1", fetched)
    assert returned.done.problem == ""
    assert returned.parcel is not None
    arrival = Arrival(returned.parcel, cell_path(tmp_path, cell))
    assert arrival.wanted is None
    assert arrival.settle()
    arrival.close()
    there = read_result(cell_path(tmp_path, cell))
    assert there.summary.digest == read_result(here).summary.digest
    assert (cell_path(tmp_path, cell) / "log.jsonl").exists()
    assert [path.name for path in (tmp_path / "node").rglob("*") if path.is_file()] == [*cell.inputs.values()]


def test_a_damaged_input_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"the input file graph\.txt was damaged on its way"):
        run_order(order(cell_with_graph(tmp_path)), "n1", lambda _: b"0 1\n")


@catalogue(
    ("other", "said"),
    [
        (Sort("3.9", "1", "c"), "Python 3.11, not 3.9"),
        (Sort("3.11", "0.0.1", "c"), ", not 0.0.1"),
    ],
)
def test_a_node_with_other_versions_runs_nothing_and_says_which(tmp_path: Path, other: Sort, said: str) -> None:
    mine = Sort("3.11", "1", "c")
    assert said in mine.differs_from(other)
    assert mine.differs_from(mine) == ""
    returned = run_order(order(cell_with_graph(tmp_path), sort=other), "n1", fetched)
    assert returned.parcel is None
    assert "install the same on all nodes" in returned.done.problem


def test_a_shared_directory_that_a_node_does_not_have_is_named(tmp_path: Path) -> None:
    cell = cell_with_graph(tmp_path)
    returned = run_order(order(cell, path="/no/such/cells/k"), "n1", fetched)
    assert returned.done.problem.startswith("/no/such/cells: no such directory on the node ")
    (tmp_path / "cells").mkdir()
    shared = run_order(order(cell, path=str(tmp_path / "cells" / cell.key)), "n1", fetched)
    assert (shared.done.problem, shared.parcel) == ("", None)
    assert read_result(tmp_path / "cells" / cell.key).is_done


def test_a_large_parcel_comes_in_pieces_and_is_discarded_when_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parcels, "PIECE_BYTES", 1000)
    cell = cell_with_graph(tmp_path)
    returned = run_order(order(cell), "n1", fetched)
    assert returned.parcel is not None
    assert returned.parcel.pieces > 2
    arrival = Arrival(returned.parcel, cell_path(tmp_path, cell))
    while (number := arrival.wanted) is not None:
        content = piece_of("e", cell.key, number)
        assert content is not None
        arrival.add(content)
    assert arrival.settle()
    arrival.close()
    assert read_result(cell_path(tmp_path, cell)).is_done
    discard("e", cell.key)
    assert piece_of("e", cell.key, 0) is None


def test_a_parcel_that_was_damaged_leaves_what_is_there(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "cells" / "k"
    source.mkdir()
    (source / "summary.json").write_text("new")
    target.mkdir(parents=True)
    (target / "summary.json").write_text("old")
    whole = pack(source, tmp_path / "parcel")
    damaged = Arrival(Parcel(size=whole.size, sha256=whole.sha256, first=whole.first[:-1] + b"?"), target)
    assert not damaged.settle()
    damaged.close()
    assert [path.name for path in target.parent.iterdir()] == ["k"]
    assert (target / "summary.json").read_text() == "old"
    arrived = Arrival(whole, target)
    assert arrived.settle()
    arrived.close()
    assert (target / "summary.json").read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["k"]


@catalogue("name", ["../out", "/tmp/out", "a/../../out"])
def test_a_parcel_has_no_file_outside_of_its_directory(tmp_path: Path, name: str) -> None:
    packed = tmp_path / "parcel"
    with tarfile.open(packed, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo(name))
    parcel = Parcel(
        size=packed.stat().st_size, sha256=sha256(packed.read_bytes()).hexdigest(), first=packed.read_bytes()
    )
    arrived = Arrival(parcel, tmp_path / "cells" / "k")
    with pytest.raises(OSError, match=f"cannot be unpacked: {re.escape(repr(name))} is no file of a cell"):
        arrived.settle()
    arrived.close()
    assert list((tmp_path / "cells").iterdir()) == []


def test_a_node_counts_the_cells_of_living_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = list[int | None]()

    def look(*_: object) -> Done:
        counted.append(load_here("e", "n1").cells)
        counted.append(load_here("e", "n2").cells)
        return Done("no")

    monkeypatch.setattr(node, "work", look)
    run_order(order(cell_with_graph(tmp_path)), "n1", fetched)
    assert counted == [1, 0]
    running = next((tmp_path / "node").rglob("n1"))
    (running / "999999999").touch()
    assert load_here("e", "n1").cells == 0
    assert not any(running.iterdir())


def test_a_place_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = cell_with_graph(tmp_path)
    monkeypatch.setattr("os.getuid", lambda: os.geteuid() + 1)
    with pytest.raises(PermissionError, match="belongs to somebody else"):
        run_order(order(cell), "n1", fetched)
