"""Runs as processes of their own, with their metrics served."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import msgspec

from actors.core.ports import Address
from actors.runs.directory import ADDRESS
from tests.command import without_settings
from tests.deploy.tools import eventually
from tests.paths import ROOT

SLOW_DISK = Path(__file__).parent / "slow_disk.c"


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


def options(settings: Mapping[str, object]) -> list[str]:
    """Return the options of `prism run` for these settings."""
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]


@contextmanager
def prism(
    errors: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Provide a process of `prism`, which is killed at the end of the block.

    Args:
        errors: the file for its standard error.
        environment: variables over those of this process, without its own PRISM_*.
    """
    inherited = without_settings()
    command = [sys.executable, "-m", "actors.cli", *arguments]
    with errors.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**inherited, **(environment or {})}, stdout=subprocess.DEVNULL, stderr=output
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def watched_run(
    path: Path, config: Path, settings: Mapping[str, object], environment: Mapping[str, str] | None = None
) -> Iterator[WatchedRun]:
    """Return a run of this configuration with these settings, once it can be scraped."""
    chosen = options({"metrics.enabled": "true", "metrics.port": 0, **settings})
    errors = path.with_suffix(".err")
    with prism(errors, "run", str(config), "--quiet", "--out", str(path), *chosen, environment=environment) as process:
        address = path / ADDRESS
        eventually(lambda: address.exists() or process.poll() is not None, f"the metrics of {path.name}")
        assert process.poll() is None, errors.read_text(encoding="utf-8")
        url = msgspec.json.decode(address.read_bytes(), type=Address).url
        yield WatchedRun(path, process, url.removeprefix("http://"))


def slow_disk(directory: Path) -> Mapping[str, str]:
    """Return the variables that preload `slow_disk.c`, compiled into this directory."""
    compiler, library = shutil.which("cc"), directory / "slow_disk.so"
    assert compiler is not None
    arguments: Sequence[str] = ["-shared", "-fPIC", "-O1", "-o", str(library), str(SLOW_DISK)]
    subprocess.run([compiler, *arguments], check=True)
    return {"LD_PRELOAD": str(library)}
