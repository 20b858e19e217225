"""Results and settings, the counts of a chart's rows, archetypes of many questions, and what had no effect."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from actors import run
from actors.results.result import RunResult
from actors.runs.forecast import archetypes_of_all
from actors.runs.summary import covered_rows, unused
from actors.store.course import Step
from prism.config import Config, load_config
from prism.config.config import settings
from prism.no_effect import remarks_on_many
from prism.rng import uniform
from prism.social.chart import SOCIAL_BEHAVIOUR, social_behaviour
from prism.statechart import read_chart
from tests.plain import plain_config, plain_text

SMALL: Final = {
    "simulation.seed": 11,
    "simulation.rounds": 5,
    "simulation.ticks_per_round": 12,
    "run.sync": False,
    "population.size": 32,
    "population.posts_per_session": 0.5,
    "population.ambiguity": 0.5,
    "population.activity.mean": 0.9,
    "population.activity.sigma": 0.2,
}
"""Thirty-two lively and undecided people for five rounds."""

VARIED: Final[dict[str, object]] = {
    "oracle.mode": "realtime",
    "oracle.deadline_s": 1e6,
    "oracle.on_outage": "fallback",
    "oracle.outage_patience_s": 1.0,
    "oracle.max_attempts": 1,
    "oracle.max_fallback_share": None,
    "oracle.rate_per_s": 500.0,
    "oracle.max_concurrency": 1,
    "oracle.when_spent": "fallback",
    "oracle.queue_size": 1,
    "run.activation": "compiled",
    "run.mailbox_capacity": 1,
    "run.tick_s": 0.002,
    "run.restart_intensity": 0,
    "run.restart_period_ticks": 1,
    "run.checkpoint_every_ticks": 5,
    "run.sync": True,
    "run.log_max_mb": 0.01,
    "run.checkpoint_share": 0.5,
    "run.stop_within_s": 60.0,
    "run.segment_mb": 0.001,
    "run.question": "Is the harbour closed?",
}
"""Another value of each setting than its default. None of them may change the digest."""

RECORDED: Final[dict[str, object]] = {"run.record_feeds": True}
"""Another value of each setting that puts more into the journal. The digest is another one, and no count changes."""

EXCEPTIONS: Final = {
    "run.calibration.": "says where settings come from",
    "run.shards": "needs Ray: tests/durability/test_shards.py, and without it tests/actors/runtime/test_shards.py",
    "oracle.backend": "says who answers",
    "oracle.choice.": "says what the embedded oracle answers",
    "oracle.max_calls": "past it answers are fallbacks",
    "oracle.max_tokens": "past it answers are fallbacks; the embedded oracle takes no tokens",
    "oracle.max_usd": "past it the run stops; the embedded oracle costs nothing",
    "oracle.sharing.by": "says whose judgement people draw from",
    "oracle.sharing.archetype": "says whose judgement people draw from",
    "oracle.sharing.audit": "says who gets a judgement of their own; without sharing, everybody",
    "oracle.sharing.samples": "says what a judgement is counted from; without sharing there is none",
    "oracle.tape": "says where answers come from; the embedded oracle needs no tape",
    "oracle.tape_path": "says where answers come from",
}
"""The settings that say which answers there are, and why."""


def small(**overrides: object) -> Config:
    return load_config(plain_text("{}"), overrides={**SMALL, **overrides})


def result(**overrides: object) -> RunResult:
    return run(small(**overrides))


def paths() -> list[str]:
    return [each.path for each in settings() if each.path.startswith(("oracle.", "run."))]


def is_exception(path: str) -> bool:
    return path in EXCEPTIONS or any(path.startswith(start) for start in EXCEPTIONS if start.endswith("."))


def test_every_setting_of_the_oracle_and_the_run_is_varied_or_an_exception() -> None:
    known = paths()
    assert [path for path in known if (path in VARIED or path in RECORDED) == is_exception(path)] == []
    assert [path for path in (*VARIED, *RECORDED) if path not in known] == []
    assert [path for path in EXCEPTIONS if not any(each.startswith(path) for each in known)] == []


@pytest.fixture(scope="module")
def digest() -> str:
    """The digest of the small run, which asks enough to prove something."""
    usual = result()
    assert usual.summary.decisions_by_source["oracle"] > 50
    return usual.digest


REALTIME: Final = ["oracle.mode", "run.tick_s"]
"""They go together: without a pace every answer is late, and so are those of a limited rate."""
OTHERS: Final = [path for path in VARIED if path not in REALTIME]


@pytest.mark.parametrize("paths", [REALTIME, OTHERS[::2], OTHERS[1::2]], ids=["realtime", "half", "other half"])
def test_settings_of_the_oracle_and_the_run_change_no_result(paths: list[str], digest: str, tmp_path: Path) -> None:
    defaults = Config()
    for path in paths:
        section, _, name = path.rpartition(".")
        assert getattr(getattr(defaults, section), name) != VARIED[path] or path == "run.sync", path
    assert run(small(**{path: VARIED[path] for path in paths}), out=tmp_path / "run").digest == digest


def test_a_setting_that_records_more_changes_no_count_and_a_cap_that_is_not_reached_no_result(digest: str) -> None:
    usual, more = result(), result(**RECORDED)
    assert more.digest != usual.digest == digest
    assert (more.rounds, more.summary.world) == (usual.rounds, usual.summary.world)
    capped = result(
        **{f"llm.prices.{name}": 1.0 for name in ("input", "output")},
        **{f"oracle.{name}": 100_000 for name in ("max_calls", "max_tokens", "max_usd")},
    )
    assert capped.digest == digest


CHART = """
initial: away
states:
  away:
    role: offline
    transitions: [{trigger: feed_ready, target: reading}]
  reading:
    role: browse
    transitions:
      - {trigger: sees_post, target: away, when: post.appeal > 0.5, oracle: true}
      - {trigger: sees_post, target: reading, when: post.appeal < 0.2, oracle: true}
      - {trigger: sees_post, target: reading}
      - {trigger: round_ends, target: away}
"""


def test_a_row_for_the_oracle_counts_when_it_was_the_only_option_and_nobody_was_asked() -> None:
    steps = {
        Step("reading", "sees_post", "away", False): 5,
        Step("reading", "sees_post", "away", True): 2,
        Step("reading", "sees_post", "reading", False): 30,
        Step("reading", "sees_post", "reading", True): 7,
    }
    rows = covered_rows(social_behaviour(read_chart(CHART, "c.yaml")), steps)
    assert [row.times for row in rows] == [0, 7, 7, 30, 0]


def test_archetypes_of_many_questions_are_estimated_from_a_few() -> None:
    for few, kinds, power in ((500, 30, 1.0), (500, 3000, 2.5), (2000, 30_000, 4.0)):
        drawn = [int(kinds * uniform(1, number, 0, 0) ** power) for number in range(40_000)]
        assert 0.9 < archetypes_of_all(Counter(drawn[:few]), len(drawn)) / len({*drawn}) < 8
    assert archetypes_of_all(Counter(), 100.0) == 0.0
    assert archetypes_of_all(Counter("abca"), 4.0) == 3
    assert archetypes_of_all(Counter("abc"), 5.0) <= 5


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
