"""Running from Python: `run` for a script, `run_async` for a notebook, `resume` and `resume_async` continue a run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec
from anyio import to_thread

from actors.core.errors import ActorError, RunningLoopError
from actors.core.ports import Observer
from actors.core.threads import in_threads
from actors.display.progress import GREETING, PREPARING, REFRESH_S, show_in_notebook, show_progress, step_shown
from actors.factory import domains
from actors.factory.config_file import read_config
from actors.factory.domains import BuiltDomain, entrust, settled
from actors.factory.own_code import allow
from actors.logs.output import in_notebook, standard_error_protected
from actors.metrics.observer import Observation, observation
from actors.results.result import RunResult, read_result
from actors.runs.compatibility import unknown_code_of
from actors.runs.directory import RunDirectory
from actors.runs.execute import Display, Host, Run, create_run, execute_in_memory, execute_through_losses, resume_run
from actors.runs.signals import StopOnInterrupt
from actors.runtime.simulation import Progress
from actors.store.lock import locked
from actors.store.manifest import read_manifest
from actors.store.rounds import read_rounds
from prism.config import Config
from prism.errors import ConfigError, OracleUnavailableError
from prism.social.people.population import ignore_step
from prism.statechart import Oracle

ConfigSource = Config | str | os.PathLike[str] | None
"""A configuration, the path of a YAML file with one, or nothing for the default."""

ShowProgress = bool | Callable[[Progress], object]
"""True for a display on the terminal or below the notebook's cell, or a function that is given the progress."""


def build_domain(config: Config, on_step: Callable[[str], None] = ignore_step) -> BuiltDomain:
    """Return the domain of the caller's configuration, with its input files read. The code that it names is run.

    Raises:
        ConfigError, InputError: the configuration, a domain of its own or an input file cannot be used.
    """
    entrust(config)
    return domains.build_domain(config, on_step)


def run(
    config: ConfigSource = None,
    *,
    out: str | os.PathLike[str] | None = None,
    ticks: int | None = None,
    progress: ShowProgress = False,
    oracle: Oracle[Any] | None = None,
    observer: Observer | None = None,
) -> RunResult:
    """Run a simulation, and return its result. In a notebook use `await run_async(...)`.

    Ctrl-C stops the run after the tick, and the result covers the ticks so far; a second Ctrl-C interrupts at once.

    Args:
        config: a configuration, or the path of a YAML file, which is read as `prism run` reads it, with the settings
            of the environment; by default the default configuration.
        out: an empty or new directory for the run's files, as `prism run --out` writes them: then it can be resumed,
            replayed and checked. By default the run is kept in memory and leaves no file.
        ticks: the length of the run; by default as the configuration says.
        progress: True shows it on the terminal; a function is called with it four times a second and at the end.
        oracle: an oracle of your own, instead of the configured one.
        observer: is told of the run, instead of the configured metrics.

    Raises:
        ConfigError: the configuration cannot be run.
        TypeError: an argument is of another kind than stated here.
        RunningLoopError: an event loop is running here already.
        OracleUnavailableError: there is no oracle to ask.
        InterruptedRunError: Ctrl-C, while the server was away, so that the tick could not end.
        ActorError: a file or an actor failed. What was committed is in the run's directory.
    """
    _refuse_in_loop("run")
    settings = _settings(config, ticks, observer)
    host = _host(progress, oracle, observer)
    with standard_error_protected():
        return anyio.run(_run, settings, domains.build_domain(settings), out, host)


async def run_async(
    config: ConfigSource = None,
    *,
    out: str | os.PathLike[str] | None = None,
    ticks: int | None = None,
    progress: ShowProgress = False,
    oracle: Oracle[Any] | None = None,
    observer: Observer | None = None,
) -> RunResult:
    """Run a simulation in the event loop that is running here, and return its result: `run` for notebooks.

    The arguments and errors are those of `run`. Interrupting the kernel stops the run as Ctrl-C does.
    """
    settings = await to_thread.run_sync(_settings, config, ticks, observer)
    host = _host(progress, oracle, observer)
    built = await to_thread.run_sync(domains.build_domain, settings, abandon_on_cancel=True)
    with standard_error_protected():
        return await _run(settings, built, out, host)


def resume(
    path: str | os.PathLike[str],
    *,
    ticks: int | None = None,
    progress: ShowProgress = False,
    oracle: Oracle[Any] | None = None,
    observer: Observer | None = None,
    trust: bool = False,
) -> RunResult:
    """Go on with the run in a directory where its files end, and return its result, as `prism resume` does.

    In a notebook use `await resume_async(...)`.

    Args:
        ticks: the length of the whole run from now on; by default as it was.
        progress, oracle, observer: as for `run`. A run with an oracle of your own goes on with the same one.
        trust: run the code that it names also if you have not run it here before.

    Raises:
        ConfigError: the run's configuration cannot be run any more.
        UntrustedCodeError: it names a user's own code that you have not run here before.
        RunDirectoryError: it is no run, or may not go on.
        RunningLoopError: an event loop is running here already.
        OracleUnavailableError: there is no oracle to ask.
        ActorError: a file or an actor failed. What was committed is in the run's directory.
    """
    _refuse_in_loop("resume")
    with standard_error_protected():
        return anyio.run(partial(_resume, Path(path), ticks, _host(progress, oracle, observer), trust=trust))


