"""The outcomes of a run that shared judgements, beside those of full asking."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from actors.core.errors import RunDirectoryError
from actors.studies.causes.futures import Futures
from actors.studies.causes.shared_outcomes import SharedOutcomes, shared_outcomes
from tests.recorded import FEW, content, make_run

MEASURES = "likes", "largest_cascade", "rounds.mean.posts_seen"


def sharing_run(place: Path, audit: float, **settings: Any) -> Path:
    """Return a run whose people share judgements of the embedded choice, all of them in one archetype."""
    people = {**FEW["population"], "ambiguity": 0.9}
    shared = {"by": "archetype", "audit": audit, "archetype": {"post.followed": "exact"}}
    return make_run(place, {**FEW, "population": people, "oracle": {"sharing": shared}, **settings})


def outcomes(run: Path, *of: str, **options: Any) -> SharedOutcomes:
    return anyio.run(partial(shared_outcomes, run, of, **{"futures": 4, **options}))


def test_where_everybody_was_asked_each_future_is_the_run(tmp_path: Path) -> None:
    found = outcomes(sharing_run(tmp_path, audit=1.0), *MEASURES)
    assert [each.name for each in found.outcomes] == [*MEASURES]
    assert {(each.low, each.high) for each in found.outcomes} == {(each.shared, each.shared) for each in found.outcomes}
    assert found.asked > 20
    assert (found.redrawn, found.computed) == (0, 0)


def test_those_who_shared_are_told_their_own_and_the_run_stays_as_it_is(tmp_path: Path) -> None:
    run = sharing_run(tmp_path, audit=0.4)
    before = content(run)
    found = outcomes(run)
    assert content(run) == before
    assert found.redrawn > 10
    assert found.asked > 2
    assert found.computed == 0
    assert found.audits > 8
    by_name = {each.name: each for each in found.outcomes}
    assert {"likes", "reshares", "largest_cascade", "deepest_cascade"} < set(by_name)
    assert any(each.low < each.high for each in found.outcomes)
    assert all(each.low <= each.mean <= each.high for each in [*found.outcomes, *found.states])
    assert by_name["likes"].shared == anyio.run(Futures(run, "likes").recorded).value
    assert [each.shared for each in found.rounds["likes"]][-1] == by_name["likes"].shared
    assert sum(each.shared for each in found.states) == pytest.approx(FEW["population"]["size"])
    assert len(found.rounds["states.idle"]) == FEW["simulation"]["rounds"]


def test_a_run_without_enough_audits_or_without_sharing_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"has 0 audits of shared judgements: expected 8 at least"):
        outcomes(sharing_run(tmp_path, audit=0.0))
    with pytest.raises(RunDirectoryError, match=r"has shared no judgements: expected .* oracle\.sharing\.by=archetype"):
        outcomes(make_run(tmp_path, FEW, "alone"))
