"""What a container, a job and a service start: a new run the first time, and the same one ever after."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.catalogue import catalogue
from tests.deploy.tools import BIN, DEPLOY, final_codes
from tests.paths import ROOT
from tests.patience import HANG_S

SCRIPT = DEPLOY / "run-or-resume"
HEALTH = DEPLOY / "run-healthy"
CONFIG = ROOT / "configs" / "friends.yaml"
SETTINGS = ("--set", "population.size=50", "--set", "simulation.rounds=20", "--set", "run.checkpoint_every_ticks=20")

pytestmark = pytest.mark.skipif(not (BIN / "prism").exists(), reason="prism is not installed beside this interpreter")


def start(
    *arguments: str | Path, blocks_max: int | None = None, place: Path = BIN, scratch: Path | None = None
) -> subprocess.Popen[str]:
    """The script, in a process that may make no file of more blocks than this, with the `prism` of this place."""
    environment = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}
    if scratch is not None:
        environment |= {"TMPDIR": str(scratch), "PRISM_LOG_FORMAT": "json"}
    if blocks_max is not None:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"  # no module is compiled into a file that is cut off
    limited = () if blocks_max is None else ("sh", "-c", 'ulimit -f "$0" && exec "$@"', str(blocks_max))
    return subprocess.Popen(
        [*limited, SCRIPT, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=HANG_S)
    return process.returncode, errors


@pytest.mark.slow
def test_the_service_tries_again_after_a_full_disk_whenever_that_comes_and_not_after_wrong_usage(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    for blocks, file in ((1, "config.yaml"), (20, "journal.prism"), (1, "config.yaml")):
        code, errors = finish(start(CONFIG, run, *SETTINGS, blocks_max=blocks))
        assert code == 1, errors
        assert f"/{file}: cannot be written: File too large" in errors
    assert code not in final_codes()
    code, errors = finish(start(CONFIG, run, *SETTINGS))
    assert code == 0, errors
    code, _ = finish(start(CONFIG, tmp_path / "other", "--no-such-option"))
    assert code in final_codes()


def test_without_a_configuration_and_a_directory_there_is_a_line_about_usage() -> None:
    code, errors = finish(start("only-one"))
    assert (code, errors) == (2, "usage: run-or-resume [--stay] CONFIG RUN [option of prism run]...\n")


def fake(directory: Path, body: str) -> Path:
    """Write a `prism` that is this shell script, and return its directory."""
    place = directory / "bin"
    place.mkdir()
    (place / "prism").write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    (place / "prism").chmod(0o755)
    return place


@contextmanager
def stays(tmp_path: Path, *arguments: str | Path, place: Path = BIN) -> Iterator[subprocess.Popen[str]]:
    """Start the script as compose does, and kill it at the end of the block."""
    process = start("--stay", *arguments, place=place, scratch=tmp_path)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def messages(process: subprocess.Popen[str]) -> Iterator[str]:
    """The messages on its standard error, as they come."""
    assert process.stderr is not None
    for line in process.stderr:
        said = json.loads(line)
        yield said.get("message") or said.get("error") or ""


def is_healthy(tmp_path: Path, port: int = 1) -> bool:
    """What the health check of the container says; nothing listens on port 1."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PRISM_METRICS__PORT": str(port)}
    return subprocess.run([HEALTH], env=environment, check=False).returncode == 0


@catalogue("code", [1, 143])
def test_a_container_ends_where_another_start_may_help(tmp_path: Path, code: int) -> None:
    with stays(tmp_path, "a", "b", place=fake(tmp_path, f"exit {code}")) as process:
        assert finish(process) == (code, "")
    assert not is_healthy(tmp_path)


@catalogue("code", [0, max(final_codes())])
def test_a_container_stays_where_another_start_would_only_repeat_the_end(tmp_path: Path, code: int) -> None:
    with stays(tmp_path, "a", "b", place=fake(tmp_path, f"exit {code}")) as process:
        said = next(message for message in messages(process) if "waiting to be stopped" in message)
        assert ("the run is done" in said) if code == 0 else (f"exit code {code}" in said)
        assert process.poll() is None
        assert is_healthy(tmp_path) == (code == 0)
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG_S) == code


def test_a_container_that_is_stopped_waits_for_the_end_of_the_tick(tmp_path: Path) -> None:
    tick = """
trap 'echo "{\\"message\\": \\"told to stop\\"}" >&2; told=yes' TERM
echo '{"message": "under way"}' >&2
while [ -z "$told" ]; do sleep 0.02; done
while ! [ -e "$2/tick-ended" ]; do sleep 0.02; done
exit 143"""
    with stays(tmp_path, "run", tmp_path, "--out", place=fake(tmp_path, tick.replace("$2", str(tmp_path)))) as process:
        said = messages(process)
        assert next(said) == "under way"
        process.send_signal(signal.SIGTERM)
        assert next(said) == "told to stop"
        assert process.poll() is None
        (tmp_path / "tick-ended").touch()
        assert process.wait(HANG_S) == 143
