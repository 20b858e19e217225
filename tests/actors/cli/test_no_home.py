"""A user whom the system does not know, without HOME: containers have any uid, schedulers an empty environment."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

UID = 54_321
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def unknown_user() -> list[str]:
    """Return the begin of a command that is run as a user whom the system does not know."""
    command = [shutil.which("unshare") or "unshare", "--user", f"--map-user={UID}", f"--map-group={UID}"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no other user can be had here")
    return command


def test_no_command_needs_a_home_directory_or_a_known_user(tmp_path: Path) -> None:
    command = unknown_user()
    code = "import os; print(os.getuid(), os.environ.get('HOME'))"
    config = str(ROOT / "configs" / "friends.yaml")
    small = ("--set", "population.size=30", "--set", "simulation.rounds=2")

    def ended(*arguments: str) -> subprocess.CompletedProcess[str]:
        clean = {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "TMPDIR": str(tmp_path)}
        words = [*command, sys.executable, *arguments]
        return subprocess.run(words, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)

    assert ended("-c", code).stdout == f"{UID} None\n"
    for arguments in (
        ("run", config, "-q", "--out", "r", *small),
        ("validate", config),
        ("replay", "r"),
        ("explain", "r", "--agent", "1"),
        ("pack", "r"),
        ("unpack", "r.prism", "--out", "again"),
        ("report", "r", "--out", "r.html"),
        ("export", "r", "--to", "csv"),
        ("cause", "r", "--of", "likes", "--by", "people", "--budget", "2", "--draws", "0"),
        ("doctor",),
    ):
        done = ended("-m", "actors.cli", *arguments)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (arguments, done.stderr)
