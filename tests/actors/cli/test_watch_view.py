"""What `prism watch` shows of a run: its view and its plain line, from two pages of metrics."""

from __future__ import annotations

import io
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from actors.cli.metrics_client import Interval, Scrape
from actors.cli.watch import brief, line, view
from actors.cli.watched_run import Sighting
from actors.display.trends import Trends
from tests.actors.cli.pages import PAGE
from tests.actors.metrics.support import Watched
from tests.schedules import run_scheduled

EARLIER = PAGE.replace("1300.0", "1200.0").replace("3000.0", "1000.0")


def interval(before: str = EARLIER, after: str = PAGE, elapsed_s: float = 10.0) -> Interval:
    return Interval(Scrape.parse(before, 0.0), Scrape.parse(after, elapsed_s))


def sighting(reading: Interval, *events: dict[str, object]) -> Sighting:
    return Sighting(interval=reading, events=events)


def plain(reading: Interval) -> str:
    return line(sighting(reading))


def shown(reading: Interval, *events: dict[str, object], width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(view(sighting(reading, *events), Trends()))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_view_says_which_run_how_far_how_fast_and_how_the_oracle_does() -> None:
    text = shown(interval())
    assert text.startswith("run default-001: social, ollama, seed 42" + "\n")
    assert "  tick 1,300 of 2,300 (56%), round 54\n1 min 40 s to go\n" in text
    assert "  10.0, 200 transitions/s  ! 1 quarantined" in text
    assert "  7 waiting, 3 of 64 being asked" in text
    assert "  p50 1.000 s, p95 1.900 s" in text
    assert "oracle: breaker open, 12,000 tokens, fallbacks by timeout 900\n" in text
    assert "journal: 1,300 ticks, 2.5 MB; latest checkpoint: none; 3 restarts\n" in text
    assert "event loop late by 0.004 s, at most 0.021 s in the last minute; memory 120 MB" in text
    assert "900  ✚ idle" in text


def test_the_view_says_what_has_been_spent_if_there_are_prices() -> None:
    assert "12,000 tokens, fallbacks" in shown(interval())
    page = f'{PAGE}prism_llm_cost_usd_total{{model="m"}} 0.5\n'
    assert "12,000 tokens, $0.5000 spent, fallbacks" in shown(interval(after=page))


def test_the_plain_line_has_what_matters() -> None:
    assert plain(interval()) == (
        "tick 1300/2300 (56%) eta 1 min 40 s | round 54 | 10.0 ticks/s, 200 transitions/s | "
        "oracle waiting=7 asked=3 fallbacks=900 | idle=900 scrolling=100"
    )


def test_a_run_that_is_over_says_so() -> None:
    text = shown(interval(after=PAGE.replace("active 1.0", "active 0.0")))
    assert text.startswith("run default-001: social, ollama, seed 42, not under way\n")
    assert "to go" not in text


def test_while_nothing_moves_nobody_knows_how_long_it_takes() -> None:
    assert "(56%), round 54\n- to go\n" in shown(interval(before=PAGE))


def test_a_process_that_started_anew_has_no_negative_rate() -> None:
    assert "  0.0, 0 transitions/s" in shown(interval(before=PAGE, after=EARLIER))


def test_latencies_are_of_the_time_in_between() -> None:
    before = PAGE.replace('le="1.0",model="m",outcome="ok"} 50.0', 'le="1.0",model="m",outcome="ok"} 40.0')
    before = before.replace('outcome="ok"} 100.0', 'outcome="ok"} 40.0')
    name, latest = "prism_llm_request_duration_seconds", interval(before=before)
    assert latest.quantile(0.5, name, outcome="ok") == pytest.approx(1.4)


def test_a_histogram_without_observations_has_no_quantile() -> None:
    assert interval().quantile(0.5, "prism_nothing") is None


@pytest.mark.slow
@given(values=st.lists(st.floats(0.0, 4.0), min_size=1, max_size=40), share=st.sampled_from([0.05, 0.5, 0.95, 1.0]))
def test_a_quantile_is_in_the_bucket_of_the_value_that_it_stands_for(values: list[float], share: float) -> None:
    bounds = (0.5, 1.0, 2.0, 4.0, math.inf)
    page = "".join(f'h_bucket{{le="{bound}"}} {sum(value <= bound for value in values)}\n' for bound in bounds)
    page = page.replace("inf", "+Inf")
    exact = sorted(values)[math.ceil(share * len(values)) - 1]
    upper = next(bound for bound in bounds if exact <= bound)
    lower = max((bound for bound in bounds if bound < upper), default=0.0)
    found = interval("", page).quantile(share, "h")
    assert found is not None
    assert lower <= found <= upper + 1e-9


def test_a_real_run_is_viewed_whole() -> None:
    watched = Watched()
    before = watched.text()
    run_scheduled(0, watched.simulation.run)
    text = shown(Interval(Scrape.parse(before, 0.0), Scrape.parse(watched.text(), 1.0)))
    assert text.startswith("run small-001: social, choice, seed 11\nstarting for "), "no process tells a phase"
    assert "  tick 36 of 36 (100%), round 3\n" in text
    assert "  36.0, " in text
    assert "breaker closed" in text


def test_ticks_that_are_done_again_have_no_pace() -> None:
    run = "prism_run_active 1\nprism_ticks_planned 900\n"
    again = f"{run}prism_journal_ticks_total 450\nprism_ticks_replayed_total 12\n"
    new = f"{run}prism_journal_ticks_total 451\nprism_ticks_total 451\n"
    text = shown(interval(again, again))
    assert "  tick 450 of 900 (50%)" in text
    assert "doing recorded ticks again: 12 so far" in text
    assert "  0.0, 0 transitions/s" in shown(interval(again, new))


def test_control_characters_of_a_server_do_not_reach_the_terminal() -> None:
    text = shown(interval(after=PAGE.replace("default-001", "a\x1b[2Jb")))
    assert text.startswith(r"run a\x1b[2Jb: social, ollama, seed 42" + "\n")


PHASES = 'prism_run_phase{phase="running"} 0.0\nprism_run_phase{phase="waiting_for_oracle"} 1.0\n'
CHANGED = {"event": "phase_changed", "timestamp": 1.5, "phase": "waiting_for_oracle", "reason": "time\x1bout"}


def since(seconds: float) -> str:
    return f"prism_run_phase_since_timestamp_seconds {time.time() - seconds}\n"


@pytest.mark.parametrize("width", [80, 140])
def test_the_phase_stands_there_with_its_time_its_reason_and_a_sign_and_nothing_is_wider_than_the_terminal(
    width: int,
) -> None:
    reading = interval(after=f"{PAGE}{PHASES}{since(75.2)}")
    text = shown(reading, CHANGED, width=width)
    assert text.splitlines()[1] == r"! waiting_for_oracle for 1 min 15 s (time\x1bout)"
    assert max(map(len, text.splitlines())) == width
    assert "\x1b" not in text
    assert r" | waiting_for_oracle for 1 min 15 s (time\x1bout) | round 54" in line(sighting(reading, CHANGED))
    assert brief("a", sighting(reading, CHANGED)).startswith(
        r"a: waiting_for_oracle for 1 min 15 s (time\x1bout), tick 1,300"
    )


def test_the_latest_events_are_shown_except_for_checkpoints() -> None:
    many = [{"event": "limit_changed", "timestamp": float(number), "limit": number} for number in range(9)]
    written = {"event": "checkpoint_written", "timestamp": 10.0}
    told = [line for line in shown(interval(), *many, written).splitlines() if "  limit_changed  " in line]
    assert [line.split()[-1] for line in told] == [f"limit={number}" for number in range(4, 9)]
    assert "checkpoint_written" not in shown(interval(), *many, written)


def test_a_run_that_starts_has_a_phase_and_nothing_else() -> None:
    page = f'prism_run_phase{{phase="starting"}} 1.0\n{since(3.0)}'
    assert shown(interval(page, page)) == "starting for 3 s\n"


def test_a_run_that_recovers_says_how_many_ticks_are_left_to_be_done_again() -> None:
    page = f'{PAGE}prism_run_phase{{phase="recovering"}} 1.0\n{since(3.0)}prism_ticks_replayed_total 12\n'
    text = shown(interval(after=page), {"event": "run_resumed", "recovered": 100})
    assert text.splitlines()[1] == "recovering for 3 s, 88 recorded ticks to be done again"


def test_a_run_among_several_is_a_line() -> None:
    assert brief("a", Sighting()) == "a: not seen yet"
    assert brief("a", Sighting(problem="Connection refused")) == "a: Connection refused"
    assert brief("a", sighting(interval())) == "a: under way, tick 1,300 of 2,300 (56%)"
    assert brief("a", Sighting(ended="a: done after 72 ticks")) == "a: done after 72 ticks"
