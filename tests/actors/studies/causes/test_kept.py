"""Causes: their plan, what they are of, and how they are kept in a run's directory."""

from functools import partial
from pathlib import Path

import anyio
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from actors.explain.retrace import OpenRun
from actors.explain.turns import decisions, its_messages, path_of
from actors.store.course import read_course
from actors.studies.causes.record import Cause, Causes, keep, kept_causes
from actors.studies.causes.search import causes, sample, shares
from tests.catalogue import catalogue

LIKES = Causes(
    run="/some/place/run",
    of="likes",
    value=10.0,
    ticks=24,
    since=0,
    tried=(),
    causes=(Cause(kind="people", what="Ada (1)", tick=0, agent=1, value=7.0, effect=3.0),),
    futures=1,
    kept=0,
    computed=0,
)


def test_causes_are_read_as_they_were_kept_without_the_place_of_the_run(tmp_path: Path) -> None:
    keep(tmp_path, LIKES)
    keep(tmp_path, replace(LIKES, of="cascade:12"))
    assert [each.of for each in kept_causes(tmp_path).found] == ["cascade:12", "likes"]
    assert kept_causes(tmp_path).found[1] == replace(LIKES, run=tmp_path.name)


@catalogue("of", ["../likes", "%2e"])
def test_the_name_of_an_outcome_leads_nowhere_else(tmp_path: Path, of: str) -> None:
    file = keep(tmp_path, replace(LIKES, of=of))
    assert file.parent == tmp_path / "causes"
    assert [each.of for each in kept_causes(tmp_path).found] == [of]


def test_files_that_cannot_be_read_are_named_beside_the_others(tmp_path: Path) -> None:
    keep(tmp_path, LIKES)
    (tmp_path / "causes" / "a.json").write_bytes(b'{"run": "\xff"}')
    (tmp_path / "causes" / "b.json").write_text('{"of": "likes"}')
    (tmp_path / "causes" / "c.json").mkdir()
    kept = kept_causes(tmp_path)
    assert [each.of for each in kept.found] == ["likes"]
    assert [problem.partition(":")[0] for problem in kept.problems] == [f"causes/{name}.json" for name in "abc"]


@given(st.lists(st.integers(0, 500), min_size=1, max_size=4), st.integers(1, 1000))
def test_a_budget_is_used_as_far_as_there_are_candidates(counts: list[int], budget: int) -> None:
    found = shares(counts, budget)
    assert sum(found) == min(budget, sum(counts))
    assert all(0 <= one <= count for one, count in zip(found, counts, strict=True))


@given(
    st.lists(st.floats(0.001, 1000.0), min_size=1, max_size=60),
    st.integers(0, 60),
    st.integers(0, 2**31),
    st.integers(0, 3),
)
def test_a_sample_has_exactly_its_size_and_nobody_twice(
    weights: list[float], number: int, seed: int, purpose: int
) -> None:
    number = min(number, len(weights))
    found = sample(np.array(weights), number, seed, purpose)
    assert len(found) == number
    assert (np.diff(found) > 0).all()


def test_only_the_agent_is_looked_at(embedded: Path) -> None:
    [(original, size)] = read_course(embedded, "posts").posts.largest(1)
    of, by = f"cascade:{original.post}", ("people", "decisions")
    found = anyio.run(partial(causes, embedded, of, by=by, agent=original.author, budget=4, top=1, draws=1))
    assert (found.of, found.value) == (of, size)
    assert found.causes[0].effect == size  # without its author there is none
    assert {each.agent for each in (*found.causes, *found.smaller)} == {original.author}
    asked = decisions(path_of(its_messages(OpenRun(embedded), original.author), str))
    decided = sum(tick >= original.tick for (tick, _), _ in asked)
    assert [(each.kind, each.candidates, each.tried) for each in found.tried] == [
        ("people", 1, 1),
        ("decisions", decided, min(decided, 3)),
    ]
