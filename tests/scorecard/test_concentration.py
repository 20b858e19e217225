"""The share of the top tenth, against people whose rates are known."""

from __future__ import annotations

import numpy as np
import pytest

from prism.scorecard.social import month_share, top_share
from tests.catalogue import catalogue


@catalogue("days", [2.0, 8.0])
def test_the_share_of_a_month_does_not_depend_on_the_length_of_the_run(days: float) -> None:
    random = np.random.default_rng(4)
    rates = random.lognormal(-1.0, 1.5, size=20_000)  # posts a day
    month = random.poisson(30.0 * rates)
    real = top_share(month[month > 0].astype(np.float64), 0.1)
    run = random.poisson(days * rates).astype(np.float64)
    assert month_share(run, days) == pytest.approx(real, abs=0.02)


def test_people_who_post_alike_have_a_tenth_however_short_the_run() -> None:
    posts = np.random.default_rng(5).poisson(0.5, size=20_000).astype(np.float64)
    assert top_share(posts, 0.1) > 0.3
    assert month_share(posts, 0.5) == pytest.approx(0.1, abs=0.05)
