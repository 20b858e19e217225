"""What a run shows while it runs."""

from __future__ import annotations

import io

import msgspec
import pytest
from rich.console import Console

from actors.cli.progress import Pace, duration, line, table
from actors.simulation import Progress

READING = Progress(
    tick=300,
    ticks=1200,
    agents_by_state={"idle": 900, "scrolling": 100, "resting": 0},
    transitions=5000,
    oracle_queue=7,
    oracle_in_flight=3,
    oracle_latency_s_p50=0.25,
    oracle_latency_s_p95=1.5,
    fallbacks=2,
    quarantined=1,
)


def test_a_plain_line_says_how_far_how_fast_and_who_is_where() -> None:
    pace = Pace(lambda: READING)
    shown = line(pace.now(), pace)
    assert shown.startswith("tick 300/1200 (25%) eta ")
    assert "oracle waiting=7 asked=3 fallbacks=2" in shown
    assert shown.endswith("idle=900 scrolling=100")


def test_the_table_lists_every_state_and_the_oracle() -> None:
    pace = Pace(lambda: READING)
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    console.print(table(pace.now(), pace))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "tick 300 of 1,200" in shown
    for state in READING.agents_by_state:
        assert state in shown
    assert "7 waiting, 3 being asked, p50 0.250 s, p95 1.500 s, 2 fallbacks" in shown
    assert "quarantined 1" in shown


def test_there_is_no_estimate_before_the_first_tick() -> None:
    assert Pace(lambda: READING).eta_s(msgspec.structs.replace(READING, tick=0)) is None


@pytest.mark.parametrize(
    ("seconds", "shown"), [(None, "-"), (0.4, "0 s"), (59.6, "1 min 00 s"), (185, "3 min 05 s"), (7_320, "2 h 02 min")]
)
def test_durations_read_like_durations(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown
