"""A fork: another run with the same past, and other settings from a tick on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import msgspec

from actors.core.errors import RunDirectoryError
from actors.core.files import write_file
from actors.core.kinds import shapes_of, with_shapes
from actors.core.messages import QuestionName
from actors.factory.config_file import with_interventions
from actors.factory.domains import build_domain
from actors.runs.compatibility import CODE_SETTINGS, OWN_PACKAGE, PAST, changed_settings, manifest_of
from actors.runs.directory import RunDirectory
from actors.runs.inputs import inputs_of, keep, keep_those_of
from actors.runs.replay import copy_state, replay
from actors.runs.run_store import JournalWriter, position_of
from actors.runtime.simulation import Simulation
from actors.store.checkpoint import Checkpoint, write_checkpoint
from actors.store.disk import RealDisk, write_whole
from actors.store.journal import create_journal, header_of, journal_size
from actors.store.manifest import CONFIG, Fork, read_manifest
from actors.store.oracle_log import ANSWERS, answers_in, create_answers, encode_answer, judgements_in, scan_answers
from actors.store.record import whole_ticks
from actors.store.rounds import ROUNDS, content_of
from actors.store.run import header_in, read_resolved
from prism.checked import converted, field_types
from prism.config import Config
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.interventions import planned
from prism.quoting import printable


async def fork(  # one for each option of the command
    parent: RunDirectory,
    child: RunDirectory,
    tick: int,
    overrides: Sequence[str],
    ticks: int | None = None,
    on_begin: Callable[[Simulation], None] = lambda _: None,
    *,
    added: Path | None = None,
) -> None:
    """Write a run with its parent's past up to a tick into a new directory. `prism resume` runs the rest of it.

    Args:
        child: an empty directory.
        overrides: `a.b=value` each: the settings from then on.
        ticks: the new run's length; None keeps the parent's.
        on_begin: called with the simulation that runs the past again.
        added: a file with interventions that the new run has besides its parent's.

    Raises:
        ConfigError: a setting is wrong, or an added intervention.
        RunDirectoryError: something that the past depends on would change, or the parent has fewer ticks.
        JournalError: its replay differs.
    """
    config = _config_of_fork(parent, tick, overrides, ticks)
    if added is not None:
        config = with_interventions(config, added, tick)
    built = build_domain(config)
    # The past is compared with the parent's journal. Code from another place than the parent's has to give the same.
    code = [each for each in overrides if each.partition("=")[0].strip().removeprefix("simulation.") in CODE_SETTINGS]
    if tick:
        past = await replay(parent, tick, on_begin, from_nearest=True, overrides=code)
    else:
        begun = read_resolved(parent.path / _config_until(parent, 0), code)
        past = Simulation(begun, build_domain(begun).domain)
    if config.simulation.length < tick:
        problem = f"it would end after {config.simulation.length:,} ticks, before the {tick:,} that it has in common"
        raise _refusal(parent, problem, f"Ask for --ticks {tick} or more.")
    if (now := built.domain.size) != (before := past.domain.size):
        problem = f"it would have {now:,} agents, and its past has {before:,}"
        raise _refusal(parent, problem, "A fork has its parent's agents; begin a new run instead.")
    inputs = inputs_of(config, built.inputs, built.code)
    future = Simulation(inputs.config, built.domain, built.domain.oracle())
    await copy_state(past, future)
    keep(child, inputs)
    child.write_config(inputs.config)
    with child.writing():
        await _write_past(parent, child, tick, future, inputs.hashes)
        if tick:
            write_whole(RealDisk(child.path), ROUNDS, [content_of(future.rounds)])
    # The manifest comes last, with the configurations of the parts of the past: a directory without one is no run.
    kept = tuple(each for each in read_manifest(parent.path).forks if each.tick < tick)
    for each in kept:
        write_file(child.path / each.config, (parent.path / each.config).read_bytes())
    name = f"config-until-{tick}.yaml"
    write_file(child.path / name, (parent.path / _config_until(parent, tick)).read_bytes())
    # A name that is no UTF-8 cannot be written.
    origin = Fork(parent=printable(parent.name), tick=tick, digest=past.engine.digest.hexdigest(), config=name)
    forks = (*kept, origin)
    for each in forks:
        keep_those_of(parent, child, read_resolved(child.path / each.config))
    manifest = manifest_of(past.config, inputs.hashes, built.code)
    sealed = child.with_seals(manifest, [CONFIG, *(each.config for each in forks)])
    child.write_manifest(msgspec.structs.replace(sealed, forks=forks))


def _config_of_fork(parent: RunDirectory, tick: int, overrides: Sequence[str], ticks: int | None) -> Config:
    length = () if ticks is None else (f"simulation.ticks={ticks}",)
    config = read_resolved(parent.path / CONFIG, [*overrides, *length])
    header = header_in(parent.path)
    settings = dict(changed_settings(header, config))
    changed = [change for key, change in settings.items() if key.startswith(PAST)]
    if changed:
        raise _refusal(parent, "; ".join(changed), "A fork has its parent's people and time; begin a new run instead.")
    per_round = config.simulation.ticks_per_round
    before = converted(field_types(Config)[INTERVENTIONS], header.config.get(INTERVENTIONS, []))
    had, has = ([each for each in planned(of, per_round) if each[0] < tick] for of in (before, config.interventions))
    if had != has:
        given = f"{INTERVENTIONS} has {len(has):,} before tick {tick:,}"
        problem = f"{given}, and they are not the {len(had):,} of the past"
        raise _refusal(parent, problem, f"Leave those before tick {tick} as they were.")
    # A setting that an intervention of the past has set would keep that value.
    for at, each in planned(config.interventions, per_round):
        set_then = [path for path in each.set or () if at < tick and path in settings]
        if set_then:
            problem = f"{set_then[0]} was set by an intervention at tick {at:,}, so another --set has no effect"
            raise _refusal(parent, problem, f"Set it with --intervene, at tick {tick} or later.")
    return config


def _refusal(parent: RunDirectory, problem: str, remedy: str) -> RunDirectoryError:
    return RunDirectoryError(f"{parent.path}: cannot be forked: {problem}. {remedy}")


def _config_until(parent: RunDirectory, tick: int) -> str:
    """Return the name of the file with the settings that the parent's ticks up to this one were run with."""
    return next((fork.config for fork in read_manifest(parent.path).forks if fork.tick >= tick), CONFIG)


