"""What the plan of an experiment says of a model: calls, money, and whether the budget is enough."""

from __future__ import annotations

from pathlib import Path

from actors.cli.experiment_calls import asked_together
from actors.runs.forecast import Forecast
from actors.studies.experiments.shared_oracle import TAPE, asking_of
from actors.studies.gateway.tape import ExperimentTape, Kept
from tests.catalogue import catalogue
from tests.wire.gateways import planned

FORECAST = Forecast(
    calls=100,
    questions=100,
    prompt_tokens=10_000,
    completion_tokens=2_000,
    usd=3.0,
    hours=0.1,
    latency_s=1.0,
    tick_s=0.1,
    activations=100.0,
    memory_bytes=1e8,
    journal_bytes=1e3,
    agents=10,
    ticks=10,
)


@catalogue(
    ("oracle", "expected"),
    [
        ("{max_usd: 7}", "$7.00 for all cells, $1.00 used so far; enough"),
        ("{max_calls: 201}", "201 calls for all cells, 1 used so far; enough"),
        ("{max_tokens: 24000}", "24,000 tokens for all cells, 12 used so far; not enough: cells stop there; "),
    ],
)
def test_the_plan_says_whether_the_budget_is_enough_with_what_is_used(
    tmp_path: Path, oracle: str, expected: str
) -> None:
    tape = ExperimentTape(tmp_path / TAPE, "record")
    tape.add(Kept(key="k", status=200, usd=1.0, read=10, written=2))
    tape.close()
    found = dict(
        asked_together(asking_of(planned(tmp_path, "http://127.0.0.1:9", oracle)), tmp_path, [[FORECAST] * 2]).rows
    )
    assert found["calls"] == "about 200 to a model, $6.00; 8 at once over all cells"
    assert found["budget"].startswith(expected)
