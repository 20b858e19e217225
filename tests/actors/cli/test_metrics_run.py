"""`prism run` with metrics: the address, its file, and what goes wrong before anything is written."""

import re
import socket
from pathlib import Path

import pytest

from tests.command import Prism

WATCHED = ("--set", "metrics.enabled=true", "--set", "metrics.port=0")


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
