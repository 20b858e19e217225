"""Real signals to real processes, and to studies."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from actors.runs.signals import ended_by_signals
from tests.actors.cli.conftest import SMALL
from tests.catalogue import catalogue
from tests.paths import ROOT
from tests.patience import HANG_S, wait_until

ENDLESS = (sys.executable, "-m", "actors.cli", "run", "small.yaml", "--set", "simulation.rounds=100000")
UNANSWERED = """
import anyio
from actors.runs.execute import Host, simulate
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from prism.config import load_config
from prism.statechart import Oracle

class Silent(Oracle):
    async def ask(self, agent, current_state, trigger, options, context=None):
        print("asked", flush=True)
        await anyio.sleep_forever()

config = load_config(None, "-", environment={}, overrides=[
    "population.size=60", "population.activity.mean=1", "population.ambiguity=0.5",
    "population.deliberation_minutes=0", "oracle.deadline_s=600"])
anyio.run(simulate, Simulation(config, build_domain(config).domain, Silent()), Host())
"""


def catches_sigterm(process: subprocess.Popen[Any]) -> bool:
    """Return whether the process has its own handler for SIGTERM, which it has once the run is under way."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << (signal.SIGTERM - 1))


@contextmanager
def running(*command: str, cwd: Path, **streams: Any) -> Iterator[subprocess.Popen[str]]:
    """The process, once it listens for signals; killed at the end whatever happens."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    with subprocess.Popen(command, cwd=cwd, text=True, **pipes) as process:
        try:
            wait_until(lambda: catches_sigterm(process), process)
            yield process
        finally:
            process.kill()


pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see signal handlers")


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_finishes_the_tick_and_writes_the_summary(kind: signal.Signals, code: int, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    with running(*ENDLESS, "--out", "out", cwd=tmp_path) as process:
        process.send_signal(kind)
        printed, _ = process.communicate(timeout=HANG_S)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert process.returncode == code
    assert (summary["status"], summary["stopped_by"]) == ("stopped", kind.name)
    assert sum(summary["agents_by_state"].values()) == 60
    assert f"stopped by {kind.name} after tick {summary['ticks']:,}" in printed


def test_sigint_ends_a_command_that_a_script_has_started_in_the_background(small_run: Path) -> None:
    """A shell without job control lets its background jobs ignore SIGINT, and so they begin."""
    script = '"$@" & echo $!; wait $!; echo ended with $?'
    view = [sys.executable, "-u", "-m", "actors.cli", "view", str(small_run), "--port", "0"]
    shell = subprocess.Popen(["sh", "-c", script, "sh", *view], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert shell.stdout is not None
    job = int(shell.stdout.readline())
    try:
        assert shell.stdout.readline().startswith("prism view: http://127.0.0.1:")
        os.kill(job, signal.SIGINT)
        ended, _ = shell.communicate(timeout=HANG_S)
    finally:
        if shell.poll() is None:
            os.kill(job, signal.SIGKILL)
    assert ended == "ended with 0\n"


BUSY = """
import sys
import anyio
from actors.runs.signals import StopOnSignal

async def main():
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(StopOnSignal(lambda: print("told", flush=True), float(sys.argv[1])).run)
        await anyio.sleep(0)
        print("busy", flush=True)
        while True:  # a tick that gives the loop no turn
            pass

anyio.run(main)
"""


@pytest.mark.slow
@catalogue(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_tick_that_takes_too_long_is_given_up(kind: signal.Signals, code: int, tmp_path: Path) -> None:
    with running(sys.executable, "-c", BUSY, "0.3", cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "busy\n"
        process.send_signal(kind)
        printed, said = process.communicate(timeout=HANG_S)
    assert (process.returncode, printed) == (code, "")
    assert said == (
        f"prism: {kind.name}: ended within the tick, which would take too long (run.stop_within_s); what was committed "
        "is safe: continue with `prism resume`\n"
    )


def test_a_second_signal_leaves_at_once(tmp_path: Path) -> None:
    with running(sys.executable, "-c", UNANSWERED, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asked\n", "the tick cannot end: its question is never answered"
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("prism: SIGINT: finishing this tick; a second signal exits at once")
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=HANG_S) == 130


@catalogue(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_block_with_a_line_and_its_exit_code(
    kind: signal.Signals, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    @ended_by_signals("Cells are kept")
    def interrupted() -> None:
        os.kill(os.getpid(), kind)
        signal.sigtimedwait([], 1.0)

    before = signal.getsignal(kind)
    with pytest.raises(SystemExit) as left:
        interrupted()
    assert left.value.code == code
    said = capsys.readouterr().err
    assert said == f"prism: {kind.name}: ending; a second signal exits at once. Cells are kept\n"
    assert signal.getsignal(kind) is before
