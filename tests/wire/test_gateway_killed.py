"""Whole experiments with a model whose command, with its gateway, and cells are killed: nothing is paid for twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.standin import Latency, ModelServer, ServerSettings
from tests.wire.gateways import planned, records

pytestmark = pytest.mark.slow

PLACES = 4
CALLS = ServerSettings(slots=64, latency=Latency(mean_s=0.03))


def begun(directory: Path, out: str, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "actors.cli", "experiment", "e.yaml", "--out", out, "--quiet", *more]
    return subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def ended(process: subprocess.Popen[bytes], code: int = 0) -> str:
    _, errors = process.communicate(timeout=240)
    assert process.returncode == code, errors.decode()
    return errors.decode()


def journals(out: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in out.glob("cells/*/journal.prism")}


def holder(file: Path, *, but: int) -> int | None:
    """Return the process that has a file open, other than one of them."""
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if entry.readlink() == file and int(entry.parts[2]) != but:
                return int(entry.parts[2])
        except OSError:
            continue
    return None


def killed(file: Path, driver: int) -> bool:
    """Kill the process that has a file open; return whether there was one."""
    found = holder(file.resolve(), but=driver)
    if found is not None:
        os.kill(found, signal.SIGKILL)
    return found is not None


def asked(server: ModelServer) -> Counter[str]:
    """Return how often each question of a run was put to the server: each start of a cell asks a test question, too."""
    ids = ((each.request_id.split("-")[:3], each.body) for each in server.calls if each.request_id)
    return Counter(repr((whose, body)) for whose, body in ids if whose[0] != "test")


def grown(tape: Path, driver: subprocess.Popen[bytes]) -> bool:
    """Wait until a tape has grown by some answers; return whether it has before the command ended."""
    first, until = len(records(tape)) if tape.exists() else 0, time.monotonic() + 60
    while driver.poll() is None and time.monotonic() < until:
        if tape.exists() and len(records(tape)) > first + 12:
            return True
        time.sleep(0.02)
    return False


def test_whatever_is_killed_nothing_is_lost_and_little_is_paid_for_twice(tmp_path: Path) -> None:
    with ModelServer(CALLS) as server:
        planned(tmp_path, server.url, f"{{max_concurrency: {PLACES}}}")
        ended(begun(tmp_path, "whole", "--jobs", "2"))
        whole = asked(server)
        out, struck = tmp_path / "killed", Counter[str]()
        tape = out / "tape.sqlite"
        for _ in range(2):
            driver = begun(tmp_path, "killed", "--jobs", "2")
            if grown(tape, driver):
                running = (killed(path, driver.pid) for path in sorted(out.glob("cells/*/journal.prism")))
                struck["cell"] += next((True for each in running if each), False)
            if grown(tape, driver):
                struck["driver"] += 1
                driver.kill()
            driver.communicate()
        ended(begun(tmp_path, "killed", "--jobs", "2"))
        again = asked(server)
    assert min(struck[name] for name in ("cell", "driver")) >= 1, struck
    assert journals(out) == journals(tmp_path / "whole")
    assert (out / "results.csv").read_bytes() == (tmp_path / "whole" / "results.csv").read_bytes()
    paid_twice = sum((again - whole - whole).values())
    assert paid_twice <= PLACES * struck["driver"], (paid_twice, struck)


def test_a_tape_repeats_an_experiment_by_another_number_of_jobs(tmp_path: Path) -> None:
    with ModelServer(ServerSettings(live=True)) as server:
        planned(tmp_path, server.url, "{ask_once: true}", temperature=0.0)
        ended(begun(tmp_path, "first", "--jobs", "2"))
    ended(begun(tmp_path, "again", "--jobs", "3", "--tape", "first"))
    assert journals(tmp_path / "again") == journals(tmp_path / "first")
    assert (tmp_path / "again" / "results.csv").read_bytes() == (tmp_path / "first" / "results.csv").read_bytes()
    assert not (tmp_path / "again" / "tape.sqlite").exists()
    missing = ended(begun(tmp_path, "no", "--jobs", "1", "--tape", "nowhere"), code=5)
    assert "nowhere: there is no such tape" in missing


def test_a_second_command_is_refused_and_a_spent_budget_is_told(tmp_path: Path) -> None:
    with ModelServer(CALLS) as server:
        planned(tmp_path, server.url, f"{{max_concurrency: {PLACES}, max_calls: 40}}")
        first = begun(tmp_path, "out", "--jobs", "2")
        until = time.monotonic() + 60
        while not (tmp_path / "out" / "tape.sqlite").exists() and time.monotonic() < until:
            time.sleep(0.05)
        second = ended(begun(tmp_path, "out"), code=2)
        told = ended(first, code=2)
        assert server.statistics().calls == 1 + 40, "the check of the server is no part of the budget"
        assert server.statistics().peak_in_flight <= PLACES
    assert "process" in second
    assert "the budget of the experiment is spent: 40 of oracle.max_calls 40" in told
    assert len(records(tmp_path / "out" / "tape.sqlite")) == 40
