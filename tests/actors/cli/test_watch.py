"""`prism watch`: whom it reads from, and what it says when there is nothing to see."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from actors.cli.metrics_client import MetricsClient
from actors.metrics.http_server import MetricsServer
from actors.record.lock import locked
from actors.record.manifest import Stop
from actors.runs.directory import RunDirectory
from prism.config import MetricsConfig
from tests.actors.cli.pages import PAGE
from tests.command import Prism
from tests.patience import HANG_S

Serve = Callable[..., MetricsServer]
PASSWORD: Mapping[str, str] = {"PRISM_METRICS_PASSWORD": "sesame"}


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve a page of metrics."""
    with ExitStack() as servers:

        def start(page: str, username: str | None = None) -> MetricsServer:
            pages = {"/metrics": lambda _: PlainTextResponse(page)}
            config = MetricsConfig(port=0, username=username)
            return servers.enter_context(closing(MetricsServer(config, pages, PASSWORD)))

        yield start


def test_one_view_of_an_address_or_of_a_run_directory(serve: Serve, prism: Prism, tmp_path: Path) -> None:
    url = serve(PAGE).url
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.json").write_text(json.dumps({"url": url}))
    for where in (f"{url}/metrics", "run"):
        ended = prism("watch", where, "--once")
        assert (ended.code, ended.err) == (0, "")
        assert ended.out.startswith("run default-001: social, ollama, seed 42\n")
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
    assert ended.err == "prism: http://127.0.0.1:1/metrics: Connection refused\n"


def test_a_run_that_has_ended_is_one_line(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").touch()
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
    ended = prism("watch", ".")
    assert ended.code == 2
    assert ".: is no run's directory: it has no manifest.json" in ended.err


@pytest.mark.slow
def test_a_watch_goes_on_until_it_is_interrupted_and_says_what_is_wrong_meanwhile(serve: Serve) -> None:
    for url, stream, beginning in (
        (serve(PAGE).url, "stdout", "tick 1300/2300 (56%) eta "),
        ("http://127.0.0.1:1", "stderr", "prism: http://127.0.0.1:1/metrics: Connection refused"),
    ):
        command = [sys.executable, "-u", "-m", "actors.cli", "watch", url]
        with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            said = getattr(process, stream).readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(HANG_S) == 0
        assert said.startswith(beginning)


def test_a_reader_goes_on_when_a_run_comes_back_at_another_address(tmp_path: Path) -> None:
    def page(_: Request) -> Response:
        return PlainTextResponse(PAGE)

    def come_back() -> MetricsServer:
        server = MetricsServer(MetricsConfig(port=0), {"/metrics": page}, {})
        (tmp_path / "metrics.json").write_text(json.dumps({"url": server.url}))
        return server

    (tmp_path / "manifest.json").touch()
    readings = MetricsClient(str(tmp_path)).intervals(0.0, 10.0)
    assert next(readings)[1].endswith("the run has ended, or was started without metrics.enabled")
    for _ in range(2):
        with closing(come_back()):
            found = [reading for reading, problem in islice(readings, 2) if not problem]
            assert [reading.after.value("prism_population") for reading in found if reading] == [1000.0, 1000.0]
        assert next(readings)[1].endswith("Connection refused")


@pytest.mark.parametrize("options", [(), ("--once",)])
def test_a_run_whose_process_is_gone_is_not_waited_for(options: tuple[str, ...], prism: Prism, tmp_path: Path) -> None:
    run = tmp_path / "killed"
    run.mkdir()
    (run / "metrics.json").write_text('{"url": "http://127.0.0.1:1"}')
    with locked(run):
        assert MetricsClient(str(run)).outcome is None, "somebody is at work there"
    ended = prism("watch", str(run), *options)
    told = f"{run}: its process is gone; continue with: prism resume {run}\n"
    assert (ended.code, ended.out, ended.err) == ((1, "", f"prism: {told}") if options else (0, told, ""))


def test_a_run_that_was_stopped_says_by_what_also_without_a_summary(
    prism: Prism, small_run: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(small_run, tmp_path / "stopped"))
    (run / "summary.json").unlink()
    RunDirectory(run).record_stop(Stop(tick=72, reason="outage", detail="timeout"))
    ended = prism("watch", str(run))
    told = f"{run}: stopped by outage (timeout) after 72 ticks; continue with: prism resume {run}\n"
    assert (ended.code, ended.out) == (0, told)


def test_a_run_that_has_ended_is_not_waited_for(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "ended").mkdir()
    (tmp_path / "ended" / "manifest.json").touch()
    (tmp_path / "ended" / "summary.json").write_text('{"status": "done", "ticks": 72}')
    ended = prism("watch", str(tmp_path / "ended"))
    assert (ended.code, ended.out) == (0, f"{tmp_path / 'ended'}: done after 72 ticks\n")


def test_a_run_that_says_why_it_has_ended_is_one_line_with_the_reason(serve: Serve, prism: Prism) -> None:
    ends = {"done": "done", "done_with_fallbacks": "done with fallbacks", "spend_cap": "stopped by spend_cap"}
    for reason, words in ends.items():
        page = f'{PAGE}prism_run_ended{{reason="outage"}} 0.0\nprism_run_ended{{reason="{reason}"}} 1.0\n'
        url = serve(page).url
        ended = prism("watch", url)
        assert (ended.code, ended.out) == (0, f"{url}: {words} after 1,300 ticks\n")


def test_several_runs_are_seen_each_until_its_end(serve: Serve, prism: Prism, tmp_path: Path) -> None:
    urls = [serve(f'{PAGE}prism_run_ended{{reason="{reason}"}} 1.0\n').url for reason in ("done", "error")]
    ended = prism("watch", *urls)
    assert (ended.code, ended.out.splitlines()) == (
        0,
        [f"{urls[0]}: done after 1,300 ticks", f"{urls[1]}: ended by an error after 1,300 ticks"],
    )
    once = prism("watch", urls[0], "http://127.0.0.1:1", "--once")
    assert once.code == 1
    assert once.out.startswith("run default-001: social")
    assert once.err == "prism: http://127.0.0.1:1/metrics: Connection refused\n"


def test_events_are_read_and_a_version_without_them_has_none(serve: Serve) -> None:
    def events(_: Request) -> Response:
        return Response(b'{"event": "run_started", "timestamp": 1.5}\nno JSON\n')

    assert MetricsClient(serve(PAGE).url).events() == ()
    for body, told in ((events, ()), (lambda _: Response(b'{"event": "a"}\n[]\n'), ({"event": "a"},))):
        with closing(MetricsServer(MetricsConfig(port=0), {"/events": body}, {})) as server:
            assert MetricsClient(server.url).events() == told
