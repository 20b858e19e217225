"""`prism watch`: what it shows of a run elsewhere, and what it says when there is nothing to see."""

from __future__ import annotations

import io
import json
import math
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from http import HTTPStatus
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from actors.cli.reader import Reader
from actors.cli.scraped import Interval, Scrape
from actors.cli.watch_view import line, view
from actors.http import MetricsServer
from actors.page import Page, plain
from prism.config import MetricsConfig
from tests.actors.metrics_support import Watched
from tests.command import Prism
from tests.schedules import run_scheduled

PAGE = """
prism_run_info{run_id="default-001",scenario="social",backend="ollama",seed="42"} 1.0
prism_run_active 1.0
prism_population 1000.0
prism_agents{state="idle"} 900.0
prism_agents{state="scrolling"} 100.0
prism_ticks_total 1300.0
prism_ticks_planned 2300.0
prism_round 54.0
prism_agent_transitions_total{from_state="idle",to_state="scrolling"} 4000.0
prism_agent_transitions_total{from_state="scrolling",to_state="idle"} 3000.0
prism_agents_quarantined 1.0
prism_actor_restarts_total{kind="agent",reason="crash"} 3.0
prism_actor_restarts_total{kind="agent",reason="quarantine"} 1.0
prism_oracle_queue_depth 7.0
prism_llm_requests_in_flight 3.0
prism_llm_concurrency_limit 64.0
prism_llm_request_duration_seconds_bucket{le="1.0",model="m",outcome="ok"} 50.0
prism_llm_request_duration_seconds_bucket{le="2.0",model="m",outcome="ok"} 100.0
prism_llm_request_duration_seconds_bucket{le="+Inf",model="m",outcome="ok"} 100.0
prism_llm_request_duration_seconds_bucket{le="+Inf",model="m",outcome="timeout"} 900.0
prism_fallbacks_total{reason="timeout"} 900.0
prism_fallbacks_total{reason="late"} 0.0
prism_llm_tokens_total{model="m",type="prompt"} 12000.0
prism_oracle_breaker_state{state="closed"} 0.0
prism_oracle_breaker_state{state="open"} 1.0
prism_journal_ticks_total 1300.0
prism_journal_bytes_total 2.5e+06
prism_checkpoint_timestamp_seconds 0.0
prism_event_loop_lag_seconds 0.004
prism_event_loop_lag_seconds_max 0.021
process_resident_memory_bytes 1.2e+08
"""
EARLIER = PAGE.replace("1300.0", "1200.0").replace("3000.0", "1000.0")


def interval(before: str = EARLIER, after: str = PAGE, elapsed_s: float = 10.0) -> Interval:
    return Interval(Scrape.parse(before, 0.0), Scrape.parse(after, elapsed_s))


def shown(reading: Interval) -> str:
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    console.print(view(reading))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


