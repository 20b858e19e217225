"""Experiments on a real Ray cluster, and places that lose their workers."""

import socket
from pathlib import Path

import pytest

from actors.core.errors import PlaceError
from actors.factory import ray_cluster
from actors.studies.experiments.cells import Where, opened
from actors.studies.experiments.plan import make_plan
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
