"""A packed run that is looked at: its unpacked copy goes with the command, and no refusal names a place in it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.actors.cli.test_dead_streams import wait_until
from tests.actors.explain.nested_runs import nested_run
from tests.command import prism_alone, without_settings


@pytest.fixture(scope="module")
def pack(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the pack of a run."""
    pack = tmp_path_factory.mktemp("packed") / "small.prism"
    assert prism_alone("pack", str(small_run), "--out", str(pack)).code == 0
    return pack


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", [("view", "--port", "0"), ("replay",)])
def test_a_signal_removes_the_unpacked_copy(
    kind: signal.Signals, command: tuple[str, ...], pack: Path, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "actors.cli", command[0], str(pack), *command[1:]],
        env={**without_settings(), "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: any(tmp_path.glob("prism-*/small/manifest.json")) or process.poll() is not None)
    process.send_signal(kind)
    said = process.communicate()[1]
    expected = {0, 128 + kind} if command[0] == "view" else {128 + kind}
    assert (process.returncode in expected, "Traceback" in said) == (True, False), (process.returncode, said)
    assert [*tmp_path.iterdir()] == []


def test_a_refusal_names_the_pack_and_how_its_files_can_be_read(tmp_path: Path) -> None:
    run = nested_run(tmp_path)
    assert prism_alone("pack", str(run), "--out", str(tmp_path / "own.prism")).code == 0
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "actors.cli", "replay", "own.prism"],
        cwd=tmp_path,
        env={**without_settings(), "XDG_STATE_HOME": str(tmp_path / "state")},  # a user who has not run the code before
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr.startswith("prism: not run: own.prism/inputs/")) == (2, True), ended
    assert ended.stderr.endswith("allow it with --trust; `prism unpack own.prism` makes a directory of it\n")
