"""No setting below `oracle` or `run` changes a result, apart from those that say which answers there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from actors import run
from actors.results.result import RunResult
from prism.config import Config, load_config
from prism.config.describe import settings
from tests.catalogue import catalogue

SMALL: Final[dict[str, object]] = {
    "simulation.seed": 11,
    "simulation.rounds": 5,
    "simulation.ticks_per_round": 12,
    "population.size": 32,
    "population.posts_per_session": 0.5,
    "population.ambiguity": 0.5,
    "population.activity.mean": 0.9,
    "population.activity.sigma": 0.2,
    "run.sync": False,
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
    "run.tick_catch_up": True,
    "run.restart_intensity": 0,
    "run.restart_period_ticks": 1,
    "run.checkpoint_every_ticks": 5,
    "run.sync": True,
    "run.log_max_mb": 0.01,
    "run.logs_kept": 0,
    "run.stop_within_s": 60.0,
    "run.segment_mb": 0.001,
    "run.question": "Is the harbour closed?",
}
"""Another value of each setting than its default. None of them may change the digest."""

RECORDED: Final[dict[str, object]] = {"run.record_feeds": True}
"""Another value of each setting that puts more into the journal. The digest is another one, and no count changes."""

TOGETHER: Final[dict[str, dict[str, object]]] = {"oracle.mode": {"run.tick_s": 0.002}}
"""What a value needs besides."""

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
    return load_config(overrides={**SMALL, **overrides})


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


def test_every_value_is_another_than_the_default() -> None:
    defaults = Config()
    for path, value in (VARIED | RECORDED).items():
        section, _, name = path.rpartition(".")
        assert getattr(getattr(defaults, section), name) != value or path == "run.sync", path


@pytest.fixture(scope="module")
def digest() -> str:
    """The digest of the small run, which asks enough to prove something."""
    usual = result()
    assert usual.summary.decisions_by_source["oracle"] > 50
    return usual.digest


@catalogue("path", VARIED)
def test_a_setting_of_the_oracle_or_the_run_changes_no_result(path: str, digest: str, tmp_path: Path) -> None:
    config = small(**{**TOGETHER.get(path, {}), path: VARIED[path]})
    assert run(config, out=tmp_path / "run").digest == digest


@pytest.mark.parametrize("path", RECORDED)
def test_a_setting_that_records_more_changes_no_count(path: str) -> None:
    usual, more = result(), result(**{path: RECORDED[path]})
    assert more.digest != usual.digest
    assert more.rounds == usual.rounds
    assert more.summary.world == usual.summary.world


@catalogue("path", ["oracle.max_calls", "oracle.max_tokens", "oracle.max_usd"])
def test_a_cap_that_is_not_reached_changes_no_result(path: str, digest: str) -> None:
    prices: dict[str, Any] = {"llm.prices.input": 1.0, "llm.prices.output": 1.0}
    assert result(**prices, **{path: 100_000}).digest == digest
