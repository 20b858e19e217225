"""What a move changed, and what a fan of seeds says, in sentences."""

from __future__ import annotations

from typing import Any

from actors.playground.words import changed_in_words, fan_in_words
from actors.playground.world import Measured, Measures, Played


def played(likes: float, largest: float) -> Played:
    measures = [
        Measured("largest_cascade.size", "largest cascade", f"{largest:g}", largest),
        Measured("likes", "likes", f"{likes:g}", likes),
    ]
    rest: Any = {"words": (), "remarks": (), "rounds": {}, "cascades": [], "states": {}}
    return Played(seed="1", digest="", seconds=0.1, agents=9, measures=measures, **rest)


def fan(likes: int, shift: int, seeds: int = 8) -> dict[str, Measures]:
    return {str(seed): played(likes + seed, 40 + (seed + shift) % 3).values for seed in range(seeds)}


def test_a_move_says_what_changed_and_by_how_much() -> None:
    assert changed_in_words(None, played(10, 4), is_same=False) == []
    assert changed_in_words({}, played(10, 4), is_same=True) == ["This run is the run before, to the byte."]
    assert changed_in_words(played(100, 40).values, played(150, 40), is_same=False) == [
        "Beside the run before: likes 50% more (100 → 150).",
        "The same: largest cascade.",
    ]


def test_a_fan_says_its_interval_and_which_changes_are_beyond_chance() -> None:
    mean, clear, unclear = fan_in_words(fan(200, 1), fan(100, 0), played(200, 40))
    intervals = "largest cascade 41.1 (40.4 to 41.8), likes 204 (201 to 206)"
    assert mean == f"Mean over 8 seeds, with its 95% interval: {intervals}."
    assert clear == "Changed beyond chance, over the same 8 seeds: likes 97% more."
    assert unclear == "Within chance: largest cascade."
    assert len(fan_in_words(fan(200, 1), {}, played(200, 40))) == 1


def test_the_verdict_is_over_the_seeds_that_both_have_if_they_are_enough() -> None:
    shown = played(200, 40)
    assert "over the same 6 seeds" in fan_in_words(fan(200, 1), fan(100, 0, seeds=6), shown)[1]
    assert len(fan_in_words(fan(200, 1), fan(100, 0, seeds=4), shown)) == 1


def test_a_measure_that_one_run_lacks_is_left_out_and_shifts_no_other() -> None:
    now, before = fan(200, 0), fan(100, 0)
    for runs in (now, before):
        del runs["3"]["largest_cascade.size"]
    mean, clear = fan_in_words(now, before, played(200, 40))
    assert "largest cascade" not in mean
    assert clear == "Changed beyond chance, over the same 8 seeds: likes 97% more."
