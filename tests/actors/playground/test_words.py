"""What a move changed, and what a fan of seeds says, in sentences."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from actors.playground.words import changed_in_words, fan_in_words
from actors.playground.world import Measured, Played


def played(likes: float, largest: float, seed: int = 1, digest: str = "") -> Played:
    measures = [
        Measured("largest_cascade.size", "largest cascade", f"{largest:g}", largest),
        Measured("likes", "likes", f"{likes:g}", likes),
    ]
    rest: Any = {"words": (), "remarks": (), "rounds": {}, "cascades": [], "states": {}}
    return Played(seed=seed, digest=digest or f"{likes} {largest}", seconds=0.1, agents=9, measures=measures, **rest)


def test_a_move_says_what_changed_and_by_how_much() -> None:
    assert changed_in_words(None, played(10, 4)) == []
    assert changed_in_words(played(10, 4), played(10, 4)) == ["This run is the run before, to the byte."]
    assert changed_in_words(played(100, 40), played(150, 40)) == [
        "Beside the run before: likes 50% more (100 → 150).",
        "The same: largest cascade.",
    ]


def test_a_fan_says_its_interval_and_which_changes_are_beyond_chance() -> None:
    before = {seed: played(100 + seed, 40 + seed % 3, seed) for seed in range(8)}
    now = {seed: played(200 + seed, 40 + (seed + 1) % 3, seed) for seed in range(8)}
    mean, clear, unclear = fan_in_words(now, before)
    intervals = "largest cascade 41.1 (40.4 to 41.8), likes 204 (201 to 206)"
    assert mean == f"Mean over 8 seeds, with its 95% interval: {intervals}."
    assert clear == "Changed beyond chance, over the same 8 seeds: likes 97% more."
    assert unclear == "Within chance: largest cascade."
    assert len(fan_in_words(now, {})) == 1


def test_a_measure_that_one_run_lacks_is_left_out_and_shifts_no_other() -> None:
    before = {seed: played(100 + seed, 40, seed) for seed in range(8)}
    now = {seed: played(200 + seed, 40, seed) for seed in range(8)}
    now[3] = replace(now[3], measures=now[3].measures[1:])
    mean, clear = fan_in_words(now, before)
    assert mean == "Mean over 8 seeds, with its 95% interval: likes 204 (201 to 206)."
    assert clear == "Changed beyond chance, over the same 8 seeds: likes 97% more."
