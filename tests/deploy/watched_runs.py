"""Runs as processes of their own, with their metrics served."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec

from actors.core.ports import Address
from actors.runs.directory import ADDRESS
from tests.command import without_settings
from tests.paths import ROOT
from tests.patience import wait_until

SLOW_DISK = Path(__file__).parent / "slow_disk.c"


class WatchedRun(NamedTuple):
    """A running `prism run`: its directory, its process, and host:port of its metrics."""

    path: Path
    process: subprocess.Popen[bytes]
    target: str

    def is_under_way(self) -> bool:
        """Return whether it has committed a tick."""
        return httpx.get(f"http://{self.target}/readyz", trust_env=False).status_code == httpx.codes.OK


@contextmanager
def watched_run(
    path: Path, config: Path, settings: Mapping[str, object], environment: Mapping[str, str] | None = None
) -> Iterator[WatchedRun]:
    """Provide a run of this configuration, once it can be scraped; it is killed at the end of the block.

    Args:
        environment: variables over those of this process, without its own PRISM_*.
    """
    errors, chosen = path.with_suffix(".err"), {"metrics.enabled": "true", "metrics.port": 0, **settings}
    options = [part for key, value in chosen.items() for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "actors.cli", "run", str(config), "--quiet", "--out", str(path), *options]
    known = {**without_settings(), **(environment or {})}
    with errors.open("ab") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=known, stdout=subprocess.DEVNULL, stderr=output)
    try:
        address = path / ADDRESS
        wait_until(address.exists, process, f"the metrics of {path.name}")
        url = msgspec.json.decode(address.read_bytes(), type=Address).url
        yield WatchedRun(path, process, url.removeprefix("http://"))
    finally:
        process.kill()
        process.wait()


def slow_disk(directory: Path) -> Mapping[str, str]:
    """Return the variables that preload `slow_disk.c`, compiled into this directory."""
    compiler, library = shutil.which("cc"), directory / "slow_disk.so"
    assert compiler is not None
    arguments: Sequence[str] = ["-shared", "-fPIC", "-O1", "-o", str(library), str(SLOW_DISK)]
    subprocess.run([compiler, *arguments], check=True)
    return {"LD_PRELOAD": str(library)}
