"""The cost of a run's record: `python -m benchmarks.record [--people 200000] [--ticks 72]`.

It makes one run and then gives, for each command that reads it, seconds of a processor and memory, each as a process of
its own; the bytes of the journal for an update; and the time in which a segment is sealed and read back.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

from actors.store.disk import RealDisk
from actors.store.record import Record, whole_ticks
from actors.store.segments import Sealed, read_segment, segment_columns, write_segment


class Cost(NamedTuple):
    """The seconds of a command, those of a processor, and its largest resident megabytes."""

    seconds: float
    cpu_s: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.cpu_s:6.2f} s of a processor, {self.seconds:6.2f} s in all, {self.megabytes:5,.0f} MB at most"


def measure(*arguments: str) -> Cost:
    """Return the cost of a command of PRISM."""
    begun = perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "actors.cli", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        errors = process.stderr.read() if process.stderr else b""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {errors.decode()}")
    return Cost(perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def sealing(run: Path, directory: Path) -> tuple[int, float, float, float]:
    """Return updates of a run in one segment, its bytes, and the seconds to seal it and to read two columns back."""
    record, disk = Record(run), RealDisk(directory, syncs=False)
    directory.mkdir()
    payloads = [frame.payload for frame in whole_ticks(run)]
    begun = process_time()
    segment = write_segment(disk, Sealed(first=0, start=0), record.shapes, payloads)
    sealed_s = process_time() - begun
    (name,) = disk.names()
    begun = process_time()
    _, tables = segment_columns(disk, name, {"updates": ("agent", "kind")})
    read_s = process_time() - begun
    assert len(read_segment(disk, name)[1]) == segment.ticks
    return len(tables["updates"].columns["agent"]), disk.size(name), sealed_s, read_s


def main() -> None:
    """Make the run, and measure what reads it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--ticks", type=int, default=72)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="further settings of the run")
    parser.add_argument("--directory", type=Path, default=Path(), help="where files are written, and removed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        run = f"{directory}/run"
        settings = [f"population.size={options.people}", f"simulation.ticks={options.ticks}", *options.set]
        given = [part for each in ("run.activation=compiled", *settings) for part in ("--set", each)]
        print(f"run       {measure('run', '--out', run, '--quiet', *given)}")
        commands = {
            "export": ("export", run, "--to", "parquet", "--out", f"{directory}/out", "--quiet"),
            "report": ("report", run, "--out", f"{directory}/report.html"),
            "explain": ("explain", run, "--agent", str(_somebody(Path(run)))),
            "verify": ("verify", run),
        }
        for name, arguments in commands.items():
            print(f"{name:9} {measure(*arguments)}")
        updates, size, sealed_s, read_s = sealing(Path(run), Path(directory) / "sealed")
        print(f"{updates:,} updates in one segment: {size / updates:.2f} bytes each with all other rows, ", end="")
        print(f"sealed in {sealed_s / updates * 1e6:.3f} us, agents and kinds read in {read_s / updates * 1e6:.3f} us")


def _somebody(run: Path) -> int:
    """Return an agent who has had a turn."""
    agents = Record(run).table("updates", columns=("agent",))["agent"]
    return int(agents[len(agents) // 2])


if __name__ == "__main__":
    main()
