"""A run of very many people: checkpoints beside its ticks, scrapes of its metrics, its stop and its resumes.

    python -m benchmarks.large [--people 1000000] [--rounds 50] [--every 96] [--kill] [--directory DIR]

One run of `configs/million.yaml` with another number of people. Its metrics are scraped twice a second. It is told to
stop (SIGTERM) after two fifths of its ticks and resumed; with `--kill` it is killed (SIGKILL) after one fifth, too.
Memory is the most that the process had, and the most that it and its forks had together, without what they share.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import monotonic, sleep

import httpx

from deploy.prometheus_process import Scrape

LOOK_EVERY_S = 0.5
PRISM = Path(sys.executable).with_name("prism")


class LargeRun:
    """The processes of one run.

    Args:
        path: its directory; options: those of `prism run`.
    """

    def __init__(self, path: Path, options: list[str]) -> None:
        self._path, self._options = path, options
        self.scrapes: list[float] = []
        """Seconds of each scrape."""
        self.held_mb = 0.0

    def go(self, kind: signal.Signals | None, tick: int) -> float:
        """Begin the run, or resume it, and send a signal after so many ticks; return the seconds until it has ended.

        Without a signal return the seconds of the whole process.
        """
        is_new = not self._path.exists()
        command = ["run", "configs/million.yaml", *self._options, "--out"] if is_new else ["resume"]
        begun = monotonic()
        process = subprocess.Popen([str(PRISM), *command, str(self._path), "-q"])
        while process.poll() is None:
            sleep(LOOK_EVERY_S)
            self.held_mb = max(self.held_mb, held_mb(process.pid))
            if self._look() >= tick and kind is not None:
                begun = monotonic()
                process.send_signal(kind)
                process.wait()
        return monotonic() - begun

    def _look(self) -> int:
        """Scrape the metrics, and return the ticks that are committed; -1 if there are no metrics."""
        try:
            url = json.loads((self._path / "metrics.json").read_text())["url"]
            begun = monotonic()
            page = httpx.get(f"{url}/metrics", trust_env=False, timeout=30.0).text
        except (OSError, ValueError, httpx.HTTPError):
            return -1
        self.scrapes.append(monotonic() - begun)
        return int(Scrape.parse(page, begun).value("prism_ticks_total")) or -1

    @property
    def checkpoints(self) -> list[float]:
        """The seconds that each checkpoint took, in all processes."""
        events = map(json.loads, (self._path / "log.jsonl").read_text().splitlines())
        return [each["duration_s"] for each in events if each["event"] == "checkpoint_written"]


def held_mb(parent: int) -> float:
    """Return the memory of a process and its children: pages that they share are counted once."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    try:
        numbers = [parent, *map(int, children.read_text().split())]
        rolls = [Path(f"/proc/{number}/smaps_rollup").read_text() for number in numbers]
    except (OSError, ValueError):
        return 0.0
    return sum(int(line.split()[1]) for roll in rolls for line in roll.splitlines() if line.startswith("Pss:")) / 1024


def main() -> None:
    """Measure one run, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1_000_000, help="number of people")
    parser.add_argument("--rounds", type=int, default=50, help="rounds of 24 ticks")
    parser.add_argument("--every", type=int, default=96, help="ticks between two checkpoints")
    parser.add_argument("--kill", action="store_true", help="kill it, too")
    parser.add_argument("--directory", type=Path, help="where the run is written")
    chosen = parser.parse_args()
    settings = {
        "population.size": chosen.people,
        "simulation.rounds": chosen.rounds,
        "run.checkpoint_every_ticks": chosen.every,
        "metrics.enabled": "true",
        "metrics.port": 0,
    }
    ticks = 24 * chosen.rounds
    with tempfile.TemporaryDirectory(dir=chosen.directory) as directory:
        path = Path(directory) / "run"
        run = LargeRun(path, [each for name, value in settings.items() for each in ("--set", f"{name}={value}")])
        if chosen.kill:
            run.go(signal.SIGKILL, ticks // 5)
        stopped_s = run.go(signal.SIGTERM, 2 * ticks // 5)
        took_s = run.go(None, ticks)
        summary, used = json.loads((path / "summary.json").read_text()), resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{chosen.people:,} people, {ticks} ticks, digest {summary['digest']}")
        print(f"from the stop to the end {took_s:.1f} s; processor in all {used.ru_utime + used.ru_stime:.1f} s")
        print(f"from SIGTERM to the end of the process {stopped_s:.2f} s")
        for name, found in (("checkpoints", run.checkpoints), ("scrapes", run.scrapes)):
            print(f"{len(found)} {name}, {median(found):.3f} s each, at most {max(found):.3f} s")
        print(f"memory {used.ru_maxrss / 1024:.0f} MB, with forks {run.held_mb:.0f} MB")


if __name__ == "__main__":
    main()
