"""A server in a process of its own: its settings cross whole, and it never outlives its parent."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from actors.testing import (
    Fault,
    FaultPlan,
    Latency,
    ModelServer,
    ModelServerProcess,
    ServerProcessError,
    ServerSettings,
    ServerSettingsError,
)
from tests.actors.testing.support import CHAT

PARENT = """
import sys, time
from actors.testing import ModelServerProcess
server = ModelServerProcess()
server.start()
print(server.url, flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: they start processes and wait for them."""


def test_it_serves_as_it_is_set_and_restarts_on_its_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # it needs nothing of the repository
    faults = FaultPlan(at={1: Fault.ERROR}, shares={Fault.EMPTY: 1.0}, seed=3)
    settings = ServerSettings(models=("qwen3",), faults=faults, latency=Latency(mean_s=0.01, p99_s=0.02))
    with ModelServerProcess(settings) as server:
        url = server.url
        server.start()  # it is there already
        assert server.url == url
        asked = [httpx.post(f"{url}/api/chat", json={**CHAT, "model": "qwen3"}, trust_env=False) for _ in range(2)]
        assert (asked[0].status_code, asked[1].json()["message"]["content"]) == (500, "")
        server.stop()
        with pytest.raises(httpx.ConnectError):
            httpx.get(url, trust_env=False)
        server.start()
        assert httpx.get(f"{url}/api/tags", trust_env=False).json()["models"][0]["name"] == "qwen3:latest"


def test_it_ends_when_its_parent_is_killed() -> None:
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", PARENT], **pipes, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stderr is not None
        url = parent.stdout.readline().strip()
        assert httpx.get(url, trust_env=False).status_code == 200
        os.kill(parent.pid, signal.SIGKILL)
        # The server has the parent's standard error, so this comes to its end with the server, not before.
        assert parent.stderr.read() == ""
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)


def test_a_hook_cannot_cross_to_another_process() -> None:
    with pytest.raises(ServerSettingsError, match="reply: cannot cross to another process; use ModelServer"):
        ModelServerProcess(ServerSettings(reply=lambda messages, options, form: ""))


def test_an_address_that_is_taken_is_an_error_of_the_parent(capfd: pytest.CaptureFixture[str]) -> None:
    with ModelServer() as server, pytest.raises(ServerProcessError, match="ended with code 1 before it listened"):
        ModelServerProcess(port=server.port).start()
    assert f"actors.testing: cannot listen on 127.0.0.1:{server.port}: Address already in use" in capfd.readouterr().err


def test_without_orders_it_names_the_command_for_people() -> None:
    ended = subprocess.run([sys.executable, "-m", "actors.testing"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "this module is for ModelServerProcess; from a shell use: prism testing serve\n"
