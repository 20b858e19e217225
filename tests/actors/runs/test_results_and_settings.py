"""Numbers worked out of a run: results and settings, the counts of a chart's rows, and archetypes of many questions."""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from actors import run
from actors.results.result import RunResult
from actors.runs.forecast import archetypes_of_all
from actors.runs.summary import covered_rows
from actors.store.course import Step
from prism.config import Config, load_config
from prism.config.config import settings
from prism.rng import uniform
from prism.social.chart import social_behaviour
from prism.statechart import read_chart
from tests.plain import plain_text

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
