"""A soak in virtual time: a million ticks of a hundred people in about half an hour, with memory and files observed.

The run is `configs/soak.yaml` with fewer people, without waits for the medium, and with a model in this process that
answers, is slow and fails in virtual time. It is a run like any other: a directory with journal, oracle's log,
checkpoints, rounds and a log that is set aside when it is full. Only the clock is not real: it jumps to the next timer.

Every few hundred ticks this reads the process's memory and descriptors, the objects that Python's collector knows, the
tasks of the event loop, the page of metrics, and the size of every file. At the end, or after Ctrl-C, the files are
verified and a report is written: virtual.md, beside virtual.csv. Exit code 4: the memory rises in the second half, by
more than chance and by more than a byte a tick. Exit code 1: the files are damaged.

    python -m deploy.soak.virtual --ticks 1000000 [--people 100] [--every 500] [--out runs/soak-virtual]
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import anyio
from prometheus_client import CollectorRegistry

from actors import RunResult, read_config, run_async
from actors.metrics.exposition import Exposition, Lifecycle
from actors.metrics.observer import Metrics
from actors.runtime.gc_pause import share_one_heap
from actors.testing import run_in_virtual_time
from deploy.soak.report import (
    KIB,
    OF_MEMORY,
    Memory,
    Quantity,
    Table,
    counts,
    end,
    is_leak,
    memory_of,
    slopes_of,
    text_of,
)
from deploy.soak.virtual_model import VirtualModel
from prism.config import Config
from prism.llm import SocialModelOracle
from tests.standin import Fault, FaultPlan, Latency, Spell, SpellKind

CONFIG = Path(__file__).parents[2] / "configs" / "soak.yaml"
SETTINGS: dict[str, object] = {
    "population.ambiguity": 0.1,  # a hundred people ask less than ten thousand do: a question in three or four ticks
    "oracle.max_calls": 1_000_000_000,
    "oracle.max_tokens": 1_000_000_000_000,
    "run.tick_s": 0.25,  # metrics are taken as often: with three seconds a tick, most of the work would be theirs
    "run.sync": False,  # the waits for the medium would take longer than all the rest, and leave nothing behind
    "run.log_max_mb": 0.1,  # so that the log is set aside many times
    "metrics.enabled": False,  # its page is made here, without a socket
}
LATENCY = Latency(mean_s=0.3, p99_s=2.0)
FAULTS = FaultPlan(
    shares={Fault.HANG: 0.01, Fault.RESET: 0.01, Fault.ERROR: 0.01, Fault.BUSY: 0.01, Fault.NOT_JSON: 0.01}
)
SPELLS = (
    Spell(kind=SpellKind.OUTAGE, every_s=3600, least_s=10, most_s=300),
    Spell(kind=SpellKind.SILENCE, every_s=5400, least_s=10, most_s=120),
    Spell(kind=SpellKind.BUSY, every_s=1800, least_s=10, most_s=60),
    Spell(kind=SpellKind.LIMIT, every_s=1800, least_s=5, most_s=60),
    Spell(kind=SpellKind.SLOW, every_s=3600, least_s=60, most_s=600),
)
MILLION, DAY_S = 1_000_000, 86_400


class Sample(Memory, frozen=True, kw_only=True):
    """The process and its files after a tick.

    Args:
        cpu_s: processor time of the process.
        objects: those that Python's collector knows.
        log_bytes: log.jsonl and those set aside, together.
    """

    tick: int
    virtual_s: float
    wall_s: float
    cpu_s: float
    objects: int
    tasks: int
    descriptors: int
    page_bytes: int
    journal_bytes: int
    oracle_log_bytes: int
    rounds_bytes: int
    log_bytes: int
    checkpoint_bytes: int
    files: int


QUANTITIES = (
    *OF_MEMORY,
    Quantity("Python objects", "", lambda sample: sample.objects),
    Quantity("tasks", "", lambda sample: sample.tasks),
    Quantity("descriptors", "", lambda sample: sample.descriptors),
    Quantity("files in the directory", "", lambda sample: sample.files),
    Quantity("newest checkpoint", "KiB", lambda sample: sample.checkpoint_bytes / KIB),
    Quantity("all logs", "KiB", lambda sample: sample.log_bytes / KIB),
    Quantity("page of metrics", "KiB", lambda sample: sample.page_bytes / KIB),
    Quantity("processor time", "ms a tick", lambda sample: 1000 * sample.cpu_s, adds_up=True),
    Quantity("journal", "bytes a tick", lambda sample: sample.journal_bytes, adds_up=True),
    Quantity("oracle's log", "bytes a tick", lambda sample: sample.oracle_log_bytes, adds_up=True),
    Quantity("rounds.csv", "bytes a tick", lambda sample: sample.rounds_bytes, adds_up=True),
)


class Sampler(Metrics):
    """An observer that counts as in any run with metrics, and every few ticks samples the process and the files.

    Args:
        every: ticks between two samples.
        table: gets each sample.
        tell: is given each sample, too.
    """

    def __init__(self, run: Path, config: Config, every: int, table: Table, tell: Callable[[Sample], None]) -> None:
        super().__init__(config, run.name, anyio.current_time)
        self.exposition = Exposition(CollectorRegistry(), Lifecycle())
        self.exposition.add_run(self)
        self._path = run
        self._every = every
        self._table = table
        self._tell = tell
        self._ticks = 0
        self._begun = monotonic()

    def tick_ended(self, duration_s: float) -> None:
        """Count a tick, and sample if it is time."""
        super().tick_ended(duration_s)
        self._ticks += 1
        if self._ticks % self._every == 0:
            page = self.exposition.render()
            sample = Sample(
                tick=self._ticks,
                virtual_s=anyio.current_time(),
                wall_s=round(monotonic() - self._begun, 3),
                cpu_s=round(process_time(), 3),
                **memory_of("self"),
                objects=len(gc.get_objects()),
                tasks=len(anyio.get_running_tasks()),
                descriptors=len(list(Path("/proc/self/fd").iterdir())),
                page_bytes=len(page),
                **sizes(self._path),
            )
            self._table.add(sample)
            self._tell(sample)


def sizes(run: Path) -> dict[str, int]:
    """Return the sizes of a run's files by the field of a sample. Logs count together, and the newest checkpoint."""
    found = {}
    for each in run.iterdir():
        with suppress(FileNotFoundError):  # an old checkpoint, which the run's own thread has just removed
            if not each.name.startswith("."):
                found[each.name] = each.stat().st_size
    checkpoints = sorted(name for name in found if name.startswith("checkpoint-"))
    return {
        "journal_bytes": found["journal.prism"],
        "oracle_log_bytes": found["oracle.log"],
        "rounds_bytes": found.get("rounds.csv", 0),
        "log_bytes": sum(size for name, size in found.items() if name.startswith("log.jsonl")),
        "checkpoint_bytes": found[checkpoints[-1]] if checkpoints else 0,
        "files": len(found),
    }


