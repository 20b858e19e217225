"""What had no effect in a run, told at its end, and its interventions with what came of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from actors import run
from actors.runs.no_effect import OFFERS_MIN, unchosen
from prism.config import Config
from prism.divergence import ComparedChoices

LURKING = Path(__file__).parents[1] / "factory" / "lurking.yaml"

pytestmark = pytest.mark.long


def summary_of(place: Path, **settings: Any) -> Any:
    chart = place / "lurking.yaml"
    if not chart.exists():
        shutil.copy(LURKING, chart)
    config = Config(
        **{
            "simulation": {"rounds": 12, "seed": 7},
            "population": {"size": 200},
            "statechart": {"file": str(chart)},
            **settings,
        }
    )
    return run(config).summary


def test_a_state_that_people_leave_only_with_the_round_is_named(tmp_path: Path) -> None:
    (found,) = summary_of(tmp_path).no_effect
    assert (found.kind, found.place) == ("exit", "lurking")
    stays = int(found.message.split(": ")[1].split(" of ")[0])
    assert found.message == (
        f"its own way out was never taken (timeout): {stays} of {stays} stays ended only because the round did "
        "(round_ends)"
    )
    assert stays > 30


def test_a_state_with_a_shorter_delay_is_not_named(tmp_path: Path) -> None:
    (tmp_path / "lurking.yaml").write_text(LURKING.read_text().replace("{ticks: 20,", "{ticks: 2,"))
    assert summary_of(tmp_path).no_effect == []


def test_a_run_too_short_to_tell_says_nothing(tmp_path: Path) -> None:
    assert summary_of(tmp_path, simulation={"rounds": 1}, population={"size": 2000}).no_effect == []


def test_an_option_that_the_oracle_never_chose_is_named() -> None:
    choices = ComparedChoices()
    options = ("scrolling", "liking", "replying")
    for agent in range(OFFERS_MIN):
        shown = options if agent else options[:2]
        choices.add((agent, 0, "decides"), "looking", shown, chosen="scrolling", other="scrolling")
    found = choices.divergences()
    assert [str(each) for each in unchosen(found, is_embedded=False)] == [
        f"looking: liking was an option of {OFFERS_MIN} questions (decides), and never chosen"
    ]
    assert [*unchosen(found, is_embedded=True)] == []  # a rule without probabilities


INTERVENTIONS: list[dict[str, Any]] = [
    {"round": 5, "publish": {"author": 17, "text": "Breaking:\n the bridge is closed", "quality": 1.0}},
    {"round": 6, "set": {"feed.algorithm": "interest", "feed.size": 5}},
    {"round": 7, "silence": [17, 23], "until_round": 9},
    {"tick": 287, "publish": {"author": 3, "text": "too late"}},
]


def test_the_summary_has_each_intervention_with_its_time_and_what_came_of_it(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, interventions=INTERVENTIONS)
    first, *others = summary.interventions
    assert (first.round, first.tick, first.kind, first.what) == (
        5,
        96,
        "publish",
        'by 17: "Breaking: the bridge is closed"',
    )
    assert first.reactions > 0
    assert [(each.round, each.tick, each.kind, each.what, each.reactions) for each in others] == [
        (6, 120, "set", "feed.algorithm=interest, feed.size=5", None),
        (7, 144, "silence", "17, 23 until round 9", None),
        (12, 287, "publish", 'by 3: "too late"', 0),
    ]
    assert [str(each) for each in summary.no_effect if each.kind == "intervention"] == [
        "interventions[1]: set at tick 120 changes nothing: what it asks for is so already",
        "interventions[3]: nobody liked, answered or reshared the post of tick 287",
    ]
