"""The outcome of a questionnaire, against values worked out by hand and by other implementations."""

from __future__ import annotations

import pytest
from scipy.stats import wilcoxon

from prism.survey import Given, Item, outcomes_of

SCALE = Item(id="trust", text="?", scale=(1, 7))
TWO = Item(id="side", text="?", options=("yes", "no"))
THREE = Item(id="camp", text="?", options=("a", "b", "c"))
OPEN = Item(id="why", text="?", open=True)
MOMENTS = ("before", "after")


def answers(item: Item, *values: list[int | str | None], repeat: int = 1) -> list[Given]:
    """Return answers of people 0, 1, ... at each moment."""
    return [
        Given(agent, moment, item.id, repeat, value)
        for moment, given in zip(MOMENTS, values, strict=False)
        for agent, value in enumerate(given)
    ]


def test_a_change_on_a_scale_is_tested_by_signed_ranks_of_those_who_answered_twice() -> None:
    was, now = [1, 2, 3, 4, 5, 6, 7, 2, 4], [4, 6, 3, 6, 6, 7, 6, 7, None]
    (found,) = outcomes_of([SCALE], MOMENTS, answers(SCALE, [*was], [*now]))
    (change,) = found.changes
    assert (change.people, change.up, change.down) == (8, 6, 1)
    assert change.difference == pytest.approx(15 / 8)
    differences = [3, 4, 2, 1, 1, -1, 5]
    assert change.p == pytest.approx(wilcoxon(differences, method="exact").pvalue, abs=0.02)
    # Ranks of sizes: 1, 1, 1 have rank 2 each, 2 has 4, 3 has 5, 4 has 6, 5 has 7; 26 up and 2 down of 28.
    assert change.effect == pytest.approx(24 / 28)
    assert change.low is not None
    assert change.high is not None
    assert change.low < change.difference < change.high
    assert change.sentence.startswith("trust: from before to after answers were 1.88 points higher, 95% interval +")
    assert "6 of 8 people moved up and 1 down" in change.sentence
    assert found.missing == {"before": 0, "after": 1}
    assert found.means["before"] == pytest.approx(34 / 9)


def test_two_options_are_tested_by_mcnemar() -> None:
    was = ["yes"] * 10 + ["no"] * 10
    now = ["yes"] * 9 + ["no"] + ["yes"] * 8 + ["no"] * 2
    (found,) = outcomes_of([TWO], MOMENTS, answers(TWO, [*was], [*now]))
    (change,) = found.changes
    assert (change.up, change.down) == (8, 1)
    assert change.p == pytest.approx(2 * (1 + 9) / 2**9)
    assert change.difference == pytest.approx(7 / 20)
    half = 1.96 * (9 - 49 / 20) ** 0.5 / 20
    assert change.low == pytest.approx(0.35 - half, abs=1e-4)
    assert change.high == pytest.approx(0.35 + half, abs=1e-4)
    assert "'yes' went from 50% to 85%: 8 of 20 people came to it and 1 left it" in change.sentence
    assert found.counts["after"] == {"yes": 17, "no": 3}


def test_the_share_of_repeated_answers_is_of_each_later_asking_with_the_first() -> None:
    given = answers(SCALE, [1, 2, 3, None], [4, 4, 4, 4])
    given += answers(SCALE, [1, 2, 4, 4], [4, None, 4, 5], repeat=2)
    (found,) = outcomes_of([SCALE], MOMENTS, given)
    assert found.repeated == pytest.approx(4 / 6)
    assert found.counts["before"]["4"] == 0  # the first asking is what is counted
    assert outcomes_of([SCALE], MOMENTS, answers(SCALE, [1]))[0].repeated is None
