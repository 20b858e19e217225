"""The file of a calibration: each thing that is wrong is named with its key and its line."""

from pathlib import Path

import pytest

from prism.calibration.calibration_file import read_calibration
from prism.errors import ConfigError
from tests.catalogue import catalogue
from tests.paths import ROOT

TEXT = """\
base: base.yaml
parameters:
  population.posts_per_session: {low: 0.05, high: 0.6, scale: log}
  feed.size: {low: 2, high: 9, whole: true}
targets:
  posts: {measure: rounds.posts, value: 40, tolerance: 6, source: a panel}
checks:
  likes: {measure: likes, value: 60, tolerance: 30, source: a panel}
budget: {design: 85}
"""


@catalogue(
    ("old", "new", "said"),
    [
        (
            "low: 0.05, high: 0.6",
            "low: 0.6, high: 0.05",
            "c.yaml:3: parameters.population.posts_per_session: expected a low below the high, got 0.6 and 0.05",
        ),
        ("value: 40, ", "", "c.yaml:6: targets.posts: expected a value"),
        ("tolerance: 6, ", "", "c.yaml:6: targets.posts: expected a tolerance"),
        (", source: a panel}\nchecks", "}\nchecks", "c.yaml:6: targets.posts: expected a source"),
        (
            "measure: rounds.posts",
            "shape: tall",
            "c.yaml:6: targets.posts.shape: expected one of: breadth_share, depth, half_minutes, size",
        ),
        (
            "measure: rounds.posts, value: 40",
            "shape: depth",
            "c.yaml:6: targets.posts.shape: is compared with cascades",
        ),
        ("measure: rounds.posts, ", "", "c.yaml:6: targets.posts: expected a measure or a shape"),
        ("likes: {", "posts: {", "c.yaml:8: checks.posts: is a target, too"),
        ("base: base.yaml", "base: base.yaml\nset: {feed.size: 3}", "c.yaml:2: set.feed.size: is a parameter, too"),
        ("feed.size", "llm.prices.m.prompt", "parameters.llm.prices.m.prompt: changes no result of a run"),
        (
            "base: base.yaml",
            "base: base.yaml\nset: {simulation.seed: 3}",
            "c.yaml:2: set.simulation.seed: follows from",
        ),
        (
            "budget: {design: 85}",
            "budget: {design: 85}\nholdout: 0.3",
            "c.yaml:10: holdout: is a share of the cascades",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_key_and_its_line(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(ConfigError) as caught:
        read_calibration(TEXT.replace(old, new, 1), "c.yaml")
    assert said in str(caught.value)


def test_the_calibration_that_comes_with_prism_can_be_read() -> None:
    path = Path(ROOT / "configs" / "calibrations" / "twitter15.yaml")
    read = read_calibration(path.read_text(), str(path))
    assert read.budget.design >= 300
    assert {name for name, each in read.targets.items() if each.shape} == {"size", "depth", "breadth share", "virality"}
