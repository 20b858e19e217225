"""What a container, a job and a service start: a new run the first time, and the same one ever after."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.deploy.tools import BIN, DEPLOY, eventually
from tests.paths import ROOT
from tests.patience import HANG_S

SCRIPT = DEPLOY / "run-or-resume"
UNIT = DEPLOY / "systemd" / "prism@.service"
CONFIG = ROOT / "configs" / "default.yaml"
SETTINGS = ("--set", "population.size=50", "--set", "simulation.rounds=20", "--set", "run.checkpoint_every_ticks=20")

pytestmark = [
    pytest.mark.skipif(not (BIN / "prism").exists(), reason="prism is not installed beside this interpreter"),
    pytest.mark.process,
]


def start(*arguments: str | Path, blocks_max: int | None = None) -> subprocess.Popen[str]:
    """The script, in a process that may make no file of more blocks than this."""
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    limited = () if blocks_max is None else ("sh", "-c", 'ulimit -f "$0" && exec "$@"', str(blocks_max))
    return subprocess.Popen(
        [*limited, SCRIPT, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=HANG_S)
    return process.returncode, errors


def test_a_killed_run_goes_on_and_ends_as_one_that_was_left_alone(tmp_path: Path) -> None:
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    code, errors = finish(start(CONFIG, alone, *SETTINGS))
    assert code == 0, errors
    process = start(CONFIG, killed, *SETTINGS, "--set", "run.tick_s=0.02")
    eventually(lambda: list(killed.glob("checkpoint-*.bin")), "a checkpoint")
    process.kill()
    finish(process)
    code, errors = finish(start(CONFIG, killed))
    assert code == 0, errors
    assert (killed / "journal.prism").read_bytes()[-4096:] == (alone / "journal.prism").read_bytes()[-4096:]


def test_the_script_hands_signals_and_exit_codes_through(tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start(CONFIG, run, *SETTINGS, "--set", "run.tick_s=0.05")
    eventually(lambda: list(run.glob("checkpoint-*.bin")), "a checkpoint")
    process.send_signal(signal.SIGTERM)
    code, errors = finish(process)
    assert code == 143, errors


def not_tried_again() -> set[int]:
    """The exit codes after which the service gives up."""
    (line,) = re.findall(r"^RestartPreventExitStatus=(.*)$", UNIT.read_text(), re.MULTILINE)
    return set(map(int, line.split()))


def test_the_service_tries_again_after_a_full_disk_whenever_that_comes_and_not_after_wrong_usage(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    for blocks, file in ((1, "config.yaml"), (20, "journal.prism"), (1, "config.yaml")):
        code, errors = finish(start(CONFIG, run, *SETTINGS, blocks_max=blocks))
        assert code == 1, errors
        assert f"/{file}: cannot be written: File too large" in errors
    assert code not in not_tried_again()
    code, errors = finish(start(CONFIG, run, *SETTINGS))
    assert code == 0, errors
    code, _ = finish(start(CONFIG, tmp_path / "other", "--no-such-option"))
    assert code in not_tried_again()


def test_a_run_that_is_done_stays_done(tmp_path: Path) -> None:
    run = tmp_path / "run"
    finish(start(CONFIG, run, *SETTINGS))
    done = (run / "journal.prism").read_bytes()
    code, errors = finish(start(CONFIG, run, *SETTINGS))
    assert code == 0, errors
    assert (run / "journal.prism").read_bytes() == done


def test_without_a_configuration_and_a_directory_there_is_a_line_about_usage() -> None:
    code, errors = finish(start("only-one"))
    assert (code, errors) == (2, "usage: run-or-resume CONFIG RUN [option of prism run]...\n")


def test_the_script_needs_nothing_but_a_shell() -> None:
    shell = shutil.which("sh")
    assert shell
    assert subprocess.run([shell, "-n", SCRIPT], check=False).returncode == 0
