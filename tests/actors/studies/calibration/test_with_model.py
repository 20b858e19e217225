"""A calibration whose base asks a model: its plan, and what its limits change."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from actors.cli.calibrate import calibrate
from actors.studies.calibration.calibration_plan import make_calibration_plan
from tests.actors.studies.calibration.files import CALIBRATION, write_calibration
from tests.plain import plain_text
from tests.wire.gateways import MODEL_BASE, PRICES


def written(directory: Path, host: str, oracle: str) -> Path:
    base = plain_text(MODEL_BASE.format(host=host, backend="openai", temperature=0.7, prices=PRICES))
    return write_calibration(directory, f"{CALIBRATION}oracle: {oracle}\n", base)


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
