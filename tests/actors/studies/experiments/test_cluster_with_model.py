"""An experiment with a model on a real Ray cluster of two nodes in two networks: one limit, one budget, one tape."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.actors.studies.experiments.cluster import in_namespace, why_not
from tests.actors.studies.experiments.cluster_with_model import CALLS_MAX, HERE, PLACES
from tests.wire.gateways import records


def journals(out: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in out.glob("cells/*/journal.prism")}


@pytest.mark.slow
@pytest.mark.timeout(420)
def test_cells_on_other_nodes_share_one_limit_one_budget_and_one_tape(short: Path) -> None:
    if reason := why_not("ray"):
        pytest.skip(reason)
    found = in_namespace(short, "tests.actors.studies.experiments.cluster_with_model")
    assert found["nodes"] == "2", "both nodes run cells"
    assert found["peak"] == str(PLACES), "one limit, which is used"
    assert found["asked_again"] == "0", "a killed process loses no answer, and none is paid for twice"
    assert (short / "struck" / "results.csv").read_bytes() == (short / "here" / "results.csv").read_bytes()
    assert len(journals(short / "here")) == 4
    assert journals(short / "struck") == journals(short / "here")
    assert found["spent_calls"] == str(2 + CALLS_MAX), "the check of the server is no part of the budget"
    assert f"the budget of the experiment is spent: {CALLS_MAX} of oracle.max_calls {CALLS_MAX}" in found["spent"]
    assert len(records(short / "spent" / "tape.sqlite")) == CALLS_MAX
    assert "cannot reach the gateway: 127.0.0.1:" in found["no_way"]
    assert "is on the command's machine alone; set oracle.address to an address" in found["no_way"]
    assert HERE not in found["no_way"]
