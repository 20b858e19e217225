"""A counterfactual: another run with the same past, and other settings from a tick on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from importlib.metadata import version

import msgspec

from actors.core.errors import ForkRefusedError
from actors.core.frames import Damage
from actors.factory.domains import BuiltDomain, build_domain
from actors.persistence.checkpoint_writer import write_checkpoint
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL, create_journal, header_of, read_header, read_ticks
from actors.persistence.oracle_log import ANSWERS, FIRST_ANSWER, create_answers, encode_answer, read_answers
from actors.persistence.recorded_ticks import RecordedTicks
from actors.persistence.run_store import RunStore
from actors.runs.checkpointing import checkpoint_of
from actors.runs.compatibility import PAST, changed_settings
from actors.runs.directory import CONFIG, RunDirectory
from actors.runs.manifest import Fork, manifest_of
from actors.runs.replay import hand_over, replay
from actors.runs.resume import read_resolved
from actors.runs.rounds_csv import ROUNDS, read_rows, starts_of, write_rows
from actors.runtime.simulation import Simulation
from prism.config import Config

_COPY_BLOCK = 1 << 20


async def fork(
    parent: RunDirectory,
    child: RunDirectory,
    tick: int,
    overrides: Sequence[str],
    ticks: int | None = None,
    on_begin: Callable[[Simulation], None] = lambda _: None,
) -> list[str]:
    """Fill a new directory with a run that has its parent's past up to a tick; `prism resume` goes on with it.

    What it has to do without is returned, a sentence each.

    Args:
        child: an empty directory.
        tick: ticks in common.
        overrides: `a.b=value` each: what is other from then on.
        ticks: the new run's length; None leaves the parent's.
        on_begin: called with the simulation that does the past again.

    Raises:
        ForkRefusedError: a setting that made the past would be another, or an input file is.
        JournalError: the parent does not have so many ticks, or does not replay.
    """
    config = _config_of_fork(parent, overrides, ticks)
    past = await replay(parent, tick, on_begin)
    if config.simulation.length < tick:
        told = f"it would end after {config.simulation.length:,} ticks, before the {tick:,} that it has in common"
        raise ForkRefusedError(parent.path, [told], f"Ask for --ticks {tick} or more.")
    built = build_domain(config)
    _refuse_other_inputs(parent, built)
    future = Simulation(config, built.domain, built.domain.oracle())
    await hand_over(past, future)
    child.write_config(config)
    with child.writing():
        await _write_past(parent, child, tick, future, built)
        notes = _copy_rounds(parent, child, tick, config.simulation.ticks_per_round)
    _write_manifest(parent, child, tick, past, built)  # last: without it, nobody takes this for a run
    return notes


def _config_of_fork(parent: RunDirectory, overrides: Sequence[str], ticks: int | None) -> Config:
    length = () if ticks is None else (f"simulation.ticks={ticks}",)
    config = read_resolved(parent.path / CONFIG, [*overrides, *length])
    header, _ = read_header(RealDisk(parent.path))
    changed = [told for key, told in changed_settings(header, config) if key.startswith(PAST)]
    if changed:
        raise ForkRefusedError(
            parent.path, changed, "A fork has its parent's people and time; begin a new run instead."
        )
    return config


def _refuse_other_inputs(parent: RunDirectory, built: BuiltDomain) -> None:
    before = parent.manifest().inputs
    changed = [
        f"{name}: has changed since" for name, sha256 in built.inputs.items() if before.get(name, sha256) != sha256
    ]
    if changed:
        raise ForkRefusedError(parent.path, changed, "Put it back.")


def _write_manifest(parent: RunDirectory, child: RunDirectory, tick: int, past: Simulation, built: BuiltDomain) -> None:
    """The manifest, and the configurations of all who came before."""
    name = f"config-until-{tick}.yaml"
    forks = parent.manifest().forks
    kept = tuple(each for each in forks if each.tick < tick)
    for before in kept:
        shutil.copyfile(parent.path / before.config, child.path / before.config)
    until_then = next((each.config for each in forks if each.tick >= tick), CONFIG)
    shutil.copyfile(parent.path / until_then, child.path / name)
    origin = Fork(parent=str(parent.path), tick=tick, digest=past.engine.digest.hexdigest(), config=name)
    child.write_manifest(msgspec.structs.replace(manifest_of(past.config, built.inputs), forks=(*kept, origin)))


async def _write_past(
    parent: RunDirectory, child: RunDirectory, tick: int, future: Simulation, built: BuiltDomain
) -> None:
    """The journal up to the fork, the answers to questions asked before it, and a checkpoint at it."""
    source, target = RealDisk(parent.path), RealDisk(child.path)
    try:
        create_answers(target)
        for record in read_answers(source) if ANSWERS in source.names() else ():
            if not isinstance(record, Damage) and record[0].asked < tick:
                target.append(ANSWERS, encode_answer(msgspec.msgpack.encode(record[0])))
        target.sync(ANSWERS)
        create_journal(target, header_of(future.config, built.inputs, built.domain.size, version("prism-sim")))
        begun = target.size(JOURNAL)
        _, first = read_header(source)
        end = first
        for frame in read_ticks(source, first):
            if isinstance(frame, Damage) or frame.tick >= tick:
                break
            end = frame.end
        for offset in range(first, end, _COPY_BLOCK):
            target.append(JOURNAL, source.read(JOURNAL, offset, min(_COPY_BLOCK, end - offset)))
        target.sync(JOURNAL)
        at = RecordedTicks(
            target,
            tick=tick,
            start=begun + end - first,
            end=begun + end - first,
            ticks=tick,
            answers_from=FIRST_ANSWER,
            answers_end=target.size(ANSWERS),
        )
        write_checkpoint(target, await checkpoint_of(future, RunStore(target, at, keeps_answers=False)))
    finally:
        target.close()
        source.close()


def _copy_rounds(parent: RunDirectory, child: RunDirectory, tick: int, ticks_per_round: int) -> list[str]:
    """The rows of the rounds up to the fork: all of them, or none, because no row after a gap would outlast a crash."""
    rows = read_rows(RealDisk(parent.path), ticks_per_round, until=tick)
    starts = starts_of((each.tick for each in parent.manifest().forks), ticks_per_round)
    lack = rows.lack(tick // ticks_per_round, starts)
    if lack:
        return [f"{parent.path / ROUNDS}: {lack}; the fork's rows begin after tick {tick}"]
    if rows.rows:
        write_rows(RealDisk(child.path), rows)
    return []
