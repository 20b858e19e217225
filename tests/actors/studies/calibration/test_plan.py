"""Plans of calibrations: base, ranges, targets and limits are checked before the first run."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from actors.cli.calibrate import calibrate
from actors.studies.calibration import make_calibration_plan
from prism.errors import ConfigError, InputError
from tests.actors.studies.calibration.files import CALIBRATION, write_calibration
from tests.plain import plain_text
from tests.wire.gateways import MODEL_BASE, PRICES

SHAPE = "posts: {shape: depth}"
POSTS = "posts: {measure: rounds.posts, value: 25, tolerance: 4, source: made up}"


def refused(directory: Path, old: str, new: str, base: str = "population: {size: 60}\n") -> str:
    assert old in CALIBRATION
    with pytest.raises((ConfigError, InputError)) as caught:
        make_calibration_plan(write_calibration(directory, CALIBRATION.replace(old, new, 1), base))
    return str(caught.value).replace(f"{directory}/", "")


def test_a_plan_has_another_hash_if_what_decides_the_result_is_another(tmp_path: Path) -> None:
    hashes = [
        make_calibration_plan(write_calibration(tmp_path, text)).hash
        for text in (CALIBRATION, CALIBRATION, CALIBRATION.replace("value: 25", "value: 26"))
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_what_cannot_be_run_is_named_before_the_first_run(tmp_path: Path) -> None:
    said = refused(tmp_path, "high: 0.7", "high: 1.7")
    assert said.startswith("c.yaml:3: parameters.population.engagement_threshold: ")
    assert "1.7" in said
    assert refused(tmp_path, "population.engagement_threshold:", "population.engagement_treshold:").startswith(
        "c.yaml:3: parameters.population.engagement_treshold: unknown key"
    )
    assert refused(tmp_path, "parameters:", "set:\n  feed.size: 0\nparameters:").startswith("c.yaml:3: set.feed.size: ")
    assert "no such file" in refused(tmp_path, "base: base.yaml", "base: other.yaml")
    said = refused(tmp_path, "rounds.posts", "feed.posts_of_tenth")
    assert (
        said
        == "c.yaml:7: targets.posts.measure: no measure 'feed.posts_of_tenth': did you mean feed.posts_of_top_tenth?"
    )
    said = refused(tmp_path, "rounds.posts", "no_such_module:depth")
    assert said.startswith("c.yaml:7: targets.posts.measure: no_such_module:depth cannot be imported")
    said = refused(tmp_path, "measure: likes", "measure: likez")
    assert said == "c.yaml:9: checks.likes.measure: no measure 'likez': did you mean likes?"
    assert "missing.csv" in refused(tmp_path, POSTS, f"{SHAPE}\ndata: missing.csv")


def test_the_plan_is_shown_and_nothing_is_run(tmp_path: Path) -> None:
    path = write_calibration(tmp_path)
    shown = CliRunner().invoke(calibrate, ["plan", str(path), "--out", str(tmp_path / "out"), "--jobs", "2"])
    assert shown.exit_code == 0, shown.output
    assert "61: design 50, confirm 11" in shown.output
    assert "no fit can be reported" not in shown.output
    assert "2 at once" in shown.output
    assert "cascades" not in shown.output, "there are no data"
    assert not (tmp_path / "out").exists()


def written(directory: Path, host: str, oracle: str) -> Path:
    base = plain_text(MODEL_BASE.format(host=host, backend="openai", temperature=0.7, prices=PRICES))
    return write_calibration(directory, f"{CALIBRATION}oracle: {oracle}\n", base)


def test_limits_change_no_result_and_shared_answers_do(tmp_path: Path) -> None:
    hashes = [
        make_calibration_plan(written(tmp_path, "http://127.0.0.1:9", oracle)).hash
        for oracle in ("{}", "{max_calls: 7, max_concurrency: 2}", "{ask_once: true}")
    ]
    assert hashes[0] == hashes[1] != hashes[2]
