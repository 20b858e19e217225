"""The needs of a run: time, memory and disk of its machine, from rehearsals of it with fewer agents or rounds.

Two rehearsals of different sizes show the cost of each further agent. A dozen rounds show how a run grows, until it
forgets as much as it adds. Each rehearsal is a separate process, so that its memory can be measured.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

import anyio
import msgspec
from msgspec.structs import replace

from actors.core.errors import ActorError
from actors.core.ports import Observer
from actors.factory.checks import check_domain
from actors.factory.domains import build_domain, entrust
from actors.metrics.observation import UNOBSERVED
from actors.persistence.disk import RealDisk
from actors.persistence.journal import create_journal, journal_size, read_header, read_tail
from actors.persistence.journal_writer import LARGEST, JournalWriter, together
from actors.persistence.segments import segment_names
from actors.record.messages import whole_ticks
from actors.runs.create import create_run
from actors.runs.directory import RunDirectory
from actors.runs.execute import Host, execute
from prism.config import Config, OracleConfig, SharingConfig

SIZES: Final = (10_000, 30_000)
"""The agents of the two rehearsals of a run with more of them."""

ROUNDS: Final = 12
"""The rounds of a rehearsal: by default, posts of its first round are forgotten before its end."""

LAST: Final = 3
"""The last rounds of a rehearsal: further rounds are taken to be like these."""

PACKER_MIB: Final = 75
"""The memory of a process that packs segments, before it has one. Rehearsals seal no segment while they run."""
SEALING: Final = 2.0
"""The further memory of that process, as a multiple of a segment's bytes."""

BESIDE: Final = 0.5
"""The seconds that a run takes longer for each second of sealing: another processor packs, but they share memory."""

_KIB_PER_UNIT: Final = 1 if sys.platform != "darwin" else 1 / 1024


class Rehearsed(msgspec.Struct, frozen=True, kw_only=True):
    """The measures of one rehearsal.

    Args:
        agents: their number.
        start_s: the time until the first tick began.
        rounds_s: the time of each round, with its checkpoints.
        rounds_bytes: the bytes of the journal of each round, before they are sealed.
        memory_mib: the most memory of the process.
        round_ticks: the ticks of a round.
        segment_bytes: the size of a segment of the run in the forecast; 0 if nothing is sealed.
        sealed_share: the ratio of sealed bytes to unsealed ones, with as many ticks in a segment as in that run;
            `seal_s`: the time that it takes to seal one byte.
    """

    agents: int
    start_s: float
    rounds_s: tuple[float, ...]
    rounds_bytes: tuple[float, ...]
    memory_mib: float
    round_ticks: int = 1
    segment_bytes: int = 0
    sealed_share: float = 1.0
    seal_s: float = 0.0


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """The needs of a run on this machine.

    Args:
        start_s: the time until the first tick begins; `run_s`: the time from then to the end, without waits for a
            model.
        memory_mib: the most memory; `journal_bytes`: on the disk, beside checkpoints.
        rehearsed: the agents of each rehearsal, and `rounds`: how long they were.
    """

    start_s: float
    run_s: float
    memory_mib: float
    journal_bytes: float
    rehearsed: tuple[int, ...]
    rounds: int


class _Stopwatch(Observer):
    """An observer that notes when ticks end, and how long the journal is then."""

    def __init__(self, run: Path) -> None:
        self.ends: list[float] = []
        self.first_s = 0.0
        self.sizes: list[int] = []
        self._disk = RealDisk(run)

    def tick_ended(self, duration_s: float) -> None:
        """Note the end of a tick."""
        if not self.ends:
            self.first_s = duration_s
        self.ends.append(perf_counter())
        self.sizes.append(journal_size(self._disk))