def settings_of(people: int, ticks: int) -> Config:
    return read_config(CONFIG, {**SETTINGS, "population.size": people, "simulation.ticks": ticks}, environment={})


def soak(
    config: Config,
    run: Path,
    every: int,
    table: Table,
    tell: Callable[[Sample], None] = lambda _: None,
    model_type: type[VirtualModel] = VirtualModel,
) -> tuple[RunResult, VirtualModel]:
    """Run in virtual time, and return the result, and the model that was asked."""
    model = model_type(LATENCY, FAULTS, SPELLS, config.llm.timeout_s)
    oracle = SocialModelOracle(model, config.llm, config.simulation.seed)

    async def observed() -> RunResult:
        sampler = Sampler(run, config, every, table, tell)
        return await run_async(config, out=run, oracle=oracle, observer=sampler)

    return run_in_virtual_time(observed), model


class _Progress:
    """A line on the terminal for each hundredth of the run."""

    def __init__(self, ticks: int) -> None:
        self._ticks = ticks
        self._shown = -1

    def tell(self, sample: Sample) -> None:
        percent = 100 * sample.tick // self._ticks
        if percent > self._shown:
            self._shown = percent
            left_s = sample.wall_s * (self._ticks / sample.tick - 1)
            print(
                f"{percent:3}%  {sample.tick:>9,} ticks  {sample.rss_bytes / 2**20:6.1f} MiB  "
                f"{sample.objects:,} objects  {sample.wall_s / 60:.1f} min, about {left_s / 60:.1f} more",
                flush=True,
            )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ticks", type=int, default=1_000_000, help="ticks of the run (%(default)d)")
    parser.add_argument("--people", type=int, default=100, help="people in the run (%(default)d)")
    parser.add_argument("--every", type=int, default=500, help="ticks between two samples (%(default)d)")
    parser.add_argument("--warm-up", type=float, default=0.1, help="share of the ticks left out (%(default)g)")
    parser.add_argument("--out", type=Path, default=Path("runs/soak-virtual"), help="a new directory (%(default)s)")
    options = parser.parse_args()
    if not 0 <= options.warm_up < 1:
        parser.error(f"--warm-up is a share from 0 to below 1, not {options.warm_up:g}")
    if options.ticks * min(0.5, 1 - options.warm_up) < 25 * options.every:
        parser.error("a trend needs 20 samples after the warm-up and in the second half: more --ticks, less --every")
    try:
        options.out.mkdir(parents=True)
    except FileExistsError:
        parser.error(f"{options.out} exists already")
    return options


def main() -> None:
    """Soak, report, and exit with the result."""
    options: Any = _options()
    share_one_heap()  # as `prism run` does
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background jobs begin with SIGINT ignored
    run, config = options.out / "run", settings_of(options.people, options.ticks)
    table = Table(options.out / "virtual.csv", Sample)
    # The run's log lines are in its directory, too.
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
        result, model = soak(config, run, options.every, table, _Progress(options.ticks).tell)
    verified = subprocess.run([sys.executable, "-m", "actors.cli", "verify", "--quick", str(run)], check=False)
    samples, summary = table.samples(), result.summary
    try:
        slopes = slopes_of(samples, lambda each: each.tick, QUANTITIES, per=MILLION, warm_up=options.warm_up)
    except ValueError as error:
        sys.exit(f"soak: no report: {error}")
    early = "" if summary.ticks == options.ticks else f" of {options.ticks:,} planned"
    days, last = samples[-1].virtual_s / DAY_S, samples[-1]
    questions = f"{summary.oracle_questions:,} questions, {model.calls:,} calls, {summary.oracle_retries:,} retries"
    told = [
        f"{options.people:,} people, {summary.ticks:,} ticks{early}, {days:.3g} days of virtual time.",
        f"{last.wall_s / 60:.1f} minutes, {last.cpu_s / 60:.1f} of them processor time.",
        f"{questions}. Failed calls: {counts(model.failures)}. Fallbacks: {counts(summary.fallbacks_by_reason)}.",
        f"Files {'DAMAGED' if verified.returncode else 'whole'}. Digest {summary.digest}.",
        f"{len(samples):,} samples; a warm-up of {options.warm_up:.0%} is left out.",
    ]
    text = text_of("Soak in virtual time", told, slopes, "a million ticks")
    end(options.out / "virtual.md", text, is_sound=not verified.returncode, rises=is_leak(slopes))


if __name__ == "__main__":
    main()
