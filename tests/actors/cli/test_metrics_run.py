"""`prism run` with metrics: the address, its file, and what goes wrong before anything is written."""

import json
import re
import socket
from http.client import HTTPConnection
from pathlib import Path

import pytest

from deploy.scrape import Scrape
from tests.actors.http.support import until
from tests.command import Prism, begin
from tests.patience import HANG_S, wait_until

WATCHED = ("--set", "metrics.enabled=true", "--set", "metrics.port=0")


def get(url: str, path: str) -> tuple[int, str]:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=HANG_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.usefixtures("prism")
def test_a_run_can_be_scraped_while_it_goes_on() -> None:
    address, endless = Path("out/metrics.json"), ("--set", "simulation.rounds=100000")
    with begin("run", "small.yaml", "--out", "out", "-q", *WATCHED, *endless, cwd=Path.cwd()) as process:
        try:
            wait_until(address.exists, process)
            url = str(json.loads(address.read_text())["url"])

            def scrape() -> Scrape:
                return Scrape.parse(get(url, "/metrics")[1], 0.0)

            assert until(lambda: get(url, "/readyz")[0] == 200)
            assert until(lambda: scrape().labels("prism_run_info").get("run_id") == "out")  # the page is there before
            assert until(lambda: scrape().value("prism_ticks_total") > 0)
            shown = scrape()
            assert get(url, "/healthz") == (200, "ok\n")
            assert shown.value("prism_agents") == shown.value("prism_population") == 60
            assert 0 < shown.value("prism_ticks_total") <= shown.value("prism_journal_ticks_total")
            process.terminate()
            assert process.wait(HANG_S) == 143
        finally:
            process.kill()
    assert not address.exists()


def test_the_address_is_printed_and_gone_at_the_end_and_the_password_is_in_no_file(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRISM_METRICS_PASSWORD", "open sesame")
    ended = prism("run", "small.yaml", "--ticks", "9", "--out", "o", *WATCHED, "--set", "metrics.username=ann")
    assert ended.code == 0
    assert re.search(r"^prism: metrics at http://127\.0\.0\.1:\d+/metrics$", ended.err, flags=re.MULTILINE)
    assert not Path("o/metrics.json").exists()
    assert [path.name for path in Path("o").iterdir() if b"open sesame" in path.read_bytes()] == []
    assert "open sesame" not in ended.out + ended.err


def test_a_port_in_use_ends_the_run_before_anything_is_written(prism: Prism) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = prism("run", "small.yaml", *WATCHED, "--set", f"metrics.port={port}")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"prism: metrics: cannot listen on 127.0.0.1:{port}: Address already in use; "
        "set metrics.port to another port, or to 0 for any free one\n"
    )
    assert [path.name for path in Path().iterdir()] == ["small.yaml"]
