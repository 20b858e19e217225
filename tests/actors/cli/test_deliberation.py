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