def needs(config: Config) -> Needs:
    """Return what a run needs.

    Raises:
        PrismError: the run cannot be built, or a rehearsal failed.
    """
    size, people = check_domain(config).size, config.population
    is_drawn = people.profiles is None and people.graph.path is None
    is_large = is_drawn and size is not None and size > SIZES[-1]
    sizes: tuple[int | None, ...] = SIZES if is_large else (None,)
    segment_bytes = round(config.run.segment_mb * 1_000_000)
    # Segments of a rehearsal are smaller by the same factor as its ticks, so they have as many ticks.
    parts = [segment_bytes if each is None or size is None else segment_bytes * each // size for each in sizes]
    measured = tuple(
        _measured_alone(_shortened(config, each), segment_bytes, part) for each, part in zip(sizes, parts, strict=True)
    )
    return forecast_of(measured, measured[-1].agents if size is None else size, config.simulation.rounds)


def forecast_of(measured: tuple[Rehearsed, ...], agents: int, rounds: int) -> Needs:
    """Return the needs of a run of so many agents and rounds, from rehearsals of one size or two."""

    def scaled(values: tuple[float, ...]) -> float:
        """Return the value for all agents, on the line through the values of the rehearsals."""
        if len(values) == 1:
            return values[0]
        (small, large), (low, high) = (measured[0].agents, measured[1].agents), values
        return max(high, low + (high - low) * (agents - small) / (large - small))

    def grown(each: tuple[float, ...]) -> float:
        """Return the sum over all rounds: the rehearsed rounds, and further rounds like the last ones."""
        last = each[-LAST:]
        return sum(each[:rounds]) + max(0, rounds - len(each)) * sum(last) / len(last)

    journal = scaled(tuple(grown(each.rounds_bytes) for each in measured))
    largest = measured[-1]
    memory_mib = scaled(tuple(each.memory_mib for each in measured))
    run_s = scaled(tuple(grown(each.rounds_s) for each in measured))
    segment = together(largest.segment_bytes, journal / (rounds * largest.round_ticks))
    if largest.segment_bytes and journal > segment:
        run_s += BESIDE * largest.seal_s * journal
        journal = journal * largest.sealed_share + segment / 2  # on average half of the last segment exists
        memory_mib += PACKER_MIB + SEALING * segment / 2**20
    return Needs(
        start_s=scaled(tuple(each.start_s for each in measured)),
        run_s=run_s,
        memory_mib=memory_mib,
        journal_bytes=journal,
        rehearsed=tuple(each.agents for each in measured),
        rounds=len(measured[0].rounds_s),
    )


def _shortened(config: Config, size: int | None) -> Config:
    """Return the configuration of a rehearsal, without a model and without settings that only serve observers."""
    simulation, population = config.simulation, config.population
    ticks = min(simulation.length, ROUNDS * simulation.ticks_per_round)
    asked = config.oracle
    oracle = OracleConfig(choice=asked.choice)
    shared = asked.sharing
    if shared.by == "archetype" and asked.backend == "choice":  # the embedded oracle has judgements, or none may share
        shared = SharingConfig(by=shared.by, archetype=shared.archetype, audit=shared.audit)
        oracle = replace(oracle, sharing=shared)
    return replace(
        config,
        simulation=replace(simulation, ticks=ticks),
        population=population if size is None else replace(population, size=size),
        interventions=() if size is not None else config.interventions,
        oracle=oracle,
        metrics=replace(config.metrics, enabled=False),
        run=replace(config.run, tick_s=0.0, segment_mb=0.0, shards=1),
    )


def _measured_alone(config: Config, segment_bytes: int, part: int) -> Rehearsed:
    """Return the measures of a rehearsal in a process of its own.

    Args:
        part: the size of its own segments.

    Raises:
        ActorError: it failed.
    """
    command = [sys.executable, "-P", "-m", "actors.runs.needs", str(segment_bytes), str(part)]
    # the command is this module's own
    ended = subprocess.run(command, input=msgspec.json.encode(config), capture_output=True, check=False)  # noqa: S603
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        raise ActorError(f"the rehearsal failed: {said[-1] if said else f'exit code {ended.returncode}'}")
    return msgspec.json.decode(ended.stdout, type=Rehearsed)


def measure(config: Config, segment_bytes: int, part: int) -> Rehearsed:
    """Run a rehearsal in this process, in a directory that is removed afterwards, and return its measures.

    Args:
        segment_bytes: the size of a segment of the run in the forecast; `part`: that of the rehearsal's segments.
    """
    begun = perf_counter()
    with TemporaryDirectory(prefix="prism-rehearsal-") as directory:
        watch = _Stopwatch(Path(directory) / "run")
        agents = _rehearsed(config, Path(directory) / "run", watch)
        last, memory_mib = perf_counter(), _peak_kib() / 1024
        share, seal_s = _sealing(Path(directory), part)
    length, ends = config.simulation.ticks_per_round, [watch.ends[0] - watch.first_s, *watch.ends]
    marks = [*range(0, len(ends) - 1, length), len(ends) - 1]
    times, sizes = [ends[mark] for mark in marks], [0, *(watch.sizes[mark - 1] for mark in marks[1:])]
    times[-1] = last  # files that are written at the end count, too
    return Rehearsed(
        agents=agents,
        start_s=ends[0] - begun,
        rounds_s=tuple(after - before for before, after in pairwise(times)),
        rounds_bytes=tuple(float(after - before) for before, after in pairwise(sizes)),
        memory_mib=memory_mib,
        round_ticks=length,
        segment_bytes=segment_bytes,
        sealed_share=share,
        seal_s=seal_s,
    )


def _rehearsed(config: Config, path: Path, watch: Observer) -> int:
    """Run a rehearsal in a new directory, and return its number of agents."""
    entrust(config)
    created = create_run(RunDirectory.create(path, "rehearsal"), config, build_domain(config))
    return anyio.run(execute, created, Host(observer=watch), UNOBSERVED).agents


def _sealing(directory: Path, segment_bytes: int) -> tuple[float, float]:
    """Return the sealed size of a rehearsal's byte, and the seconds that it takes to seal it."""
    disk, sealed = RealDisk(directory / "run"), RealDisk(directory)
    header, first = read_header(disk)
    size = journal_size(disk) - first
    if not segment_bytes or not size:
        return 1.0, 0.0
    create_journal(sealed, header)
    begun = perf_counter()
    JournalWriter(sealed, max(1, min(segment_bytes, size // LARGEST))).copy(whole_ticks(disk.path))
    took_s, end = perf_counter() - begun, read_tail(sealed).sealed.start
    sealed.close()
    return sum(sealed.size(name) for name in segment_names(sealed, end)) / (end - first), took_s / (end - first)


def _peak_kib() -> float:
    """Return the most memory of this process. The system's record of resources may include those of its parent."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB_PER_UNIT
    return next(float(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


if __name__ == "__main__":
    given = msgspec.json.decode(sys.stdin.buffer.read(), type=Config)
    sys.stdout.buffer.write(msgspec.json.encode(measure(given, *map(int, sys.argv[1:]))))
