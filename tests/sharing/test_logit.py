"""A fit finds the logit that judged."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from prism.divergence import jensen_shannon
from prism.sharing.logit import fit_logit
from prism.sharing.records import Fields, Judged

NAMES = ("agent.age", "agent.region", "post.followed", "post.likes", "post.text")
FIELDS = Fields(NAMES, set(NAMES[:4]), {"agent.age", "post.followed"})
OPTIONS = ("scrolling", "liking")
Values = tuple[float, str, bool, int, str]


def truth(values: Values) -> tuple[float, ...]:
    age, region, followed, likes, _ = values
    utility = 0.5 * age - 0.8 * age * followed + 0.6 * followed + 0.4 * math.log1p(likes) - (region == "north") - 1.0
    share = 1.0 / (1.0 + math.exp(-utility))
    return 1.0 - share, share


def judged(count: int, seed: int = 1, chance: float = 1.0) -> list[Judged]:
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        values = (
            float(random.normal()),
            str(random.choice(["north", "south", "coast"])),
            bool(random.random() < 0.5),
            int(random.exponential(30.0)),
            f"text {number}",
        )
        shared = (0.5, 0.5) if chance < 1.0 else ()
        key = ("evaluating", "decides", *OPTIONS, 1)
        found.append(Judged(number, number, "decides", truth(values), key, values, shared, 0, chance))
    return found


def error(predict: object, records: Sequence[Judged]) -> float:
    return float(np.mean([jensen_shannon(predict(each.values), each.probabilities) for each in records]))  # type: ignore[operator]


def test_a_logit_with_a_product_is_found_from_a_few_hundred_judgements() -> None:
    found = fit_logit(judged(400), FIELDS)
    assert error(found, judged(200, seed=2)) < 0.002
    plain = fit_logit(judged(400), FIELDS._replace(multiplied=()))
    assert error(plain, judged(200, seed=2)) > 0.004


def test_the_order_of_judgements_does_not_matter_and_probabilities_add_up() -> None:
    records = judged(100)
    first, second = fit_logit(records, FIELDS), fit_logit(records[::-1], FIELDS)
    assert error(first, judged(50, seed=3)) == pytest.approx(error(second, judged(50, seed=3)), abs=1e-6)
    assert sum(first(records[0].values)) == pytest.approx(1.0)
