"""The progress of a run on a terminal, and what is shown before there is any."""

import io
import json
import time
from collections.abc import Sequence

import msgspec
import pytest
from rich.console import Console

from actors.core.phase import Phase
from actors.display import progress as display
from actors.display import progress as work
from actors.display.progress import Pace, facts, line, show_progress, step_shown, table
from actors.logs.output import output
from actors.runtime.simulation import Progress
from tests.catalogue import catalogue
from tests.patience import HANG_S

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


def shown(progress: Progress, pace: Pace, width: int = 80, highlights: Sequence[str] = ()) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(table(progress, pace, highlights))
    assert isinstance(console.file, io.StringIO)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def test_a_plain_line_says_how_far_how_fast_and_who_is_where() -> None:
    pace = Pace(lambda: READING)
    said = line(pace.now(), pace)
    assert said.startswith("tick 300/1200 (25%) eta ")
    assert "oracle waiting=7 asked=3 fallbacks=2" in said
    assert said.endswith("idle=900 scrolling=100")


@catalogue(("cost_usd", "text"), [(0.0, "$0.0000"), (0.01234, "$0.0123"), (1234.5, "$1,234.50")])
def test_with_prices_it_is_shown_what_has_been_spent(cost_usd: float, text: str) -> None:
    paid = msgspec.structs.replace(READING, cost_usd=cost_usd)
    pace = Pace(lambda: paid)
    assert f" spent={text} | " in line(pace.now(), pace)
    assert f", {text} spent\n" in shown(paid, pace)
    assert "spent" not in line(READING, pace) + shown(READING, pace)


def test_the_table_of_a_long_run_of_many_fits_its_terminal() -> None:
    long = msgspec.structs.replace(
        READING,
        tick=201_600,
        ticks=1_201_600,
        agents_by_state={"engaging_reshare": 1_000_000},
        oracle_queue=9_999,
        oracle_latency_s_p95=59.999,
        fallbacks=99_999,
        cost_usd=99_999.0,
    )
    drawn = shown(long, Pace(lambda: long), 80).splitlines()
    assert max(map(len, drawn)) <= 80
    assert len(drawn) == 10, "nothing takes two lines"
    for whole in (
        "tick 201,600 of 1,201,600 (16%)",
        "1,000,000  ◆ engaging_reshare",
        "p95 59.999 s  ! slow",
        "  99,999",
    ):
        assert any(line.rstrip().endswith(whole) for line in drawn), whole


class Clock:
    """A clock that goes when told to."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_the_phase_says_since_when_and_why_and_a_waiting_one_has_a_sign_beside_its_colour() -> None:
    clock, readings = Clock(), [READING]
    pace = Pace(lambda: readings[0], clock)
    pace.now()
    clock.now_s += 60.0
    readings[0] = msgspec.structs.replace(READING, phase=Phase.WAITING_FOR_ORACLE, phase_reason="connection_error")
    pace.now()
    clock.now_s += 12.3
    said = "waiting_for_oracle for 12 s (connection_error)"
    assert f" | {said} | 0 ticks/s" in line(pace.now(), pace)
    assert shown(pace.now(), pace).startswith(f"! {said}\n")


def test_lines_about_the_world_are_one_line_each_and_cannot_move_the_cursor() -> None:
    pace = Pace(lambda: READING)
    drawn = shown(pace.now(), pace, 80, ["a\x1b[2Jb", "x" * 100])
    assert drawn.splitlines()[-2:] == [r"a\x1b[2Jb", "x" * 79 + "…"]


def test_ticks_that_are_done_again_are_no_pace() -> None:
    now_s, tick, is_replaying = 0.0, 100, True

    def read() -> Progress:
        return msgspec.structs.replace(READING, tick=tick, is_replaying=is_replaying, transitions=10 * tick)

    pace = Pace(read, lambda: now_s)
    pace.now()
    now_s, tick = 1.0, 250
    progress = pace.now()
    assert (pace.ticks_per_s, pace.transitions_per_s, pace.eta_s(progress)) == (0.0, 0.0, None)
    assert "doing recorded ticks again" in shown(progress, pace)
    assert "doing recorded ticks again" in line(progress, pace)
    assert "ticks_per_s" not in facts(progress, pace)
    now_s, tick = 1.5, 260
    pace.now()
    now_s, tick, is_replaying = 2.0, 300, False
    assert (pace.now(), pace.ticks_per_s) == (read(), 0.0), "a part of this second's ticks was done again"
    now_s, tick = 4.0, 304
    progress = pace.now()
    assert (pace.ticks_per_s, pace.transitions_per_s) == (2.0, 20.0)
    assert pace.eta_s(progress) == (1200 - 304) / 2.0


class EndedError(Exception):
    """The end of a display."""


async def test_as_json_the_progress_is_an_object_a_line_and_never_a_live_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readings = iter([READING, READING, msgspec.structs.replace(READING, tick=600, cost_usd=0.25, is_replaying=True)])

    def read() -> Progress:
        try:
            return next(readings)
        except StopIteration:
            raise EndedError from None

    monkeypatch.setattr(output, "format", "json")
    monkeypatch.setattr(display, "LINE_EVERY_S", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")  # for `rich`, this is a terminal
    with pytest.raises(EndedError):
        await show_progress(read)
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["event"], first["level"], first["tick"], first["ticks"]) == ("progress", "info", 300, 1200)
    assert (first["oracle_waiting"], first["oracle_asked"], first["fallbacks"]) == (7, 3, 2)
    assert first["agents_by_state"] == {"idle": 900, "scrolling": 100}
    assert {"phase", "ticks_per_s", "transitions_per_s"} <= first.keys()
    assert not {"cost_usd", "phase_reason", "outage_reason"} & first.keys()
    assert (second["tick"], second["cost_usd"]) == (600, 0.25)
    assert "ticks_per_s" not in second


def test_a_step_that_takes_long_is_a_line_from_time_to_time(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(work, "LINE_EVERY_S", 0.01)
    seen, give_up = "", time.monotonic() + HANG_S
    with step_shown("greeting the oracle"):
        while seen.count("\n") < 2:
            assert time.monotonic() < give_up, seen
            seen += capfd.readouterr().err
    assert set(seen.splitlines()) == {"prism: greeting the oracle, 0 s"}


def test_a_step_that_ends_at_once_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with step_shown("greeting the oracle"):
        pass
    assert capfd.readouterr().err == ""
