"""Runs whose standard output, standard error or terminal goes away: real processes, pipes and terminals."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.actors.cli.conftest import SMALL
from tests.actors.cli.test_signals import ENDLESS, running
from tests.command import Prism
from tests.patience import HANG_S

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full and /proc")


def shell(place: Path, redirections: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return the end of `prism` as a shell starts it."""
    command = f'exec "$0" -m actors.cli "$@" {redirections}'
    return subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, *arguments], cwd=place, capture_output=True, text=True, check=False
    )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a configuration."""
    (tmp_path / "small.yaml").write_text(SMALL)
    return tmp_path


def summary(run: Path) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return fields


@pytest.mark.everyday(1)
@pytest.mark.parametrize("redirections", ["<&- >&- 2>&-", "2>/dev/full", ">/dev/full", ">&- 2>/dev/full"])
def test_a_run_whose_streams_cannot_be_written_ends_as_any_other(
    redirections: str, place: Path, small_run: Path
) -> None:
    ended = shell(place, redirections, "run", "small.yaml", "--out", "run")
    assert ended.returncode == 0, ended.stderr
    assert summary(place / "run")["digest"] == summary(small_run)["digest"]
    for file in (place / "run").iterdir():  # no file has got the number of a closed stream
        assert b"prism: " not in file.read_bytes(), file


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("replay", "old"), 0),
        (("run", "missing.yaml"), 3),
        (("run", "--ticks", "none"), 2),
        (("resume", "old", "--ticks", "80"), 0),
        (("fork", "old", "--at", "30", "--out", "forked"), 0),
    ],
)
def test_every_command_that_simulates_ends_with_its_code_when_nothing_can_be_printed(
    arguments: tuple[str, ...], code: int, place: Path, small_run: Path
) -> None:
    subprocess.run(["cp", "-r", small_run, place / "old"], check=True)
    assert shell(place, ">/dev/full 2>/dev/full", *arguments).returncode == code


@pytest.mark.everyday(1)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_command_whose_output_is_its_result_says_that_it_cannot_be_written(
    unbuffered: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)  # with "1" no buffer holds what failed
    ended = shell(place, ">/dev/full", "runs", ".")
    assert (ended.returncode, ended.stderr) == (1, "prism: standard output: No space left on device\n")


@pytest.mark.everyday(1)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_pipe_whose_reader_ends_in_the_middle_of_a_run_mutes_that_stream(stream: str, place: Path) -> None:
    others = {"stdout": None, "stderr": None, stream: subprocess.PIPE}
    with running(*ENDLESS, "--out", "run", cwd=place, **others) as process:
        reader = process.stdout or process.stderr
        assert reader is not None
        reader.close()  # as a `tee` that is killed does
        process.send_signal(signal.SIGTERM)  # it is answered with a line on standard error, and tables at the end
        assert process.wait(HANG_S) == 143
    assert summary(place / "run")["stopped_by"] == "SIGTERM"


@pytest.mark.slow
def test_a_terminal_that_goes_away_leaves_a_stop_that_can_be_resumed(place: Path, prism: Prism) -> None:
    number, other = pty.openpty()

    def take_terminal() -> None:  # as a shell over SSH starts a run
        fcntl.ioctl(2, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    own = {"stdin": other, "stdout": other, "stderr": other, "start_new_session": True, "preexec_fn": take_terminal}
    with running(*ENDLESS, "--out", "run", cwd=place, **own) as process:
        os.close(other)
        os.read(number, 1)  # it has begun to draw
        os.close(number)  # the connection drops: the system sends SIGHUP, and the terminal can be written no more
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGHUP)  # and so does the shell when it ends
        assert process.wait(HANG_S) == 129
    run = place / "run"
    done = summary(run)["ticks"]
    assert summary(run)["stopped_by"] == "SIGHUP"
    stopped = json.loads((run / "manifest.json").read_text())["stopped"]
    assert (stopped["tick"], stopped["reason"]) == (done, "SIGHUP")
    assert any(f"{done:012d}" in file.name for file in run.glob("checkpoint-*.bin"))
    assert "by SIGHUP" in prism("runs", "run").out
    assert prism("resume", "run", "--ticks", str(done + 5), "--quiet").code == 0
    assert prism("verify", "run").code == 0
