"""The work of a node of a cluster, without the cluster, and directories for temporary files with long names."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from actors.results.result import read_result
from actors.studies.experiments import on_ray
from actors.studies.experiments.cells import Task, cell_path, work
from actors.studies.experiments.on_ray import network_here, no_way_to, order_of, put, run_order
from actors.studies.experiments.plan import Cell, make_plan
from actors.studies.gateway.place import GatewayPlace
from tests.actors.studies.experiments.files import write_experiment
from tests.wire.gateways import planned

RING = "".join(f"{each} {(each + 1) % 60}\n" for each in range(60))
GRAPH_BASE = "simulation: {rounds: 1, ticks_per_round: 4}\npopulation: {size: 60, graph: {path: graph.txt}}\n"


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "node"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(on_ray, "REACH_WAIT_S", 0.0)


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    (tmp_path / "graph.txt").write_text(RING)
    return make_plan(write_experiment(tmp_path, base=GRAPH_BASE)).cells[0]


def fetched(*_: str) -> bytes:
    return RING.encode()


def test_a_cell_on_a_node_has_the_digest_of_the_cell_here_and_needs_no_file_there(cell: Cell, tmp_path: Path) -> None:
    here, there = tmp_path / "here", cell_path(tmp_path, cell)
    assert work(Task(cell.config, here, cell.inputs)).problem == ""
    (tmp_path / "graph.txt").unlink()
    returned = run_order(order_of(cell), fetched)
    assert returned.done.problem == ""
    assert returned.files is not None
    put(returned.files, there)
    put(returned.files, there)  # a second time: it replaces the first
    assert read_result(there).summary.digest == read_result(here).summary.digest
    assert {path.name for path in there.iterdir()} == {path.name for path in here.iterdir()} - {"run.lock"}
    assert [path.name for path in there.parent.iterdir()] == [cell.key]
    assert [*(tmp_path / "node").iterdir()] == []


def test_what_a_node_cannot_run_is_refused_in_one_line(cell: Cell, tmp_path: Path) -> None:
    other = {**order_of(cell).versions, "PRISM": "0.0.1"}
    said = run_order(order_of(cell)._replace(versions=other), fetched).done.problem
    assert said.endswith(", not 0.0.1; install the same on all nodes")
    with pytest.raises(OSError, match=r"the input file graph\.txt was damaged on its way"):
        run_order(order_of(cell), lambda _: b"0 1\n")
    for name in ("../out", "/tmp/out"):
        with pytest.raises(OSError, match="is no file of a cell"):
            put({name: b""}, tmp_path / "cells" / "k")
    assert not [*(tmp_path / "cells").iterdir()]


def test_a_gateway_that_listens_is_reached_and_a_cell_without_a_way_to_its_own_does_not_begin(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = GatewayPlace(
            address=f"http://127.0.0.1:{server.getsockname()[1]}", token="secret", services=frozenset()
        )
        assert no_way_to(place, network_here()) == ""
    assert "cannot reach the gateway: nothing answers at 127.0.0.1:" in no_way_to(place, network_here())
    asks = order_of(planned(tmp_path, "http://127.0.0.1:9").cells[0])._replace(
        network="another", gateway=place, inputs={}
    )
    said = run_order(asks, fetched).done.problem
    assert said.endswith(
        "is on the command's machine alone; set oracle.address to an address of the command's machine that all nodes "
        "reach"
    )
    short = make_plan(write_experiment(tmp_path)).cells[0].config
    short = msgspec.structs.replace(short, simulation=msgspec.structs.replace(short.simulation, rounds=1))
    asks_nobody = run_order(asks._replace(config=short, key="k"), fetched)
    assert asks_nobody.done.problem == "", "a cell that asks no model needs no way"


PROGRAM = """
from actors.core.forkserver import forkserver

if __name__ == "__main__":
    process = forkserver().Process(target=print, args=("begun",))
    process.start()
    process.join()
"""


@pytest.mark.slow
def test_processes_begin_with_a_long_directory_for_temporary_files(tmp_path: Path) -> None:
    place = tmp_path / ("x" * 90)
    place.mkdir()
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-P", str(tmp_path / "program.py")]
    ended = subprocess.run(
        command, env={**os.environ, "TMPDIR": str(place)}, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "begun\n"), ended.stderr
    assert [*place.iterdir()] == []
