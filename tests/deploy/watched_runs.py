"""Runs as processes of their own, with their metrics served."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import msgspec

from actors.core.ports import Address
from actors.runs.directory import ADDRESS
from tests.deploy.tools import eventually
from tests.paths import ROOT


class WatchedRun:
    """A running `prism run`, with its metrics on a free port.

    Args:
        path: its directory.
        process: its process.
        target: host:port of its metrics.
    """

    def __init__(self, path: Path, process: subprocess.Popen[bytes], target: str) -> None:
        self.path = path
        self.process = process
        self.target = target

    def is_under_way(self) -> bool:
        """Return whether it has committed a tick."""
        return httpx.get(f"http://{self.target}/readyz", trust_env=False).status_code == httpx.codes.OK

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def watched_run(path: Path, config: Path, settings: Mapping[str, object]) -> Iterator[WatchedRun]:
    """Return a run of this configuration with these settings, once it can be scraped."""
    chosen = {"metrics.enabled": "true", "metrics.port": 0, **settings}
    overrides = [part for key, value in chosen.items() for part in ("--set", f"{key}={value}")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PRISM_")}
    command = [sys.executable, "-m", "actors.cli", "run", str(config), "--quiet", "--out", str(path), *overrides]
    errors = path.with_suffix(".err")
    with errors.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=output)
    try:
        address = path / ADDRESS
        eventually(lambda: address.exists() or process.poll() is not None, f"the metrics of {path.name}")
        assert process.poll() is None, errors.read_text(encoding="utf-8")
        url = msgspec.json.decode(address.read_bytes(), type=Address).url
        yield WatchedRun(path, process, url.removeprefix("http://"))
    finally:
        process.kill()
        process.wait()
