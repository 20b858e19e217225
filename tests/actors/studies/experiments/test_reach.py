"""The way of a node to the gateway, over real sockets."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec
import pytest

from actors.studies.experiments import node
from actors.studies.experiments.node import Order, network_here, no_way_to, run_order, sort_here
from actors.studies.experiments.plan import make_plan
from actors.studies.gateway.service import GatewayPlace
from tests.actors.studies.experiments.files import write_experiment
from tests.wire.gateways import planned


def at(address: str) -> GatewayPlace:
    return GatewayPlace(address=address, token="secret", services={})


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "REACH_WAIT_S", 0.0)
    monkeypatch.setattr(node, "REACH_EVERY_S", 0.0)


def test_a_gateway_that_listens_is_reached_and_one_that_is_gone_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert no_way_to(at(f"http://127.0.0.1:{port}"), network_here()) == ""
    assert no_way_to(at(f"http://127.0.0.1:{port}"), network_here()) == (
        f"the node {socket.gethostname()} cannot reach the gateway: nothing answers at 127.0.0.1:{port}, "
        "or the port is closed to it; set oracle.address to an address of the command's machine that all nodes reach"
    )


def test_a_cell_on_a_node_without_a_way_does_not_begin(tmp_path: Path) -> None:
    cell = planned(tmp_path, "http://127.0.0.1:9").cells[0]
    order = Order(cell.key, cell.config, {}, None, sort_here(), "e", "another network", at("http://127.0.0.1:1"))
    returned = run_order(order, "n", lambda _: b"")
    assert "cannot reach the gateway" in returned.done.problem
    assert returned.parcel is None
    chart = make_plan(write_experiment(tmp_path)).cells[0].config
    short = msgspec.structs.replace(chart, simulation=msgspec.structs.replace(chart.simulation, rounds=1))
    asks_nobody = run_order(order._replace(config=short, key="k"), "n", lambda _: b"")
    assert asks_nobody.done.problem == "", "a cell that asks no model needs no way"
