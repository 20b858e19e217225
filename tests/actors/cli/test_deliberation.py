"""The sentence of `prism validate` on how long people deliberate, and what that hides."""

from __future__ import annotations

from typing import Any

from actors.cli.forecast import deliberation, hidden_row
from prism.config import Config
from tests.catalogue import catalogue

MODEL = {"backend": "ollama"}


def said(**sections: dict[str, Any]) -> str | None:
    return deliberation(Config(**sections))  # type: ignore[arg-type]


def test_ticks_that_are_paced_hide_as_long_as_they_take() -> None:
    assert said(oracle=MODEL, run={"tick_s": 0.5}, llm={"timeout_s": 20.0}) == (
        "deliberation: 4 simulated minutes are 4 ticks of 60 s, which hide calls of up to 2 s (run.tick_s 0.5); the "
        "clock waits for a longer one (llm.timeout_s 20)"
    )


def test_in_real_time_a_later_answer_is_a_fallback() -> None:
    line = said(oracle={**MODEL, "mode": "realtime"}, run={"tick_s": 2.0}, simulation={"tick_seconds": 300.0})
    assert line == (
        "deliberation: 4 simulated minutes are 1 tick of 300 s, which hide calls of up to 2 s (run.tick_s 2); a later "
        "answer is a fallback (llm.timeout_s 60)"
    )


def test_ticks_without_a_pause_hide_hardly_anything() -> None:
    assert said(oracle=MODEL) == (
        "deliberation: 4 simulated minutes are 4 ticks of 60 s, which hide no more of a call than they take "
        "(run.tick_s 0); the clock waits for a longer one (llm.timeout_s 60)"
    )


def test_nobody_waits_for_the_embedded_oracle_and_an_economy_has_no_line() -> None:
    assert said() == "deliberation: 4 simulated minutes are 4 ticks of 60 s; the embedded oracle answers at once"
    assert said(simulation={"domain": "economy"}) is None
    none = "deliberation: none, so a decision takes effect in the tick of its question"
    assert said(population={"deliberation_minutes": 0}) == none
    assert said(population={"deliberation_minutes": 0}, oracle=MODEL) == f"{none}, and the clock waits for every call"


@catalogue(
    ("run_tick_s", "tick_s", "latency_s", "text"),
    [
        (0.5, 0.01, 1.0, "4 ticks of about 0.5 s hide calls of up to 2 s; one of 1 s does not hold up the clock"),
        (
            0.0,
            0.1,
            1.0,
            (
                "4 ticks of about 0.1 s hide calls of up to 0.4 s; the clock waits for longer ones, and run.tick_s "
                "0.25 would hide one of 1 s"
            ),
        ),
        (
            0.0,
            42.5,
            1200.0,
            (
                "4 ticks of about 42 s hide calls of up to 170 s; the clock waits for longer ones, and run.tick_s "
                "300 would hide one of 1200 s"
            ),
        ),
    ],
)
def test_a_forecast_says_what_would_hide_a_call(run_tick_s: float, tick_s: float, latency_s: float, text: str) -> None:
    config = Config(run={"tick_s": run_tick_s}, oracle=MODEL)  # type: ignore[arg-type]
    assert hidden_row(config, tick_s, latency_s) == ("deliberation", text)


@catalogue(
    ("latency_s", "calls_per_tick", "text"),
    [
        (1.0, 4.0, "4 ticks of about 0.5 s hide calls of up to 2 s; one of 1 s does not hold up the clock"),
        (
            1.0,
            100.0,
            (
                "4 ticks of about 0.5 s hide calls of up to 2 s; the calls of a tick need about 12 s at 8 at once, so "
                "they hold up the clock"
            ),
        ),
        (
            4.0,
            100.0,
            (
                "4 ticks of about 0.5 s hide calls of up to 2 s; the calls of a tick need about 50 s at 8 at once, so "
                "they hold up the clock"
            ),
        ),
        (
            4.0,
            1.5,
            (
                "4 ticks of about 0.5 s hide calls of up to 2 s; the clock waits for longer ones, and run.tick_s 1 "
                "would hide one of 4 s"
            ),
        ),
    ],
)
def test_more_calls_than_are_made_at_once_hold_up_the_clock(latency_s: float, calls_per_tick: float, text: str) -> None:
    config = Config(oracle={**MODEL, "max_concurrency": 8})  # type: ignore[arg-type]
    assert hidden_row(config, 0.5, latency_s, calls_per_tick) == ("deliberation", text)


def test_a_forecast_without_deliberation_has_no_row() -> None:
    assert hidden_row(Config(population={"deliberation_minutes": 0}), 0.1, 1.0) is None  # type: ignore[arg-type]
