"""A soak in virtual time: a million ticks of a hundred people in about half an hour, with memory and files observed.

The run is `configs/soak.yaml` with fewer people, without waits for the medium, and with a model in this process that
answers, is slow and fails in virtual time. It is a run like any other: a directory with journal, oracle's log,
checkpoints, rounds and a log that is set aside when it is full. Only the clock is not real: it jumps to the next timer.

Every few hundred ticks this reads the page of metrics, the objects that Python's collector knows, the tasks of the
event loop, and the size of every file. At the end, or after Ctrl-C, the files are verified and a report is written:
virtual.md, beside virtual.csv. Exit code 4: the memory rises in the second half, by more than chance and by more than
a byte a tick. Exit code 1: the files are damaged.

    python -m deploy.soak.virtual --ticks 1000000 [--people 100] [--every 500] [--out runs/soak-virtual]
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import redirect_stderr, suppress
from pathlib import Path
from time import process_time
from typing import Any, Final

import anyio

from actors import RunResult, read_config, run_async
from actors.metrics.endpoint import Exposition, Lifecycle
from actors.metrics.observer import Metrics
from actors.runtime.gc_pause import share_one_heap
from actors.testing import run_in_virtual_time
from deploy.prometheus_process import Scrape
from deploy.soak.__main__ import (
    CONFIG,
    KIB,
    MEMORY,
    MIB,
    PRISM,
    SERVER,
    WARM_UP,
    Samples,
    counts,
    finish,
    new_directory,
)
from prism.config import Config
from prism.llm import (
    ChatRequest,
    ChoiceRequest,
    Completion,
    Distribution,
    Identity,
    LanguageModel,
    LLMFailureException,
    SocialModelOracle,
)
from prism.llm.failure import Reason
from tests.standin import Fault, FaultPlan, Latency
from tests.standin.settings import SLOWER, Spell, SpellKind, spells_at

REASONS: dict[Fault, Reason] = {
    Fault.RESET: "connection_error",
    Fault.ERROR: "server_error",
    Fault.BUSY: "overloaded",
    Fault.NOT_JSON: "invalid_response",
}
"""The reasons under which a client counts these faults."""


class VirtualModel(LanguageModel):
    """A language model that gives equal weights to all options, after a drawn time.

    Args:
        faults: calls that fail, by number or share.
        spells: times in which it behaves in another way, in seconds since the loop began.
        timeout_s: the longest call.
    """

    name = "virtual"
    identity = Identity(backend="virtual", model="virtual", dialect="", options={})

    def __init__(self, latency: Latency, faults: FaultPlan, spells: tuple[Spell, ...], timeout_s: float) -> None:
        self.calls, self.failures = 0, Counter[str]()
        """The calls, and `{reason: calls that failed}`."""
        self._latency, self._faults, self._spells, self._timeout_s = latency, faults, spells, timeout_s

    async def complete(self, request: ChatRequest) -> Completion:  # noqa: ARG002  # the only text asked for
        """Answer the test question of the start, which is asked again while calls are held."""
        return Completion(text='{"answer":"yes"}', **await self._call())

    async def choose(self, request: ChoiceRequest) -> Distribution:
        return Distribution(probabilities=dict.fromkeys(request.options, 1.0), **await self._call())

    async def _call(self) -> dict[str, Any]:
        """Wait as long as a call takes, and return what its answer has besides the content.

        Raises:
            LLMFailureException: as told by the faults and the spells.
        """
        self.calls += 1
        now_s = anyio.current_time()
        call, under_way = self.calls, spells_at(self._spells, now_s)
        if SpellKind.OUTAGE in under_way:
            raise self._failure("connection_error")
        if SpellKind.BUSY in under_way:
            raise self._failure("overloaded", status_code=503)
        if (end_s := under_way.get(SpellKind.LIMIT)) is not None:
            raise self._failure("overloaded", status_code=429, retry_after_s=math.ceil(end_s - now_s))
        latency_s = self._latency.seconds(call) * (SLOWER if SpellKind.SLOW in under_way else 1.0)
        fault = self._faults.pick(call)
        if SpellKind.SILENCE in under_way or fault is Fault.HANG or latency_s > self._timeout_s:
            await anyio.sleep(self._timeout_s)
            raise self._failure("timeout", latency_s=self._timeout_s)
        await anyio.sleep(latency_s)
        if fault is not None:
            raise self._failure(REASONS[fault], latency_s=latency_s)
        return {"model": self.name, "prompt_tokens": 220, "completion_tokens": 1, "latency_s": latency_s}

    def _failure(self, reason: Reason, **told: Any) -> LLMFailureException:
        self.failures[reason] += 1
        return LLMFailureException(reason, component=self.name, **told)


SETTINGS: dict[str, object] = {
    "population.ambiguity": 0.1,  # a hundred people ask less than ten thousand do: a question in three or four ticks
    "oracle.max_calls": 1_000_000_000,
    "oracle.max_tokens": 1_000_000_000_000,
    "run.tick_s": 0.25,  # metrics are taken as often: with three seconds a tick, most of the work would be theirs
    "run.sync": False,  # the waits for the medium would take longer than all the rest, and leave nothing behind
    "run.log_max_mb": 0.1,  # so that the log is set aside many times
    "metrics.enabled": False,  # its page is made here, without a socket
}
MILLION = 1_000_000
FILES: Final = {"journal.prism": "journal", "oracle.log": "oracle's log", "rounds.csv": "rounds.csv"}
TOTALS: Final = ("processor time, ms a tick", *(f"{name}, bytes a tick" for name in FILES.values()))
OBJECTS: Final = "Python objects"
COLUMNS: Final = (MEMORY, OBJECTS, "tasks", "descriptors", "files", "page of metrics, KiB", "all logs, KiB")
"""The columns that must stay on a level; those of `TOTALS` follow."""


class Sampler(Metrics):
    """An observer that counts as in any run with metrics, and every few ticks samples the process and the files.

    Args:
        every: ticks between two samples.
    """

    def __init__(self, run: Path, config: Config, every: int, samples: Samples) -> None:
        super().__init__(config, run.name, anyio.current_time)
        self.exposition = Exposition(Lifecycle())
        self.exposition.add_run(self)
        self._directory, self._every, self._samples, self._ticks = run, every, samples, 0

    def tick_ended(self, duration_s: float) -> None:
        super().tick_ended(duration_s)
        self._ticks += 1
        if self._ticks % self._every == 0:
            text = self.exposition.render()
            page, sizes = Scrape.parse(text.decode(), anyio.current_time()), dict[str, int]()
            for each in self._directory.iterdir():
                with suppress(FileNotFoundError):  # an old checkpoint, which the run's own thread has just removed
                    sizes[each.name] = each.stat().st_size
            memory = page.value("process_resident_memory_bytes") / MIB
            logs = sum(size for name, size in sizes.items() if name.startswith("log.jsonl"))
            level = memory, len(gc.get_objects()), len(anyio.get_running_tasks()), page.value("process_open_fds")
            files = len(sizes), len(text) / KIB, logs / KIB
            self._samples.add(
                self._ticks, (*level, *files, 1000 * process_time(), *(sizes.get(name, 0) for name in FILES))
            )
            if self._ticks % (100 * self._every) == 0:
                print(f"{self._ticks:>9,} ticks  {memory:6.1f} MiB", flush=True)


def settings_of(people: int, ticks: int) -> Config:
    return read_config(CONFIG, {**SETTINGS, "population.size": people, "simulation.ticks": ticks}, environment={})


def soak(
    config: Config, out: Path, every: int, model_type: type[VirtualModel] = VirtualModel
) -> tuple[RunResult, VirtualModel, Samples]:
    """Run in virtual time, and return the result, the model that was asked, and the samples."""
    model = model_type(SERVER.latency, SERVER.faults, SERVER.spells, config.llm.timeout_s)
    oracle = SocialModelOracle(model, config.llm, config.simulation.seed)
    samples, run = Samples(out / "virtual.csv", (*COLUMNS, *TOTALS), TOTALS), out / "run"

    async def observed() -> RunResult:
        return await run_async(config, out=run, oracle=oracle, observer=Sampler(run, config, every, samples))

    return run_in_virtual_time(observed), model, samples


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ticks", type=int, default=1_000_000, help="ticks of the run (%(default)d)")
    parser.add_argument("--people", type=int, default=100, help="people in the run (%(default)d)")
    parser.add_argument("--every", type=int, default=500, help="ticks between two samples (%(default)d)")
    parser.add_argument("--out", type=Path, default=Path("runs/soak-virtual"), help="a new directory (%(default)s)")
    options = parser.parse_args()
    if options.ticks * min(0.5, 1 - WARM_UP) < 25 * options.every:
        parser.error("a trend needs 20 samples in the second half: more --ticks, less --every")
    return new_directory(parser, options)


def main() -> None:
    options: Any = _options()
    share_one_heap()  # as `prism run` does
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background jobs begin with SIGINT ignored
    # The run's log lines are in its directory, too.
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
        result, model, samples = soak(settings_of(options.people, options.ticks), options.out, options.every)
    command = [*PRISM, "verify", "--quick", str(options.out / "run")]
    is_whole, summary = subprocess.run(command, check=False).returncode == 0, result.summary
    try:
        slopes = samples.slopes(MILLION)
    except ValueError as error:
        sys.exit(f"soak: no report: {error}")
    early = "" if summary.ticks == options.ticks else f" of {options.ticks:,} planned"
    told = [
        f"{options.people:,} people, {summary.ticks:,} ticks{early}; {process_time() / 60:.1f} min of processor.",
        f"{summary.oracle_questions:,} questions, {model.calls:,} calls, {summary.oracle_retries:,} retries.",
        f"Failed calls: {counts(model.failures)}. Fallbacks: {counts(summary.fallbacks_by_reason)}.",
        f"Files {'whole' if is_whole else 'DAMAGED'}. Digest {summary.digest}.",
    ]
    finish(options.out / "virtual.md", "Soak in virtual time", told, slopes, "a million ticks", sound=is_whole)


if __name__ == "__main__":
    main()
