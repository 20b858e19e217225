"""Calibrations: plans that are checked, files that are written, and runs that are killed and begun again."""

import json
import re
import signal
import subprocess
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from actors.cli.calibrate import calibrate, result_parts
from actors.factory.config_file import read_config
from actors.factory.oracle_backends import calibration_label
from actors.studies.calibration import CONFIGURATION, RESULT, CalibrationPlan, make_calibration_plan, write_result
from prism.calibration.calibration_file import Budget, Point
from prism.calibration.comparison import Observed
from prism.calibration.procedure import Result, calibrated
from prism.errors import ConfigError, InputError
from tests.catalogue import catalogue
from tests.command import begin, end
from tests.patience import wait_until
from tests.plain import plain_text
from tests.wire.gateways import MODEL_BASE, PRICES

BASE = plain_text("""
simulation: {rounds: 2, ticks_per_round: 24}
population: {size: 60, activity: {mean: 0.9, sigma: 0.1}}
""")
CALIBRATION = """\
base: base.yaml
parameters:
  population.engagement_threshold: {low: 0.3, high: 0.7}
  population.posts_per_session: {low: 0.05, high: 0.6, scale: log}
targets:
  engagement: {measure: engagement, value: 0.25, tolerance: 0.05, source: made up, holdout: 0.26}
  posts: {measure: rounds.posts, value: 25, tolerance: 4, source: made up}
checks:
  likes: {measure: likes, value: 60, tolerance: 30, source: made up}
budget: {design: 50, confirm: 11}
"""
POSTS = "posts: {measure: rounds.posts, value: 25, tolerance: 4, source: made up}"
fits = pytest.mark.skipif(find_spec("sklearn") is None, reason="needs scikit-learn")


def write_calibration(directory: Path, text: str = CALIBRATION, base: str = BASE) -> Path:
    """Write the calibration and its base, and return the path of the calibration."""
    (directory / "base.yaml").write_text(base)
    (directory / "c.yaml").write_text(text)
    return directory / "c.yaml"


def asking(oracle: str) -> tuple[str, str]:
    """Return a calibration whose runs ask a model, and its base."""
    base = MODEL_BASE.format(host="http://127.0.0.1:9", backend="openai", temperature=0.7, prices=PRICES)
    return f"{CALIBRATION}oracle: {oracle}\n", plain_text(base)


@catalogue(
    "texts",
    [
        [(CALIBRATION, BASE), (CALIBRATION, BASE), (CALIBRATION.replace("value: 25", "value: 26"), BASE)],
        [asking("{}"), asking("{max_calls: 7, max_concurrency: 2}"), asking("{ask_once: true}")],
    ],
)
def test_a_plan_has_another_hash_if_what_decides_the_result_is_another(
    tmp_path: Path, texts: list[tuple[str, str]]
) -> None:
    hashes = [make_calibration_plan(write_calibration(tmp_path, *text)).hash for text in texts]
    assert hashes[0] == hashes[1] != hashes[2]


