"""Replay: a recorded run is run again without a model, from its recorded answers, and compared with its journal."""

# ruff: noqa: ARG002  # the signatures are those of an oracle

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import anyio
import msgspec
import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from actors.core.errors import DivergedError, JournalError, RunDirectoryError, first_error
from actors.core.ports import Record
from actors.factory.domains import build_domain
from actors.runs.compatibility import changed_code, refuse_unless_compatible
from actors.runs.directory import RunDirectory
from actors.runs.run_store import RecordedBefore, in_thread
from actors.runtime.simulation import Simulation
from actors.store.checkpoint import Checkpoint
from actors.store.disk import RealDisk
from actors.store.manifest import CONFIG, Manifest, read_manifest
from actors.store.oracle_log import ANSWERS
from actors.store.recovery import RecordedTicks, recover
from actors.store.run import read_resolved
from prism.agents import Trigger
from prism.agents.waves import Decisions, Wave
from prism.columns import Columns, Ints
from prism.config import Config
from prism.domain import Domain
from prism.errors import OracleUnavailableError, PrismError
from prism.statechart import Judgement, Oracle

OnFrame = Callable[[int, bytes], Awaitable[None]]
"""A function that is awaited with each tick and its frame once they are compared, before the next tick begins."""


class Part(NamedTuple):
    """A part of a run with one configuration: up to the tick of a fork, or to the end."""

    until: int
    config: Config
    domain: Domain | None = None  # the one that it describes, at its beginning; None to build it when its turn comes


class Replay(RecordedBefore):
    """A record that compares every tick with the journal, and gives the answers of the oracle's log.

    No tick of it waits for `run.tick_s`, or ends the run early. An embedded oracle computes its answers again.
    """

    def __init__(self, recorded: RecordedTicks, on_frame: OnFrame | None = None) -> None:
        super().__init__(recorded)
        self._on_frame = on_frame

    async def keep(self, *records: bytes) -> None:
        """Discard the answer: it is recorded already."""

    async def commit(self, tick: int, frame: bytes) -> None:
        if not self._recorded.compare(tick, frame):
            raise JournalError(f"tick {tick} is not in the journal")
        if self._recorded.must_read_on:
            await in_thread(self._recorded.read_on)
        if self._on_frame is not None:
            await self._on_frame(tick, frame)


async def replay(  # where to begin, where to end, and who is told
    directory: RunDirectory,
    until: int | None = None,
    on_begin: Callable[[Simulation], None] = lambda _: None,
    *,
    on_frame: OnFrame | None = None,
    from_nearest: bool = False,
    overrides: Sequence[str] = (),
) -> Simulation:
    """Run every tick of a journal again, compare it, and return the simulation after the last.

    Args:
        until: stop after this many ticks.
        from_nearest: begin at the nearest checkpoint instead of tick 0, unless other code than this has run the ticks.
        overrides: `a.b=value` each: settings in place of the run's, such as where its code is.
        on_begin: called with the simulation of each part before it runs.

    Raises:
        DivergedError: a tick has another result.
        RunDirectoryError: settings or input files are not those of the run, or it does not have so many ticks.
        JournalError: the journal cannot be read.
    """
    # At least one tick is done again, so that this code and these settings have made the world.
    before = until - 1 if from_nearest and until else 0
    prepared = await to_thread.run_sync(_prepare, directory, until, before, on_frame, overrides)
    manifest, now, parts, record, start = prepared
    if not parts:
        raise JournalError(f"{directory.path}: has no tick to replay")
    with naming_changed_code(manifest, now):
        return await run_parts(parts, record, partial(restore, checkpoint=start), on_begin)


def _prepare(
    directory: RunDirectory, until: int | None, before: int, on_frame: OnFrame | None, overrides: Sequence[str]
) -> tuple[Manifest, Manifest, list[Part], Replay, Checkpoint | None]:
    """Read what a replay needs, which begins at the latest checkpoint up to the tick `before`. Blocks.

    That is the manifest on disk and the one that this code would write, the parts, the record, and the checkpoint.
    """
    manifest = read_manifest(directory.path)
    recovered = recover(RealDisk(directory.path), repair=False, before=before)
    recorded = recovered.recorded
    ticks = recorded.ticks if until is None else until
    if ticks > recorded.ticks:
        raise RunDirectoryError(f"{directory.path}: has {recorded.ticks:,} ticks, not {ticks:,}")
    config = read_resolved(directory.path / CONFIG, overrides)
    # Checked first, so that other settings or files do not look like a wrong result. Other code is allowed: a replay
    # finds out whether it gives the same result.
    built = build_domain(config)
    now = refuse_unless_compatible(directory.path, recovered.header, manifest, config, built, accept_settings=True)
    if recovered.checkpoint is not None and changed_code(manifest, now):
        # A run of other code is done again from the start.
        return _prepare(directory, until, 0, on_frame, overrides)
    begun = 0 if recovered.checkpoint is None else recovered.checkpoint.position.tick
    parts = [part for part in parts_of(directory, config, built.domain, ticks, overrides) if part.until > begun]
    return manifest, now, parts, Replay(recorded, on_frame), recovered.checkpoint


@contextmanager
def naming_changed_code(before: Manifest, now: Manifest) -> Iterator[None]:
    """Let a tick with another result name the code that has changed since the run."""
    try:
        yield
    except DivergedError as error:
        raise DivergedError(error.tick, "; ".join([error.difference, *changed_code(before, now)])) from None


