"""Directories for temporary files with long names, as batch systems have them: sockets get names elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from actors.core.forkserver import forkserver

if __name__ == "__main__":
    process = forkserver().Process(target=print, args=("begun",))
    process.start()
    process.join()
"""


@pytest.mark.slow
def test_processes_begin_with_a_long_directory_for_temporary_files(tmp_path: Path) -> None:
    place = tmp_path / ("x" * 90)
    place.mkdir()
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-P", str(tmp_path / "program.py")]
    ended = subprocess.run(
        command, env={**os.environ, "TMPDIR": str(place)}, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "begun\n"), ended.stderr
    assert [*place.iterdir()] == []
