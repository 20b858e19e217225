"""Shares of groups: they add up to the outcome, whatever the groups do together, exactly or in expectation."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.explain.retrace import OpenRun
from actors.studies.causes.sample import Coalition, orders_of, shares_of
from actors.studies.causes.search import causes
from tests.actors.studies.causes.worlds import measured, run_of
from tests.recorded import FEW, content
from tests.tiers import Size


def together(coalition: Coalition) -> float:
    """Return an outcome to which group 0 adds 5 alone, 1 and 2 add 8 only together, and 3 nothing."""
    return 2.0 + 5.0 * (0 in coalition) + 8.0 * (coalition >= {1, 2})


def test_what_two_groups_do_only_together_is_shared_equally() -> None:
    shares = shares_of(orders_of(4, 16, 1), together)
    assert [each.mean for each in shares] == pytest.approx([5.0, 4.0, 4.0, 0.0])
    assert {each.low for each in shares} == {None}


@given(st.lists(st.floats(-100, 100), min_size=16, max_size=16), st.integers(2, 20), st.integers(0, 2**31))
def test_shares_add_up_to_the_outcome_less_what_is_left_without_all_of_them(
    values: list[float], budget: int, seed: int
) -> None:
    everything = [frozenset(some) for size in range(5) for some in combinations(range(4), size)]
    value = dict(zip(everything, values, strict=True))
    shares = shares_of(orders_of(4, budget, seed), value.__getitem__)
    whole = value[frozenset(range(4))] - value[frozenset()]
    assert sum(each.mean for each in shares) == pytest.approx(whole, abs=1e-6)


def test_shares_from_some_orders_are_without_bias_and_their_intervals_hold(size: Size) -> None:
    samples = size(1000, everyday=200)
    found = [shares_of(orders_of(8, 160, seed), together)[1] for seed in range(samples)]
    assert np.mean([each.mean for each in found]) == pytest.approx(4.0, abs=4 * 4.0 / (20 * samples) ** 0.5)
    told = [each for each in found if each.low is not None and each.high is not None]
    held = np.mean([(each.low or 0.0) <= 4.0 <= (each.high or 0.0) for each in told])
    assert held >= 0.95 - 3 * (0.95 * 0.05 / samples) ** 0.5 - 0.02


def test_the_shares_of_camps_are_those_of_runs_from_the_start_in_which_camps_are_silent(tmp_path: Path) -> None:
    camps = {"camp": {"type": "text", "values": ["left", "right"]}}
    settings = {**FEW, "population": {**FEW["population"], "attributes": camps}}
    run = run_of(tmp_path, settings, "run")
    before = content(run)
    told = anyio.run(partial(causes, run, "likes", groups="camp", draws=0))
    assert content(run) == before
    assert told.tried == ()
    assert [each.group for each in told.groups] == ["left", "right"]
    camp_of = members(run)
    value = {
        frozenset(loud): measured(
            run_of(tmp_path, silenced(settings, [who for who, camp in camp_of.items() if camp not in loud]), name),
            "likes",
        )
        for name, loud in (("none", ()), ("left", ("left",)), ("right", ("right",)), ("both", ("left", "right")))
    }
    none, left, right, both = (value[frozenset(each)] for each in ((), ("left",), ("right",), ("left", "right")))
    assert told.value == both
    assert told.without_groups == none
    assert told.groups[0].share.mean == pytest.approx((left - none + both - right) / 2)
    assert told.groups[1].share.mean == pytest.approx((right - none + both - left) / 2)


def members(run: Path) -> dict[int, str]:
    """Return the camp of each person."""

    people = OpenRun(run).domain.population.personas  # type: ignore[attr-defined]
    return {number: persona.attributes["camp"] for number, persona in enumerate(people)}


def silenced(settings: dict[str, Any], people: list[int]) -> dict[str, Any]:
    """Return settings in which people are silent from the start."""
    return {**settings, "interventions": [{"tick": 0, "silence": people}]} if people else settings
