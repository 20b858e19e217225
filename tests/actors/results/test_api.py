"""Running from Python: in memory and in a directory, in a script's way and in a notebook's."""

import asyncio
import csv
import gc
import json
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import msgspec
import pytest
import structlog

from actors import (
    ActorError,
    Observer,
    Progress,
    RunDirectoryError,
    RunningLoopError,
    RunResult,
    Simulation,
    build_domain,
    read_config,
    read_result,
    resume,
    resume_async,
    run,
    run_async,
)
from actors.runs.summary import summarise
from prism import Config, ConfigError, OracleError, SettingError
from tests.actors.oracles import ScriptedOracle
from tests.actors.social_runs import SMALL, with_oracle, with_simulation
from tests.catalogue import catalogue

YAML = "simulation: {seed: 11, rounds: 2, ticks_per_round: 12}\npopulation: {size: 20}\n"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRISM_SIMULATION__SEED", raising=False)


@pytest.fixture(scope="module")
def whole() -> RunResult:
    return run(SMALL)


def without_times(result: RunResult) -> dict[str, Any]:
    """A summary without what a clock has measured."""
    fields = msgspec.to_builtins(result.summary)
    return {name: value for name, value in fields.items() if not name.startswith(("wall_", "latency"))}


def test_a_run_in_memory_is_the_run_of_a_simulation_and_leaves_nothing_behind(
    whole: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = Simulation(SMALL, build_domain(SMALL).domain)
    anyio.run(simulation.run)
    assert without_times(whole) == without_times(RunResult(summary=summarise(simulation, 0.0), rounds={}, config=SMALL))
    assert (whole.digest, whole.is_done, whole.path, whole.config) == (whole.summary.digest, True, None, SMALL)
    assert (whole.rounds["round"], whole.rounds["tick"]) == ([1, 2, 3], [12, 24, 36])
    assert whole.rounds["posts"][-1] == whole.summary.world["posts"]
    assert {len(column) for column in whole.rounds.values()} == {3}
    monkeypatch.chdir(tmp_path)
    before = (signal.getsignal(signal.SIGINT), structlog.get_config(), gc.isenabled(), gc.get_freeze_count())
    run(SMALL, ticks=5)
    assert (signal.getsignal(signal.SIGINT), structlog.get_config(), gc.isenabled(), gc.get_freeze_count()) == before
    assert list(tmp_path.iterdir()) == []


def test_a_run_in_a_directory_is_the_same_run_and_goes_on_where_it_stands(whole: RunResult, tmp_path: Path) -> None:
    part = run(SMALL, out=tmp_path / "run", ticks=20)
    assert part.summary.ticks == 20
    kept = resume(tmp_path / "run", ticks=36)
    assert (kept.digest, kept.rounds, kept.path) == (whole.digest, whole.rounds, tmp_path / "run")
    assert kept.path is not None
    assert {"config.yaml", "manifest.json", "journal.prism", "rounds.csv", "summary.json", "log.jsonl"} <= {
        path.name for path in kept.path.iterdir()
    }
    with (kept.path / "rounds.csv").open() as file:
        assert next(csv.reader(file)) == list(whole.rounds)
    again = read_result(kept.path)
    assert (again.summary, again.rounds, again.config) == (kept.summary, kept.rounds, kept.config)
    assert resume(kept.path).digest == whole.digest


def test_a_file_is_read_as_the_command_line_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study.yaml").write_text(YAML)
    monkeypatch.setenv("PRISM_SIMULATION__SEED", "5")
    assert run(tmp_path / "study.yaml", ticks=4).summary.seed == 5
    assert read_config(tmp_path / "study.yaml", environment={}).simulation.seed == 11


@catalogue(
    ("arguments", "error", "message"),
    [
        ({"config": "missing.yaml"}, ConfigError, r"^missing\.yaml: no such file"),
        ({"config": 3}, TypeError, r"^config: expected a Config, the path of a YAML file or None, got int$"),
        ({"ticks": 0}, SettingError, r"^SimulationConfig: simulation\.ticks: expected int 1 to "),
        ({"progress": "yes"}, TypeError, r"^progress: expected True, False or a function, got str$"),
        ({"oracle": ScriptedOracle}, TypeError, r"^oracle: expected an Oracle, got the class ScriptedOracle$"),
        ({"observer": Observer}, TypeError, r"^observer: expected an Observer, got the class Observer$"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused_in_one_line_before_there_is_a_directory(
    arguments: dict[str, Any], error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message) as caught:
        run(out="run", **arguments)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_with_files_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(RunDirectoryError, match="is not empty; a run needs a directory of its own"):
        run(SMALL, out=tmp_path)
    with pytest.raises(RunDirectoryError, match="is no run's directory"):
        resume(tmp_path)
    with pytest.raises(RunDirectoryError, match="is no run's directory"):
        read_result(tmp_path)


async def test_in_a_running_loop_run_says_what_to_write_instead() -> None:
    with pytest.raises(RunningLoopError) as caught:
        run(SMALL)
    assert str(caught.value) == (
        "run() cannot be called inside a running event loop, such as a notebook's: use await run_async(...)"
    )
    with pytest.raises(RunningLoopError, match=r"use await resume_async\(\.\.\.\)$"):
        resume("anywhere")
    assert isinstance(caught.value, ActorError | RuntimeError)


async def test_a_notebook_awaits_the_same_run(whole: RunResult, tmp_path: Path) -> None:
    part = await run_async(SMALL, out=tmp_path / "run", ticks=20)
    assert part.digest != whole.digest
    assert (await resume_async(tmp_path / "run", ticks=36)).digest == whole.digest
    assert (await run_async(SMALL)).rounds == whole.rounds


async def test_runs_that_are_awaited_together_are_as_each_by_itself(whole: RunResult, tmp_path: Path) -> None:
    """And each of them logs to its own file: a crash of its oracle stands there and nowhere else."""

    async def fails(_: Any, __: Any) -> Any:
        raise OracleError("not today")

    configs = (with_oracle(SMALL), with_simulation(seed=5))
    failing, other = await asyncio.gather(
        run_async(configs[0], out=tmp_path / "a", oracle=ScriptedOracle(fails)),
        run_async(configs[1], out=tmp_path / "b", oracle=ScriptedOracle()),
    )
    assert (await run_async(SMALL)).digest == whole.digest
    assert failing.summary.fallback_share == 1.0
    assert other.summary.fallback_share == 0.0
    assert "not today" in (tmp_path / "a" / "log.jsonl").read_text()
    lines = (tmp_path / "b" / "log.jsonl").read_text().splitlines()
    assert {json.loads(line)["run_id"] for line in lines} == {"b"}
    assert not [line for line in lines if json.loads(line)["level"] != "info"]


async def test_a_run_that_is_cancelled_leaves_a_directory_that_goes_on(whole: RunResult, tmp_path: Path) -> None:
    with anyio.CancelScope() as scope:

        def cancel(progress: Progress) -> None:
            if progress.tick:
                scope.cancel()

        await run_async(SMALL, out=tmp_path / "run", progress=cancel, oracle=Slow())
    assert scope.cancelled_caught
    assert (await resume_async(tmp_path / "run", oracle=Slow())).is_done


class Slow(ScriptedOracle):
    """An oracle whose answers take a while, so that a display has its turns."""

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        await anyio.sleep(0.01)
        return options[0]


def interrupt_at(tick: int, times: int = 1) -> Callable[[Progress], None]:
    """A display that presses Ctrl-C so many times, one look after the other, once this many ticks are done."""
    pressed: list[int] = []

    def tell(progress: Progress) -> None:
        if progress.tick >= tick and len(pressed) < times:
            pressed.append(progress.tick)
            signal.raise_signal(signal.SIGINT)

    return tell


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.results.api.REFRESH_S", 0.0)


@pytest.mark.usefixtures("often")
def test_ctrl_c_finishes_the_tick_and_the_result_is_that_of_the_ticks_so_far(
    whole: RunResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = run(SMALL, out=tmp_path / "run", progress=interrupt_at(3))
    assert stopped.summary.stopped_by == "SIGINT"
    assert not stopped.is_done
    assert 3 <= stopped.summary.ticks < 36
    assert "stopped by SIGINT" in repr(stopped)
    assert capsys.readouterr().err == "prism: SIGINT: finishing this tick; once more to interrupt at once\n"
    assert resume(tmp_path / "run").digest == whole.digest


@pytest.mark.usefixtures("often")
def test_a_second_ctrl_c_interrupts_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run(SMALL, progress=interrupt_at(3, times=2))
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("often")
async def test_interrupting_a_kernel_stops_the_run_and_gives_its_handler_back() -> None:
    interrupted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda kind, _: interrupted.append(kind))
    kernels = signal.getsignal(signal.SIGINT)
    try:
        stopped = await run_async(SMALL, progress=interrupt_at(3))
        assert signal.getsignal(signal.SIGINT) is kernels
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped.summary.stopped_by == "SIGINT"
    assert interrupted == []


def test_in_a_thread_and_where_ctrl_c_is_ignored_a_run_leaves_signals_alone(whole: RunResult) -> None:
    results: list[RunResult] = []
    thread = Thread(target=lambda: results.append(run(SMALL)))
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        results.append(run(SMALL))
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert [result.digest for result in results] == [whole.digest] * 2


@pytest.mark.usefixtures("often")
def test_a_function_is_given_the_progress_and_its_error_is_the_callers_to_see() -> None:
    def fail(progress: Progress) -> None:
        raise LookupError(progress.tick)

    seen: list[Progress] = []
    run(SMALL, progress=seen.append)
    assert seen[0].tick < seen[-1].tick == seen[-1].ticks == 36
    with pytest.raises(LookupError):
        run(SMALL, progress=fail)


def test_an_oracle_of_ones_own_is_asked_and_an_observer_of_ones_own_is_told(tmp_path: Path) -> None:
    class Counting(Observer):
        ticks = 0

        def tick_ended(self, duration_s: float) -> None:
            self.ticks += 1

    oracle, observer = ScriptedOracle(), Counting()
    result = run(SMALL, out=tmp_path / "run", oracle=oracle, observer=observer)
    assert len(oracle.asked) == result.summary.oracle_calls > 0
    assert observer.ticks == 36
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["oracle"] == "ScriptedOracle"


def test_two_observers_are_one_too_many_and_a_run_in_memory_has_no_place_for_a_tape() -> None:
    with pytest.raises(ConfigError, match=r"^run: metrics\.enabled: expected false where the run has an observer"):
        run(Config(metrics={"enabled": True}), observer=Observer())  # type: ignore[arg-type]
    config = Config(oracle={"backend": "ollama", "tape": "record"})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^run: oracle\.tape_path: a run in memory has no directory for its tape"):
        run(config)
