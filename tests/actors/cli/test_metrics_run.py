"""`prism run` with metrics: the address, its file, and what goes wrong before anything is written."""

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from deploy.scrape import Scrape
from tests.actors.cli.conftest import SMALL
from tests.actors.http.support import until
from tests.command import Prism, begin
from tests.patience import HANG_S, wait_until

WATCHED = ("--set", "metrics.enabled=true", "--set", "metrics.port=0")


@contextmanager
def running(directory: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A long run in a process of its own, and its address once a tick has been committed."""
    (directory / "small.yaml").write_text(SMALL)
    options = ("--out", "out", "-q", *WATCHED, "--set", "simulation.rounds=100000", *arguments)
    with begin("run", "small.yaml", *options, cwd=directory) as process:
        try:
            address = directory / "out" / "metrics.json"
            wait_until(address.exists, process)
            url = str(json.loads(address.read_text())["url"])
            assert until(lambda: get(url, "/readyz")[0] == 200)
            yield process, url
        finally:
            process.kill()


def get(url: str, path: str) -> tuple[int, str]:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=HANG_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.slow
def test_a_run_can_be_scraped_while_it_goes_on(tmp_path: Path) -> None:
    with running(tmp_path) as (process, url):
        # The page is there before the run is known.
        assert until(lambda: Scrape.parse(get(url, "/metrics")[1], 0.0).labels("prism_run_info").get("run_id") == "out")
        scrape = Scrape.parse(get(url, "/metrics")[1], 0.0)
        assert scrape.value("prism_run_active") == 1
        assert scrape.value("prism_agents") == scrape.value("prism_population") == 60
        assert get(url, "/healthz") == (200, "ok\n")
        assert until(lambda: Scrape.parse(get(url, "/metrics")[1], 0.0).value("prism_ticks_total") > 0)
        scrape = Scrape.parse(get(url, "/metrics")[1], 0.0)
        assert 0 < scrape.value("prism_ticks_total") <= scrape.value("prism_journal_ticks_total")
        assert 0 < scrape.value("prism_journal_bytes_total") <= (tmp_path / "out" / "journal.prism").stat().st_size
        process.terminate()
        assert process.wait(HANG_S) == 143
    assert not (tmp_path / "out" / "metrics.json").exists()


def test_the_address_is_printed_and_gone_at_the_end(prism: Prism, tmp_path: Path) -> None:
    ended = prism("run", "small.yaml", "--out", "o", *WATCHED)
    assert ended.code == 0
    assert re.search(r"^prism: metrics at http://127\.0\.0\.1:\d+/metrics$", ended.err, flags=re.MULTILINE)
    assert not (tmp_path / "o" / "metrics.json").exists()


def test_a_port_in_use_ends_the_run_before_anything_is_written(prism: Prism, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = prism("run", "small.yaml", *WATCHED, "--set", f"metrics.port={port}")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"prism: metrics: cannot listen on 127.0.0.1:{port}: Address already in use; "
        "set metrics.port to another port, or to 0 for any free one\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["small.yaml"]


def test_the_password_is_in_no_file(prism: Prism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_METRICS_PASSWORD", "open sesame")
    ended = prism("run", "small.yaml", "--out", "o", *WATCHED, "--set", "metrics.username=ann")
    assert ended.code == 0
    assert [path.name for path in (tmp_path / "o").iterdir() if b"open sesame" in path.read_bytes()] == []
    assert "open sesame" not in ended.out + ended.err