Serve = Callable[..., MetricsServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve a page of metrics."""
    with ExitStack() as servers:

        def start(page: str, username: str | None = None) -> MetricsServer:
            pages = {"/metrics": lambda _: Page(HTTPStatus.OK, page.encode())}
            config = MetricsConfig(port=0, username=username)
            return servers.enter_context(closing(MetricsServer(config, pages, PASSWORD)))

        yield start


PASSWORD: Mapping[str, str] = {"PRISM_METRICS_PASSWORD": "sesame"}


def test_the_view_says_which_run_how_far_how_fast_and_how_the_oracle_does() -> None:
    text = shown(interval())
    assert text.startswith("default-001 (social, ollama, seed 42)\n")
    assert "  tick 1,300 of 2,300 (56%), round 54\n1 min 40 s to go\n" in text
    assert "10.0 ticks/s   200 transitions/s   quarantined 1   restarts 3" in text
    assert "oracle: 7 waiting, 3 of 64 being asked, p50 1.000 s, p95 1.900 s, breaker open" in text
    assert "900 fallbacks (timeout 900), 12,000 tokens" in text
    assert "journal: 1,300 ticks, 2.5 MB; latest checkpoint: none" in text
    assert "event loop late by 0.004 s, at most 0.021 s in the last minute; memory 120 MB" in text
    assert "900  idle" in text


def test_the_plain_line_has_what_matters() -> None:
    assert line(interval()) == (
        "tick 1300/2300 (56%) eta 1 min 40 s round 54 | 10.0 ticks/s   200 transitions/s | "
        "oracle waiting=7 asked=3 fallbacks=900 | idle=900 scrolling=100"
    )


def test_a_run_that_is_over_says_so() -> None:
    text = shown(interval(after=PAGE.replace("active 1.0", "active 0.0")))
    assert text.startswith("default-001 (social, ollama, seed 42), not under way\n")
    assert "to go" not in text


def test_while_nothing_moves_nobody_knows_how_long_it_takes() -> None:
    assert "(56%), round 54\n- to go\n" in shown(interval(before=PAGE))


def test_a_run_that_does_not_say_how_many_ticks_it_has_is_shown_all_the_same() -> None:
    before, after = (page.replace("prism_ticks_planned 2300.0\n", "") for page in (EARLIER, PAGE))
    assert shown(interval(before, after)).startswith("default-001 (social, ollama, seed 42)\ntick 1,300, round 54\n\n")
    assert line(interval(before, after)).startswith("tick 1300 round 54 | ")


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
    run_scheduled(0, watched.simulation.run)
    text = shown(Interval(Scrape.parse("", 0.0), Scrape.parse(watched.text(), 1.0)))
    assert text.startswith("small-001 (social, choice, seed 11), not under way\n")
    assert "  tick 36 of 36 (100%), round 3\n" in text
    assert "36.0 ticks/s" in text
    assert "breaker closed" in text


def test_control_characters_of_a_server_do_not_reach_the_terminal() -> None:
    text = shown(interval(after=PAGE.replace("default-001", "a\x1b[2Jb")))
    assert text.startswith("a?[2Jb (social")


def test_one_view_of_an_address_or_of_a_run_directory(serve: Serve, prism: Prism, tmp_path: Path) -> None:
    url = serve(PAGE).url
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.json").write_text(json.dumps({"url": url}))
    for where in (f"{url}/metrics", "run"):
        ended = prism("watch", where, "--once")
        assert (ended.code, ended.err) == (0, "")
        assert ended.out.startswith("default-001 (social, ollama, seed 42)\n")
        assert "tick 1,300 of 2,300" in ended.out


def test_the_password_comes_from_the_environment(
    serve: Serve, prism: Prism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = serve(PAGE, username="ann").url
    monkeypatch.setenv("PRISM_METRICS_PASSWORD", "sesame")
    (tmp_path / "metrics.json").write_text(json.dumps({"url": url, "username": "ann"}))
    assert prism("watch", url, "--user", "ann", "--once").code == 0
    assert prism("watch", ".", "--once").code == 0
    refused = prism("watch", url, "--once")
    assert (refused.code, refused.err) == (
        1,
        f"prism: {url}/metrics: needs --user NAME and its password in $PRISM_METRICS_PASSWORD\n",
    )


@pytest.mark.parametrize(
    ("page", "problem"), [("nothing of the sort {", "is no page of metrics"), ("up 1\n", "shows no run yet")]
)
def test_a_page_without_a_run_is_one_line(page: str, problem: str, serve: Serve, prism: Prism) -> None:
    url = serve(page).url
    ended = prism("watch", url, "--once")
    assert (ended.code, ended.out, ended.err) == (1, "", f"prism: {url}/metrics: {problem}\n")


def test_nobody_there_is_one_line(prism: Prism) -> None:
    ended = prism("watch", "http://127.0.0.1:1", "--once")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "prism: http://127.0.0.1:1/metrics: [Errno 111] Connection refused\n"


def test_a_run_that_has_ended_is_one_line(prism: Prism, tmp_path: Path) -> None:
    ended = prism("watch", ".", "--once")
    assert (ended.code, ended.err) == (
        1,
        "prism: .: has no metrics.json: the run has ended, or was started without metrics.enabled\n",
    )
    (tmp_path / "metrics.json").write_text("{}")
    assert prism("watch", ".", "--once").err.startswith("prism: metrics.json: cannot be read: ")


def test_what_is_neither_an_address_nor_a_directory_is_wrong_usage(prism: Prism) -> None:
    ended = prism("watch", "small.yaml")
    assert ended.code == 2
    assert "small.yaml: expected an address that begins with http, or the directory of a run" in ended.err


def test_a_watch_goes_on_until_it_is_interrupted_and_says_what_is_wrong_meanwhile(serve: Serve) -> None:
    for url, stream, beginning in (
        (serve(PAGE).url, "stdout", "tick 1300/2300 (56%) eta "),
        ("http://127.0.0.1:1", "stderr", "prism: http://127.0.0.1:1/metrics: [Errno 111] Connection refused"),
    ):
        command = [sys.executable, "-u", "-m", "actors.cli", "watch", url]
        with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            said = getattr(process, stream).readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 0
        assert said.startswith(beginning)


def test_a_reader_goes_on_when_a_run_comes_back_at_another_address(tmp_path: Path) -> None:
    def page(_: str) -> Page:
        return plain(HTTPStatus.OK, PAGE)

    def come_back() -> MetricsServer:
        server = MetricsServer(MetricsConfig(port=0), {"/metrics": page}, {})
        (tmp_path / "metrics.json").write_text(json.dumps({"url": server.url}))
        return server

    readings = Reader(str(tmp_path)).readings(0.0, 10.0)
    assert next(readings)[1].endswith("the run has ended, or was started without metrics.enabled")
    for _ in range(2):
        with closing(come_back()):
            found = [reading for reading, problem in islice(readings, 2) if not problem]
            assert [reading.after.value("prism_population") for reading in found if reading] == [1000.0, 1000.0]
        assert next(readings)[1].endswith("Connection refused")


def test_a_run_that_has_ended_is_not_waited_for(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "ended").mkdir()
    (tmp_path / "ended" / "summary.json").write_text('{"status": "done", "ticks": 72}')
    ended = prism("watch", str(tmp_path / "ended"))
    assert (ended.code, ended.out) == (0, f"{tmp_path / 'ended'}: done after 72 ticks\n")
