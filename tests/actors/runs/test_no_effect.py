"""What had no effect in a run, told at its end, and its interventions with what came of them."""

import shutil
from pathlib import Path
from typing import Any

from actors import run
from actors.runs.summary import unused
from prism.no_effect import remarks_on_many
from prism.social.chart import SOCIAL_BEHAVIOUR, social_behaviour
from prism.statechart import read_chart
from tests.plain import plain_config

LURKING = Path(__file__).parents[1] / "factory" / "lurking.yaml"


def summary_of(place: Path, **settings: Any) -> Any:
    chart = place / "lurking.yaml"
    if not chart.exists():
        shutil.copy(LURKING, chart)
    config = plain_config(
        **{
            "simulation": {"rounds": 12, "seed": 7, "ticks_per_round": 24},
            "population": {"size": 200},
            "statechart": {"file": str(chart)},
            **settings,
        }
    )
    return run(config).summary


def test_states_that_nobody_entered_and_rows_that_nobody_took_are_named() -> None:
    behaviour = social_behaviour(read_chart(LURKING.read_text(), "lurking.yaml"))
    rows = {
        ("away", "scrolling", "feed_ready", "rule"): 9,
        ("scrolling", "looking", "sees_post", "rule"): 4,
        ("looking", "scrolling", "decides", "rule"): 4,
        ("scrolling", "away", "round_ends", "rule"): 9,
    }
    found = [*unused(behaviour, rows, ["away", "scrolling", "looking"], set())]
    assert [str(each) for each in found] == [
        "lurking: nobody entered this state",
        "liking: nobody entered this state",
        "writing: nobody entered this state",
        "away: 1 row was never taken: --wants_to_post--> writing",
        "scrolling: 1 row was never taken: --timeout--> away",
        (
            "looking: 2 rows were never taken: --ignores--> lurking; "
            "--decides--> liking when post.relevance > agent.engagement_threshold"
        ),
    ]
    told = {str(each) for each in unused(behaviour, rows, ["away", "scrolling", "looking"], {"looking"})}
    assert not any(line.startswith("looking") for line in told)


def test_a_row_that_only_frees_who_is_stuck_need_not_be_taken() -> None:
    rows = {("idle", "scrolling", "feed_ready", "rule"): 1, ("scrolling", "evaluating", "sees_post", "rule"): 1}
    found = [*unused(SOCIAL_BEHAVIOUR, rows, ["idle", "scrolling", "evaluating"], set())]
    rows_named = {each.place: each.message for each in found if each.kind == "row"}
    assert "--timeout-->" in rows_named["scrolling"]
    assert "--timeout-->" not in rows_named["evaluating"]


def test_the_remarks_on_many_runs_say_in_how_many_of_them() -> None:
    short = {"place": "feed.out_of_network", "message": "too few posts by people who are followed", "configured": 0.2}
    idle = {"kind": "state", "place": "writing", "message": "nobody entered this state"}
    runs: dict[str, list[dict[str, Any]]] = {
        "hot": [{"not_as_configured": [{**short, "realised": share}], "no_effect": [idle]} for share in (0.4, 0.5)],
        "new": [{"not_as_configured": [], "no_effect": [idle]}, {"not_as_configured": "damaged"}, {}],
    }
    assert remarks_on_many(runs) == [
        (
            "not as configured in 2 of 2 runs (hot): feed.out_of_network: 45.0%, not 20.0%: too few posts by people "
            "who are followed"
        ),
        "without effect in 3 of 5 runs (hot, new): writing: nobody entered this state",
    ]
    many = [{**idle, "place": f"s{place}"} for place in range(20)]
    assert remarks_on_many({"": [{"no_effect": many}]})[-1] == "and 8 more remarks of this kind"


INTERVENTIONS: list[dict[str, Any]] = [
    {"round": 5, "publish": {"author": 17, "text": "Breaking:\n the bridge is closed", "quality": 1.0}},
    {"round": 6, "set": {"feed.algorithm": "interest", "feed.size": 5}},
    {"round": 7, "silence": [17, 23], "until_round": 9},
    {"tick": 287, "publish": {"author": 3, "text": "too late"}},
]


def test_the_summary_has_each_intervention_and_what_had_no_effect(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, interventions=INTERVENTIONS)
    first, *others = summary.interventions
    told = (first.round, first.tick, first.kind, first.what)
    assert told == (5, 96, "publish", 'by 17: "Breaking: the bridge is closed"')
    assert first.reactions > 0
    assert [(each.round, each.tick, each.kind, each.what, each.reactions) for each in others] == [
        (6, 120, "set", "feed.algorithm=interest, feed.size=5", None),
        (7, 144, "silence", "17, 23 until round 9", None),
        (12, 287, "publish", 'by 3: "too late"', 0),
    ]
    assert summary.no_effect[0].place == "lurking"
    assert [str(each) for each in summary.no_effect[1:]] == [
        "interventions[1]: set at tick 120 changes nothing: what it asks for is so already",
        "interventions[3]: nobody liked, answered or reshared the post of tick 287",
    ]