@catalogue(
    ("old", "new", "said"),
    [
        ("high: 0.7", "high: 1.7", r"c.yaml:3: parameters.population.engagement_threshold: .*1\.7"),
        ("engagement_threshold", "engagement_treshold", "c.yaml:3: parameters.population.engagement_treshold: unknown"),
        ("parameters:", "set:\n  feed.size: 0\nparameters:", "c.yaml:3: set.feed.size: "),
        ("base: base.yaml", "base: other.yaml", ".*no such file"),
        (
            "rounds.posts",
            "feed.posts_of_tenth",
            "c.yaml:7: targets.posts.measure: no measure 'feed.posts_of_tenth': did you mean feed.posts_of_top_tenth",
        ),
        ("rounds.posts", "no_such:depth", "c.yaml:7: targets.posts.measure: no_such:depth cannot be imported"),
        (
            "measure: likes",
            "measure: likez",
            r"c.yaml:9: checks.likes.measure: no measure 'likez': did you mean likes\?$",
        ),
        (POSTS, "posts: {shape: depth}\ndata: missing.csv", ".*missing.csv"),
    ],
)
def test_what_cannot_be_run_is_named_before_the_first_run(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in CALIBRATION
    with pytest.raises((ConfigError, InputError)) as caught:
        make_calibration_plan(write_calibration(tmp_path, CALIBRATION.replace(old, new, 1), "population: {size: 60}\n"))
    assert re.match(said, str(caught.value).replace(f"{tmp_path}/", ""))


def test_the_plan_is_shown_and_nothing_is_run(tmp_path: Path) -> None:
    path = write_calibration(tmp_path)
    shown = CliRunner().invoke(calibrate, ["plan", str(path), "--out", str(tmp_path / "out"), "--jobs", "2"])
    assert shown.exit_code == 0, shown.output
    assert all(each in shown.output for each in ("61: design 50, confirm 11", "2 at once"))
    assert "no fit can be reported" not in shown.output
    assert "cascades" not in shown.output, "there are no data"
    assert not (tmp_path / "out").exists()


def made_up(step: str, points: Sequence[Point]) -> list[Observed]:
    """Return what a made-up model gives in place of runs."""
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


def fitted(directory: Path, out: Path, text: str = CALIBRATION) -> tuple[CalibrationPlan, Result, str]:
    """Return a calibration of the made-up model, whose files are written, and what is shown of it."""
    plan, console = make_calibration_plan(write_calibration(directory, text)), Console(width=200)
    result = calibrated(plan.calibration, plan.values, plan.real, made_up)
    write_result(plan, out, result)
    with console.capture() as captured:
        console.print(*result_parts(plan, result), sep="\n")
    return plan, result, captured.get()


@fits
def test_a_fit_is_written_with_what_it_was_fitted_to(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    plan, result, said = fitted(tmp_path, out)
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
    assert (document["result"]["is_reported"], document["plan"]) == (True, plan.hash)
    assert "The fit is " in said
    assert "ranks of known truths" in said
    assert "\\n" not in said


@fits
def test_a_fit_that_lacks_a_part_leaves_no_configuration(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / CONFIGURATION).write_text("of an earlier fit")
    text = CALIBRATION.replace(", holdout: 0.26", "").replace("  posts: {", '  "*po_sts* [a](b) | `c`": {')
    _, _, said = fitted(tmp_path, out, text)
    assert not (out / CONFIGURATION).exists()
    assert "No fit is reported. What it lacks:" in said
    assert said.count("no part of the data is held out: give `holdout` a share of the data") == 1
    assert "[a](b)" in said
    assert "no better than the base" not in said
    assert "90% interval" not in said
    assert json.loads((out / RESULT).read_text())["result"]["is_reported"] is False


def begun(directory: Path, out: str, jobs: int) -> subprocess.Popen[str]:
    return begin("calibrate", "c.yaml", "--out", out, "--jobs", str(jobs), "--quiet", cwd=directory)


def has_done(out: Path, cells: int) -> bool:
    return len([*out.glob("cells/*/summary.json")]) >= cells


@fits
@pytest.mark.slow
def test_a_killed_calibration_goes_on_and_has_the_same_files_with_any_number_of_processes(tmp_path: Path) -> None:
    write_calibration(tmp_path)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    end(begun(tmp_path, "whole", 1))
    for cells in (4, 52):  # in the design, and after it
        process = begun(tmp_path, "killed", 2)
        wait_until(partial(has_done, killed, cells), process)
        process.kill()
        end(process, -signal.SIGKILL)  # it had cells left
    end(begun(tmp_path, "killed", 2))
    for name in (CONFIGURATION, RESULT):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    started = end(begin("run", "killed/calibrated.yaml", "--set", "feed.size=3", cwd=tmp_path))
    said = re.search(r"calibrated on 2 targets, holdout ([0-9.]+)", started.err)
    kept = json.loads((whole / RESULT).read_bytes())["result"]["holdout"]
    assert said is not None
    assert float(said[1]) == pytest.approx(kept, rel=0.01)
    assert "but feed.size was changed" in started.err
