"""The files of a result: a configuration that runs, or none if no fit is reported."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pytest
from rich.console import Console

from actors.cli.calibrate import result_parts
from actors.factory.config_file import read_config
from actors.factory.oracle_backends import calibration_label
from actors.studies.calibration import CONFIGURATION, RESULT, CalibrationPlan, make_calibration_plan, write_result
from prism.calibration.calibration_file import Budget, Point
from prism.calibration.comparison import Observed
from prism.calibration.procedure import Result, calibrated
from tests.actors.studies.calibration.files import CALIBRATION, write_calibration

pytest.importorskip("sklearn")


class StandIn:
    def __call__(self, step: str, points: Sequence[Point]) -> list[Observed]:
        assert step in Budget.__struct_fields__
        return [
            Observed(
                numbers={
                    "engagement": 0.75 - point.values["population.engagement_threshold"] + point.seed % 7 / 100,
                    "rounds.posts": 100.0 * point.values["population.posts_per_session"] + point.seed % 5,
                    "likes": 60.0 + point.seed % 3,
                }
            )
            for point in points
        ]


def result_of(path: Path) -> Result:
    """Return the result of a calibration of a made-up model."""
    plan = make_calibration_plan(path)
    return calibrated(plan.calibration, plan.values, plan.real, StandIn())


def shown(plan: CalibrationPlan, result: Result) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(*result_parts(plan, result), sep="\n")
    return captured.get()


def test_a_fit_is_written_with_what_it_was_fitted_to(tmp_path: Path) -> None:
    path, out = write_calibration(tmp_path), tmp_path / "out"
    out.mkdir()
    plan, result = make_calibration_plan(path), result_of(path)
    write_result(plan, out, result)
    config = read_config(out / CONFIGURATION, environment={})
    best = {each.parameter: each.best for each in result.estimates}
    assert config.population.engagement_threshold == best["population.engagement_threshold"]
    assert config.population.size == 60
    label = calibration_label(config)
    assert label is not None
    assert label.startswith("calibrated on 2 targets, holdout ")
    assert "changed" not in label
    content = (out / RESULT).read_bytes()
    assert config.run.calibration.result == sha256(content).hexdigest()
    document = json.loads(content)
    assert document["result"]["is_reported"] is True
    assert document["plan"] == plan.hash
    said = shown(plan, result)
    assert "The fit is " in said
    assert "ranks of known truths" in said
    assert "\\n" not in said


def test_a_fit_that_lacks_a_part_leaves_no_configuration(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / CONFIGURATION).write_text("of an earlier fit")
    text = CALIBRATION.replace(", holdout: 0.26", "").replace("  posts: {", '  "*po_sts* [a](b) | `c`": {')
    path = write_calibration(tmp_path, text)
    plan, result = make_calibration_plan(path), result_of(path)
    write_result(plan, out, result)
    assert not (out / CONFIGURATION).exists()
    said = shown(plan, result)
    assert "No fit is reported. What it lacks:" in said
    assert said.count("no part of the data is held out: give `holdout` a share of the data") == 1
    assert "[a](b)" in said
    assert "no better than the base" not in said
    assert "90% interval" not in said
    assert json.loads((out / RESULT).read_text())["result"]["is_reported"] is False