async def resume_async(
    path: str | os.PathLike[str],
    *,
    ticks: int | None = None,
    progress: ShowProgress = False,
    oracle: Oracle[Any] | None = None,
    observer: Observer | None = None,
    trust: bool = False,
) -> RunResult:
    """Go on with a run in the event loop that is running here: `resume` for notebooks."""
    with standard_error_protected():
        return await _resume(Path(path), ticks, _host(progress, oracle, observer), trust=trust)


async def _run(config: Config, built: BuiltDomain, out: str | os.PathLike[str] | None, host: Host) -> RunResult:
    async with in_threads(observation(config)) as observed:  # first: a port in use must leave no directory behind
        if out is None:
            summary, rounds = await execute_in_memory(config, built.domain, host, observed)
            return RunResult(summary=summary, rounds=rounds, config=config)
        directory = await to_thread.run_sync(RunDirectory.create, Path(out), "run")
        async with in_threads(locked(directory.path)):
            try:
                created = await to_thread.run_sync(create_run, directory, config, built)
                return await _execute(created, host, observed)
            except (OracleUnavailableError, ActorError):
                await to_thread.run_sync(directory.discard_unless_begun)
                raise
    raise AssertionError("the block returns or raises")


async def _resume(path: Path, ticks: int | None, host: Host, *, trust: bool) -> RunResult:
    if trust:
        await to_thread.run_sync(lambda: allow(unknown_code_of(path)))
    await to_thread.run_sync(read_manifest, path)
    async with AsyncExitStack() as served, in_threads(locked(path)):
        resumed, _ = await to_thread.run_sync(partial(resume_run, path, ticks=ticks))
        _refuse_two_observers(resumed.config, host.observer)
        if await to_thread.run_sync(lambda: resumed.is_done):
            return await to_thread.run_sync(read_result, path)
        observed = await served.enter_async_context(in_threads(observation(resumed.config)))
        return await _execute(resumed, host, observed)
    raise AssertionError("the block returns or raises")


async def _execute(run: Run, host: Host, observed: Observation) -> RunResult:
    summary = await execute_through_losses(run, host, observed)
    path = run.directory.path
    rounds = await to_thread.run_sync(read_rounds, path)
    return RunResult(summary=summary, rounds=rounds, config=run.config, path=path)


def _settings(config: ConfigSource, ticks: int | None, observer: Observer | None) -> Config:
    if isinstance(config, str | os.PathLike):
        config = read_config(config)
    elif config is None or isinstance(config, Config):
        config = Config() if config is None else config
        entrust(config)
        config = settled(config)
    else:
        raise TypeError(f"config: expected a Config, the path of a YAML file or None, got {type(config).__name__}")
    _refuse_two_observers(config, observer)
    if ticks is None:
        return config
    return msgspec.structs.replace(config, simulation=msgspec.structs.replace(config.simulation, ticks=ticks))


def _refuse_two_observers(config: Config, observer: Observer | None) -> None:
    if observer is not None and config.metrics.enabled:
        problem = "expected false where the run has an observer of its own, got true"
        raise ConfigError("run", problem, key="metrics.enabled")


def _host(progress: ShowProgress, oracle: Oracle[Any] | None, observer: Observer | None) -> Host:
    for argument, value, kind in (("oracle", oracle, Oracle), ("observer", observer, Observer)):
        if value is not None and not isinstance(value, kind):
            got = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
            raise TypeError(f"{argument}: expected an {kind.__name__}, got {got}")
    if not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"progress: expected True, False or a function, got {type(progress).__name__}")
    display = _CallbackDisplay(progress) if callable(progress) else _LiveDisplay() if progress else Display()
    return Host(display=display, observer=observer, oracle=oracle, stop_signal=StopOnInterrupt)


def _refuse_in_loop(function: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RunningLoopError(function)


class _LiveDisplay(Display):
    def preparing(self) -> AbstractContextManager[None]:
        return nullcontext() if in_notebook() else step_shown(PREPARING)

    def greeting(self) -> AbstractContextManager[None]:
        return nullcontext() if in_notebook() else step_shown(GREETING)

    async def show(self, progress: Callable[[], Progress]) -> None:
        await (show_in_notebook if in_notebook() else show_progress)(progress)


class _CallbackDisplay(Display):
    def __init__(self, tell: Callable[[Progress], object]) -> None:
        self._tell = tell

    async def show(self, progress: Callable[[], Progress]) -> None:
        """Tell the progress until cancelled, and once more then."""
        try:
            while True:
                if (now := progress()).tick < now.ticks:  # the end is reported once
                    self._tell(now)
                await anyio.sleep(REFRESH_S)
        finally:
            self._tell(progress())
