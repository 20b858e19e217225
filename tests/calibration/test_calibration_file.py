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
BASE, POSTS = "base: base.yaml", "measure: rounds.posts"


@catalogue(
    ("old", "new", "said"),
    [
        (
            "low: 0.05, high: 0.6",
            "low: 0.6, high: 0.05",
            "3: parameters.population.posts_per_session: expected a low below the high, got 0.6 and 0.05",
        ),
        ("value: 40, ", "", "6: targets.posts: expected a value"),
        ("tolerance: 6, ", "", "6: targets.posts: expected a tolerance"),
        (", source: a panel}\nchecks", "}\nchecks", "6: targets.posts: expected a source"),
        (POSTS, "shape: tall", "6: targets.posts.shape: expected one of: breadth_share, depth, half_minutes, size"),
        (f"{POSTS}, value: 40", "shape: depth", "6: targets.posts.shape: is compared with cascades"),
        (f"{POSTS}, ", "", "6: targets.posts: expected a measure or a shape"),
        ("likes: {", "posts: {", "8: checks.posts: is a target, too"),
        (BASE, f"{BASE}\nset: {{feed.size: 3}}", "2: set.feed.size: is a parameter, too"),
        ("feed.size", "llm.prices.m.prompt", "4: parameters.llm.prices.m.prompt: changes no result of a run"),
        (BASE, f"{BASE}\nset: {{simulation.seed: 3}}", "2: set.simulation.seed: follows from"),
        ("budget: {", "holdout: 0.3\nbudget: {", "9: holdout: is a share of the cascades"),
    ],
)
def test_what_is_wrong_is_named_with_its_key_and_its_line(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(ConfigError) as caught:
        read_calibration(TEXT.replace(old, new, 1), "c.yaml")
    assert str(caught.value).replace("`", "").startswith(f"c.yaml:{said}")


def test_the_calibration_that_comes_with_prism_can_be_read() -> None:
    path = Path(ROOT / "configs" / "calibrations" / "twitter15.yaml")
    read = read_calibration(path.read_text(), str(path))
    assert read.budget.design >= 300
    assert {name for name, each in read.targets.items() if each.shape} == {"size", "depth", "breadth share", "virality"}
