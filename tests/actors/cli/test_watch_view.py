"""What `prism watch` shows of a run: its view and its plain line, from two pages of metrics."""

from __future__ import annotations

import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from actors.cli.scrape import Interval, Scrape
from actors.cli.watch import line, view
from tests.actors.cli.pages import PAGE
from tests.actors.metrics.support import Watched
from tests.schedules import run_scheduled

EARLIER = PAGE.replace("1300.0", "1200.0").replace("3000.0", "1000.0")


def interval(before: str = EARLIER, after: str = PAGE, elapsed_s: float = 10.0) -> Interval:
    return Interval(Scrape.parse(before, 0.0), Scrape.parse(after, elapsed_s))


def shown(reading: Interval) -> str:
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    console.print(view(reading))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_view_says_which_run_how_far_how_fast_and_how_the_oracle_does() -> None:
    text = shown(interval())
    assert text.startswith("run default-001: social, ollama, seed 42\n")
    assert "  tick 1,300 of 2,300 (56%), round 54\n1 min 40 s to go\n" in text
    assert "10.0 ticks/s   200 transitions/s   quarantined 1   restarts 3" in text
    assert "oracle: 7 waiting, 3 of 64 being asked, p50 1.000 s, p95 1.900 s, breaker open" in text
    assert "900 fallbacks (timeout 900), 12,000 tokens" in text
    assert "journal: 1,300 ticks, 2.5 MB; latest checkpoint: none" in text
    assert "event loop late by 0.004 s, at most 0.021 s in the last minute; memory 120 MB" in text
    assert "900  idle" in text


def test_the_view_says_what_has_been_spent_if_there_are_prices() -> None:
    assert "12,000 tokens\n" in shown(interval())
    page = f'{PAGE}prism_llm_cost_usd_total{{model="m"}} 0.5\n'
    assert "12,000 tokens, $0.5000 spent\n" in shown(interval(after=page))


def test_the_plain_line_has_what_matters() -> None:
    assert line(interval()) == (
        "tick 1300/2300 (56%) eta 1 min 40 s | round 54 | 10.0 ticks/s   200 transitions/s | "
        "oracle waiting=7 asked=3 fallbacks=900 | idle=900 scrolling=100"
    )


def test_an_outage_is_a_line_of_its_own_that_says_since_when_and_why() -> None:
    page = f'{PAGE}prism_oracle_outage_seconds{{reason="timeout"}} 0.0\n'
    assert "waiting" not in line(interval(after=page)).replace("oracle waiting=", "")
    away = f'{page}prism_oracle_outage_seconds{{reason="connection_error"}} 75.2\n'
    assert "waiting for the oracle for 1 min 15 s (connection_error)\n" in shown(interval(after=away))
    assert "| waiting for the oracle for 1 min 15 s (connection_error) |" in line(interval(after=away))


def test_a_run_that_is_over_says_so() -> None:
    text = shown(interval(after=PAGE.replace("active 1.0", "active 0.0")))
    assert text.startswith("run default-001: social, ollama, seed 42, not under way\n")
    assert "to go" not in text


def test_while_nothing_moves_nobody_knows_how_long_it_takes() -> None:
    assert "(56%), round 54\n- to go\n" in shown(interval(before=PAGE))


def test_a_run_that_does_not_say_how_many_ticks_it_has_is_shown_all_the_same() -> None:
    before, after = (page.replace("prism_ticks_planned 2300.0\n", "") for page in (EARLIER, PAGE))
    assert shown(interval(before, after)).startswith(
        "run default-001: social, ollama, seed 42\ntick 1,300, round 54\n\n"
    )
    assert line(interval(before, after)).startswith("tick 1300 | round 54 | ")


def test_a_process_that_started_anew_has_no_negative_rate() -> None:
    assert "0.0 ticks/s   0 transitions/s" in shown(interval(before=PAGE, after=EARLIER))


def test_latencies_are_of_the_time_in_between() -> None:
    before = PAGE.replace('le="1.0",model="m",outcome="ok"} 50.0', 'le="1.0",model="m",outcome="ok"} 40.0')
    before = before.replace('outcome="ok"} 100.0', 'outcome="ok"} 40.0')
    name, latest = "prism_llm_request_duration_seconds", interval(before=before)
    assert latest.quantile(0.5, name, outcome="ok") == pytest.approx(1.4)


def test_a_histogram_without_observations_has_no_quantile() -> None:
    assert interval().quantile(0.5, "prism_nothing") is None


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
    assert text.startswith("run small-001: social, choice, seed 11, not under way\n")
    assert "  tick 36 of 36 (100%), round 3\n" in text
    assert "36.0 ticks/s" in text
    assert "breaker closed" in text


def test_ticks_that_are_done_again_have_no_pace() -> None:
    run = "prism_run_active 1\nprism_ticks_planned 900\n"
    again = f"{run}prism_journal_ticks_total 450\nprism_ticks_replayed_total 12\n"
    new = f"{run}prism_journal_ticks_total 451\nprism_ticks_total 451\n"
    text = shown(interval(again, again))
    assert "  tick 450 of 900 (50%)" in text
    assert "doing recorded ticks again: 12 so far" in text
    assert "0.0 ticks/s   0 transitions/s" in shown(interval(again, new))


def test_control_characters_of_a_server_do_not_reach_the_terminal() -> None:
    text = shown(interval(after=PAGE.replace("default-001", "a\x1b[2Jb")))
    assert text.startswith("run a?[2Jb: social, ollama, seed 42\n")