def triggers_of(
    triggers: Sequence[Trigger[Any]], is_wanted: Callable[[Ints], NDArray[np.bool_]]
) -> Iterator[Trigger[Any]]:
    """Yield the triggers of some agents. Of a wave in columns, no others are made.

    `is_wanted`: returns whether each of these agents is one of them.
    """
    if isinstance(triggers, Wave | Decisions):
        agents = triggers.agents
    else:
        agents = np.array([each.agent for each in triggers], np.int64)
    return (triggers[place] for place in np.flatnonzero(is_wanted(agents)).tolist())


def recorded_oracle(part: Part, _: Domain) -> Oracle[Any] | None:
    """Return the oracle of a run that is done again: none is asked; None for one that computes its answers again."""
    oracle = part.config.oracle
    return None if oracle.backend == "choice" else AbsentOracle(may_be_late=oracle.mode == "realtime")


async def run_parts(  # each thing that a run needs once
    parts: Sequence[Part],
    record: Record,
    begin: Callable[[Simulation], None],
    on_begin: Callable[[Simulation], None],
    on_round: Callable[[Simulation], None] = lambda _: None,
    oracle_of: Callable[[Part, Domain], Oracle[Any] | None] = recorded_oracle,
) -> Simulation:
    """Run the parts of a run, one after the other, and return the simulation after the last. There is at least one.

    A tick with another result is a DivergedError.

    Args:
        begin: called with the first simulation: it restores the state from which it goes on, if it is not tick 0.
        on_begin, on_round: called with the simulation of each part before it runs, and after each of its rounds.
        oracle_of: returns the oracle of a part with its domain; None for the domain's own.
    """

    def after_tick(tick: int) -> None:
        if simulation is not None and tick % simulation.config.simulation.ticks_per_round == 0:
            on_round(simulation)

    simulation: Simulation | None = None
    for part in parts:
        domain, before = part.domain or build_domain(part.config).domain, simulation
        simulation = Simulation(at_once(part.config), domain, oracle_of(part, domain), record)
        simulation.ticks = part.until
        if before is None:
            begin(simulation)
        else:
            await copy_state(before, simulation)
        on_begin(simulation)
        try:
            await simulation.run(after_tick, every=part.config.simulation.ticks_per_round)
        except BaseExceptionGroup as group:  # the error of PRISM that ends it, without the group around it
            if (error := first_error(group, PrismError)) is not None:
                raise error from None
            raise
    if simulation is None:
        raise ValueError("no tick is to be done again")
    return simulation


def parts_of(
    directory: RunDirectory, config: Config, domain: Domain, ticks: int, overrides: Sequence[str] = ()
) -> list[Part]:
    """Return the parts of a run up to a tick, in order; settings of all of them can be overridden."""
    forks = read_manifest(directory.path).forks
    parts = [Part(min(fork.tick, ticks), read_resolved(directory.path / fork.config, overrides)) for fork in forks]
    parts.append(Part(ticks, config, domain))
    return [
        part for before, part in zip([0, *(part.until for part in parts)], parts, strict=False) if part.until > before
    ]


def at_once(config: Config) -> Config:
    """Return a configuration whose agents take their turns many at once: it gives the same journal in less time."""
    return msgspec.structs.replace(config, run=msgspec.structs.replace(config.run, activation="compiled"))


async def copy_state(before: Simulation, after: Simulation) -> None:
    state, columns = await before.checkpoint()
    after.restore(state, Columns(columns))


class AbsentOracle(Oracle[Any]):
    """An oracle in place of the model: every answer is recorded, so it raises if it is asked.

    `may_be_late`: whether a question may have no recorded answer because the clock did not wait for one.
    """

    judges = True

    def __init__(self, *, may_be_late: bool) -> None:
        self._may_be_late = may_be_late

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        if self._may_be_late:
            await anyio.sleep_forever()
        raise _lost(agent.agent_id, agent.tick, trigger)

    async def judge(
        self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None, samples: int = 1
    ) -> Judgement:
        raise _lost(agent.agent_id, agent.tick, trigger)

    def drawn(self, probabilities: Sequence[float], agent: int, tick: int, context: Any = None) -> int:
        raise _lost(agent, tick, "question")


def _lost(agent: int, tick: int, trigger: str) -> OracleUnavailableError:
    asked = f"agent {agent}'s {trigger!r} of tick {tick}"
    return OracleUnavailableError(f"{ANSWERS}: has no answer to {asked}; a part of it is lost")


def restore(simulation: Simulation, checkpoint: Checkpoint | None) -> None:
    """Restore a simulation from a checkpoint; without one it stays at tick 0.

    If the world has other columns, for instance of another version, it is a JournalError.
    """
    if checkpoint is None:
        return
    columns, problem = Columns(simulation.engine.own_part(checkpoint.columns)), ""
    try:
        simulation.restore(checkpoint.state, columns)
    except (KeyError, IndexError, TypeError, ValueError, msgspec.MsgspecError) as error:
        problem = f"cannot be read ({type(error).__name__}: {error})"
    if unread := columns.unread:
        problem = problem or f"has {', '.join(unread)} besides"
    if problem:
        remedy = "resume with that version, or move the checkpoints away, and `prism resume` runs all of it again"
        raise JournalError(f"{checkpoint.name}: holds the world of another version, which {problem}; {remedy}")
