"""A user whom the system does not know, without HOME: containers have any uid, schedulers an empty environment."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

UID = 54_321
COMMANDS = """\
run CONFIG -q --out r --set population.size=30 --set simulation.rounds=2
validate CONFIG
replay r
explain r --agent 1
pack r
unpack r.prism --out again
report r --out r.html
export r --to csv
cause r --of likes --by people --budget 2 --draws 0
doctor
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_command_needs_a_home_directory_or_a_known_user(tmp_path: Path) -> None:
    command = [shutil.which("unshare") or "unshare", "--user", f"--map-user={UID}", f"--map-group={UID}"]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("no other user can be had here")
    clean = {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "TMPDIR": str(tmp_path)}
    for line in COMMANDS.replace("CONFIG", str(ROOT / "configs" / "friends.yaml")).splitlines():
        words = [*command, sys.executable, "-m", "actors.cli", *line.split()]
        done = subprocess.run(words, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (line, done.stderr)