async def _write_past(
    parent: RunDirectory, child: RunDirectory, tick: int, future: Simulation, inputs: dict[str, str]
) -> None:
    """Write the journal up to the fork, the answers that the new run begins with, and a checkpoint at the fork."""
    target = RealDisk(child.path)
    try:
        create_answers(target)
        names = set[QuestionName]()
        for answer in answers_in(parent.path):
            if answer.asked < tick:
                target.append(ANSWERS, encode_answer(msgspec.msgpack.encode(answer)))
                names.add((answer.agent, answer.asked, answer.trigger))
        for judged in judgements_in(parent.path):
            if judged.name in names:
                target.append(ANSWERS, encode_answer(msgspec.msgpack.encode(judged)))
        target.sync(ANSWERS)
        future.oracle.statistics.replace_effort(scan_answers(target).effort)
        try:
            shapes = with_shapes(header_in(parent.path).tables, shapes_of(future.domain))
        except ValueError as error:
            raise _refusal(parent, str(error), "Begin a new run instead.") from None
        create_journal(target, header_of(future.config, inputs, future.domain.size, version(OWN_PACKAGE), shapes))
        journal = JournalWriter(target, round(future.config.run.segment_mb * 1_000_000))
        journal.copy(islice(whole_ticks(parent.path), tick))
        state, columns = await future.checkpoint()
        position = position_of(future, state, journal_size(target), target.size(ANSWERS))
        write_checkpoint(target, Checkpoint(position=position, state=state, columns=columns))
    finally:
        target.close()
