"""The planted cause is named first, each effect is what a run from the start without it gives, and intervals hold."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from actors.studies.causes.record import Cause, Causes
from actors.studies.causes.search import causes
from tests.actors.studies.causes.worlds import (
    BRIDGE,
    HUB,
    Settings,
    bridge,
    influencer,
    intervened,
    measured,
    run_of,
    without_intervention,
    without_person,
    without_tie,
)
from tests.catalogue import catalogue
from tests.tiers import Size

SEEDS = 100
NAMED = 0.95


def found(run: Path, of: str = "reshares", **settings: Any) -> Causes:
    return anyio.run(partial(causes, run, of, **{"draws": 0, "top": 1000, **settings}))


def without(settings: Settings, cause: Cause) -> Settings:
    """Return the settings of a world from whose start a cause is absent."""
    if cause.kind == "people":
        return without_person(settings, cause.agent or 0)
    if cause.kind == "ties":
        return without_tie(settings, cause.agent or 0, cause.whom or 0)
    return without_intervention(settings, cause.place or 0)


def named(cause: Cause) -> tuple[str, int | None]:
    return cause.kind, cause.place if cause.kind == "interventions" else cause.agent


@catalogue(
    ("make", "planted"),
    [
        (bridge, (("people", BRIDGE), ("ties", BRIDGE), ("posts", BRIDGE))),
        (intervened, (("interventions", 3),)),
    ],
)
def test_the_planted_cause_is_named_first(
    tmp_path: Path, size: Size, make: Callable[[Path], Settings], planted: tuple[tuple[str, int], ...]
) -> None:
    settings, seeds = make(tmp_path), range(size(SEEDS, everyday=1))
    runs = [run_of(tmp_path, settings, f"of-{seed}", seed) for seed in seeds]
    for each in planted:
        first = [named(found(run, by=each[:1]).causes[0]) for run in runs]
        assert first.count(each) >= NAMED * len(runs)


def test_each_effect_is_exactly_what_a_run_from_the_start_without_the_thing_gives(tmp_path: Path, size: Size) -> None:
    settings = influencer(tmp_path) | {"interventions": [{"round": 2, "publish": {"author": HUB, "text": "news"}}]}
    run = run_of(tmp_path, settings, "run")
    value = measured(run, "reshares")
    told = found(run, by=("interventions", "people", "ties"))
    assert told.value == value
    assert all(each.tried == each.candidates for each in told.tried)
    for number, cause in enumerate(told.causes[: size(1000, everyday=2)]):
        other = measured(run_of(tmp_path, without(settings, cause), f"without-{number}"), "reshares")
        assert (cause.value, cause.effect) == (other, value - other), cause.what


@pytest.mark.slow
def test_the_intervals_under_other_draws_hold_the_mean_effect(tmp_path: Path, size: Size) -> None:
    settings = influencer(tmp_path)
    differences = []
    for seed in range(1000, 1000 + size(150, everyday=20)):
        whole, part = (
            run_of(tmp_path, each, f"{name}-{seed}", seed)
            for name, each in (
                ("whole", settings),
                ("part", without_person(settings, HUB)),
            )
        )
        differences.append(measured(whole, "reshares") - measured(part, "reshares"))
    truth = float(np.mean(differences))
    held = []
    for seed in range(size(SEEDS, everyday=10)):
        told = found(run_of(tmp_path, settings, f"of-{seed}", seed), by=("people",), draws=8, top=1)
        interval = told.causes[0].other_draws
        assert interval is not None
        assert interval.low is not None
        assert interval.high is not None
        held.append(interval.low <= truth <= interval.high)
    assert (
        np.mean(held) >= size(93, everyday=80) / 100
    )  # 95 in 100, less what 100 cases and a measured truth may be off
