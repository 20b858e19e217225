"""A run in real processes that are killed with SIGKILL: each process resumes where the last one ended."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from actors.core.frames import Damage
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL, read_ticks
from actors.store.manifest import SUMMARY
from actors.store.rounds import ROUNDS
from tests.command import begin, end

CHANGING = ("wall_s", "latency_s_p50", "latency_s_p95", "wall_activations", "resumes", "ticks_replayed", "shards")
"""The fields of a summary that come from the clock, and from resumes."""


def whole_ticks(run: Path) -> tuple[int, Damage | None]:
    """Return the whole ticks in the journal, and the damage after them, if there is any."""
    disk, ticks = RealDisk(run), 0
    for frame in read_ticks(disk):
        if isinstance(frame, Damage):
            return ticks, frame
        ticks += 1
    return ticks, None


class KillableRun:
    """A run that is killed again and again.

    Args:
        config: its configuration file.
        run: its directory.
        options: of `prism run`.
    """

    def __init__(self, config: Path, run: Path, options: Sequence[str] = ()) -> None:
        self.run = run
        self._begin = ["run", str(config), "--quiet", "--out", str(run), *options]

    def start(self) -> subprocess.Popen[str]:
        """Return a process that resumes the run, or begins it if it has no journal yet."""
        if (self.run / JOURNAL).exists():
            return begin("resume", str(self.run), "--quiet")
        return begin(*self._begin)

    def run_and_kill(self, random: Random, longest_s: float) -> bool:
        """Run one process and kill it within this time; return False if it had ended well before."""
        process = self.start()
        try:
            process.wait(random.uniform(0.0, longest_s))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return True
        end(process)
        return False

    def finish(self) -> None:
        """Run one process to its end."""
        end(self.start())


def outcome(run: Path) -> dict[str, Any]:
    """Return what must be the same after any number of kills: journal and series to the byte, and the summary."""
    summary = json.loads((run / SUMMARY).read_text())
    return {
        JOURNAL: [(path.name, path.read_bytes()) for path in sorted(run.glob("journal*"))],
        ROUNDS: (run / ROUNDS).read_bytes(),
        SUMMARY: {key: value for key, value in summary.items() if key not in CHANGING},
    }


def differences(run: Path, reference: Path) -> list[str]:
    """Return the files in which two runs differ."""
    one, other = outcome(run), outcome(reference)
    return [name for name in one if one[name] != other[name]]
