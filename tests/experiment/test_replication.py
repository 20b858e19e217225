"""The file of a replication, and published figures beside runs: a hit is compatible with them, by one rule."""

import numpy as np
import pytest
from scipy.stats import t

from prism.errors import ConfigError
from prism.experiment.replication import Compared, Published, compare, pseudo_values, read_replication
from tests.catalogue import catalogue

FILE = """\
claim: Likes rise.
study: A (2000), B.
experiment: e.yaml
figures:
  likes: {source: Table 1, measure: likes, condition: hot, value: 3}
"""


def with_figure(keys: str) -> str:
    return FILE.replace("condition: hot, value: 3", keys)


@catalogue(
    ("text", "said"),
    [
        (
            FILE.replace("source: Table 1, ", ""),
            "r.yaml:5: figures.likes.source: is missing; expected the table, figure or page that it is from",
        ),
        (
            with_figure("condition: hot, contrast: [a, b], value: 3"),
            "r.yaml:5: figures.likes: expected condition or contrast, got condition and contrast",
        ),
        (
            with_figure("condition: hot"),
            "r.yaml:5: figures.likes: expected value, range, direction or computed, got none of them",
        ),
        (
            with_figure("condition: hot, computed: 'm:f'"),
            "r.yaml:5: figures.likes.computed: is computed from the file at the key data, which is not given",
        ),
        (
            with_figure("condition: hot, direction: less, se: 1"),
            "r.yaml:5: figures.likes.se: expected se or interval, and neither with direction or computed",
        ),
        (
            with_figure("condition: hot, value: 3, se: 1, worlds: 4"),
            "r.yaml:5: figures.likes.worlds: is for a number without published noise: no se, interval or direction",
        ),
        (
            with_figure("condition: hot, range: [3, 2]"),
            "r.yaml:5: figures.likes.range: expected two numbers, the lower one first, got [3.0, 2.0]",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_its_line_and_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_replication(text, "r.yaml")
    assert str(refused.value) == said


RUNS = [1.0, 2.0, 3.0, 4.0, 5.0]


def compared(values: list[float] | None = None, **keys: object) -> Compared:
    asked = Published(source="Table 1", measure="m", condition="c", **keys)  # type: ignore[arg-type]
    return compare("a figure", asked, RUNS if values is None else values, None)


def test_without_published_noise_the_published_world_varies_as_the_runs_do() -> None:
    found = compared(value=3.0)
    sd = float(np.std(RUNS, ddof=1))
    reach = float(t.ppf(0.975, 4)) * sd * (1 / 5 + 1) ** 0.5
    assert (found.here, found.low, found.high) == pytest.approx((3.0, 3.0 - reach, 3.0 + reach))
    several = compared(value=3.0, worlds=20)
    assert several.high - 3.0 == pytest.approx(float(t.ppf(0.975, 4)) * sd * (1 / 5 + 1 / 20) ** 0.5)


def test_published_noise_takes_the_place_of_that_of_a_world() -> None:
    exact = compared(value=3.0, se=0.0)
    assert exact.high - 3.0 == pytest.approx(float(t.ppf(0.975, 4)) * (2.5 / 5) ** 0.5)
    noisy = compared(value=3.0, interval=(3.0 - 1.96, 3.0 + 1.96))
    assert noisy.high > exact.high
    assert noisy.published == "3, se 1"


def test_a_miss_says_on_which_side_the_runs_are_and_a_direction_is_hit_on_its_side() -> None:
    assert compared(value=3.0).is_hit
    assert [compared(value=value).why for value in (100.0, -100.0)] == ["too low", "too high"]
    assert compared(direction="greater").is_hit
    assert compared(direction="less").why == "the opposite sign"
    assert compared([-1.0, 1.0, 0.5], direction="greater").why == "neither sign found"


def test_pseudo_values_have_the_mean_and_the_spread_of_a_number_over_all_runs() -> None:
    assert pseudo_values(RUNS, lambda runs: sum(runs) / len(runs)) == pytest.approx(RUNS)

    def mean_distance(runs: list[float]) -> float:
        return float(np.mean([abs(a - b) for place, a in enumerate(runs) for b in runs[:place]]))

    found = pseudo_values(RUNS, mean_distance)  # type: ignore[arg-type]
    assert float(np.mean(found)) == pytest.approx(mean_distance(RUNS))
