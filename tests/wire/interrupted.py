"""A command that is ended by a signal once it has asked a server some questions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep

from tests.paths import ROOT
from tests.patience import HANG_S
from tests.standin import ModelServer


def interrupted(
    words: Sequence[str], kind: signal.Signals, server: ModelServer, calls: int, place: Path
) -> tuple[int, str]:
    """Run a command until the server has got so many more calls, send the signal, and return exit code and errors."""
    before = len(server.calls)
    process = subprocess.Popen(
        [sys.executable, "-m", "actors.cli", *words, "--set", "oracle.max_concurrency=2"],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
    )
    try:
        give_up = monotonic() + HANG_S
        while len(server.calls) - before < calls:
            assert process.poll() is None, process.communicate()
            assert monotonic() < give_up
            sleep(0.02)
        process.send_signal(kind)
        _, err = process.communicate(timeout=HANG_S)
    finally:
        process.kill()
    return process.returncode, err
