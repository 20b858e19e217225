"""A bad day of one run: its server dies, its disk hangs, it is killed and stopped. A program reads its log."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.core.events import EVENTS
from tests.deploy.tools import eventually, needs
from tests.deploy.watched_runs import options, prism, slow_disk
from tests.paths import ROOT
from tests.patience import HANG_S
from tests.standin import Latency, ModelServerProcess, ServerSettings

pytestmark = [needs("cc"), pytest.mark.slow]

SETTINGS = {
    "simulation.rounds": 100_000,
    "population.size": 60,
    "oracle.backend": "ollama",
    "population.deliberation_minutes": 0,
    "run.tick_s": 0.05,
    "run.checkpoint_every_ticks": 40,
}

Line = dict[str, Any]


BEGINS = frozenset({"run_started", "run_resumed"})
EXPECTED = {event.name() for event in EVENTS} | {"oracle_away", "oracle_back", "oracle_fallbacks"}


class Log:
    """The log of a run, read forwards: what is expected comes after what was found last.

    Args:
        file: the `log.jsonl`.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._read = 0

    def lines(self) -> list[Line]:
        """Return all lines that are whole."""
        text = self.file.read_bytes() if self.file.exists() else b""
        return [msgspec.json.decode(line, type=Line) for line in text[: text.rfind(b"\n") + 1].splitlines()]

    def expect(self, event: str, **fields: object) -> Line:
        """Return the next line with this event and these fields, once it is there."""

        def found() -> Line:
            for place, line in enumerate(self.lines()[self._read :], self._read + 1):
                if line["event"] == event and fields.items() <= line.items():
                    self._read = place
                    return line
            return {}

        return eventually(found, f"{event} {fields} after line {self._read} of {self.file}")


class Day:
    """The run of the day, in one process after another, and its disk.

    Args:
        directory: for everything.
    """

    def __init__(self, directory: Path) -> None:
        self.run = directory / "bad-day"
        self.log = Log(self.run / "log.jsonl")
        self._errors = directory / "stderr"
        self._hangs = directory / "hangs"
        self._environment: Mapping[str, str] = {**slow_disk(directory), "DISK_HANGS_WHILE": str(self._hangs)}

    def begin(self, stack: ExitStack, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a process of `prism`, which ends at the end of the stack at the latest."""
        return stack.enter_context(prism(self._errors, *arguments, "--quiet", environment=self._environment))

    def hold_the_disk(self) -> None:
        """Let no write return."""
        self._hangs.touch()

    def free_the_disk(self) -> None:
        """Let all writes return."""
        self._hangs.unlink()


def begins(day: Day, server: ModelServerProcess, stack: ExitStack) -> subprocess.Popen[bytes]:
    process = day.begin(
        stack,
        *("run", str(ROOT / "configs" / "friends.yaml"), "--out", str(day.run)),
        *options({**SETTINGS, "llm.host": server.url}),
    )
    day.log.expect("run_started", agents=60)
    day.log.expect("phase_changed", phase="running")
    day.log.expect("checkpoint_written")
    return process


def server_dies_for_longer_than_a_stall(day: Day, server: ModelServerProcess) -> None:
    server.stop()
    day.log.expect("breaker_opened", reason="connection_error")
    day.log.expect("phase_changed", phase="waiting_for_oracle", before="running")
    day.log.expect("stall_began", phase="waiting_for_oracle")
    server.start()
    day.log.expect("breaker_closed")
    day.log.expect("phase_changed", phase="running", before="waiting_for_oracle")
    day.log.expect("stall_ended")


def disk_hangs(day: Day) -> None:
    day.hold_the_disk()
    day.log.expect("phase_changed", phase="waiting_for_disk")
    day.free_the_disk()
    day.log.expect("phase_changed", phase="running", before="waiting_for_disk")
    day.log.expect("checkpoint_written")


def is_killed_and_goes_on(day: Day, process: subprocess.Popen[bytes], stack: ExitStack) -> subprocess.Popen[bytes]:
    process.kill()
    process.wait()
    resumed = day.begin(stack, "resume", str(day.run))
    day.log.expect("run_resumed")
    day.log.expect("phase_changed", phase="running")
    return resumed


def is_stopped(day: Day, process: subprocess.Popen[bytes]) -> None:
    day.hold_the_disk()
    process.send_signal(signal.SIGTERM)
    day.log.expect("phase_changed", phase="stopping")
    day.free_the_disk()
    assert process.wait(HANG_S) == 128 + signal.SIGTERM
    day.log.expect("run_ended", reason="SIGTERM")


def check(lines: Sequence[Line], run_id: str) -> None:
    """Check what holds in every log: one run, time and ticks that go forwards, phases and pairs that fit together."""
    assert {line["run_id"] for line in lines} == {run_id}
    times = [line["timestamp"] for line in lines]
    assert times == sorted(times)
    phase, tick, opened = "starting", 0, 0
    for line in lines:
        event = line["event"]
        assert isinstance(line["tick"], int), line
        if event in BEGINS:
            # A process begins at its checkpoint; ticks that were not written before a kill are done again.
            phase, tick, opened = "starting", line.get("from_tick", 0) - line.get("recovered", 0), 0
        else:
            assert line["tick"] >= tick, line
            tick = line["tick"]
        if event == "phase_changed":
            assert line["before"] == phase, line
            phase = line["phase"]
        opened += (event == "breaker_opened") - (event == "breaker_closed")
        assert opened in {0, 1}, line
        assert event in EXPECTED, line


def test_every_event_of_a_bad_day_is_in_the_log_in_order(tmp_path: Path) -> None:
    day = Day(tmp_path)
    with ExitStack() as stack:
        server = stack.enter_context(ModelServerProcess(ServerSettings(latency=Latency(mean_s=0.01))))
        first = begins(day, server, stack)
        server_dies_for_longer_than_a_stall(day, server)
        disk_hangs(day)
        second = is_killed_and_goes_on(day, first, stack)
        is_stopped(day, second)
    check(day.log.lines(), "bad-day")
