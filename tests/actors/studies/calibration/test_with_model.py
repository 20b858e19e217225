"""A calibration whose base asks a model: one limit, one budget and one tape for all its runs."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from actors.cli.calibrate import calibrate
from actors.studies.calibration.calibration_plan import make_calibration_plan
from tests.actors.studies.calibration.files import CALIBRATION, write_calibration
from tests.plain import plain_text
from tests.standin import Latency, ModelServer, ServerSettings
from tests.wire.gateways import MODEL_BASE, PRICES, records

CALLS_MAX = 30


def written(directory: Path, host: str, oracle: str) -> Path:
    base = plain_text(MODEL_BASE.format(host=host, backend="openai", temperature=0.7, prices=PRICES))
    return write_calibration(directory, f"{CALIBRATION}oracle: {oracle}\n", base)


def ended(directory: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "actors.cli", "calibrate", "c.yaml", "--out", "out", "--jobs", "2", "--quiet"]
    found = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=240)
    return found.returncode, found.stderr


def test_the_plan_foretells_calls_and_money_beside_the_budget(tmp_path: Path) -> None:
    path = written(tmp_path, "http://127.0.0.1:9", "{max_concurrency: 3, max_usd: 0.5}")
    printed = CliRunner().invoke(calibrate, ["plan", str(path), "--out", str(tmp_path / "out")], env={"COLUMNS": "200"})
    assert printed.exit_code == 0, printed.output
    rows = {line.split("  ")[0].strip(): line for line in printed.output.splitlines()}
    assert "to a model, $" in rows["calls"]
    assert rows["calls"].rstrip().endswith("3 at once over all cells")
    assert "$0.5000 for all cells, $0.0000 used so far; not enough" in rows["budget"]


def test_limits_change_no_result_and_shared_answers_do(tmp_path: Path) -> None:
    hashes = [
        make_calibration_plan(written(tmp_path, "http://127.0.0.1:9", oracle)).hash
        for oracle in ("{}", "{max_calls: 7, max_concurrency: 2}", "{ask_once: true}")
    ]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.slow
def test_a_spent_budget_stops_a_calibration_and_a_larger_one_pays_for_nothing_twice(tmp_path: Path) -> None:
    with ModelServer(ServerSettings(slots=64, latency=Latency(mean_s=0.002))) as server:
        written(tmp_path, server.url, f"{{max_concurrency: 3, max_calls: {CALLS_MAX}}}")
        code, said = ended(tmp_path)
        assert code == 2
        assert f"the budget of the experiment is spent: {CALLS_MAX} of oracle.max_calls {CALLS_MAX}" in said
        assert server.statistics().calls == CALLS_MAX
        written(tmp_path, server.url, "{max_concurrency: 3}")
        code, said = ended(tmp_path)
        assert code in {0, 4}, said
        assert server.statistics().peak_in_flight == 3
        paid = server.statistics().calls
    tape = [line for line in records(tmp_path / "out" / "tape.sqlite") if line.get("is_call") is not False]
    assert len(tape) == paid > CALLS_MAX
    keys = Counter(str(line["key"]) for line in tape if line.get("asked_by"))
    assert max(keys.values()) == 1, "nothing is asked twice"
