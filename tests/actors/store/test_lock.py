import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from actors.core.errors import RunDirectoryError, RunLockedError
from actors.store.lock import LOCK, holder_of, locked
from tests.paths import ROOT

HOLD = """
import sys; from pathlib import Path; from actors.store.lock import locked
with locked(Path(sys.argv[1])):
    print(1, flush=True); input()
"""
"""Holds the lock of the directory it is given, says so, and waits."""


@pytest.fixture
def elsewhere(tmp_path: Path) -> subprocess.Popen[bytes]:
    """Another process that holds the lock."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"1\n"
    return holder


def test_a_second_process_is_refused_and_told_who_holds_it_until_that_is_killed(
    tmp_path: Path, elsewhere: subprocess.Popen[bytes]
) -> None:
    assert str(holder_of(tmp_path)).startswith(f"process {elsewhere.pid} on ")
    with pytest.raises(RunLockedError, match=f"is in use by process {elsewhere.pid} on "), locked(tmp_path):
        pytest.fail("two at once")
    elsewhere.kill()
    elsewhere.communicate()
    assert (tmp_path / LOCK).read_text().startswith(f"process {elsewhere.pid} on "), "which means nothing"
    assert holder_of(tmp_path) is None
    with locked(tmp_path):
        assert (tmp_path / LOCK).read_text().startswith(f"process {os.getpid()} on ")
    assert (tmp_path / LOCK).read_text() == ""


def test_no_locks_and_no_directory_are_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlockable(_: int, __: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", unlockable)
    with pytest.raises(RunDirectoryError, match=r"run\.lock: cannot be locked: No locks available"), locked(tmp_path):
        pytest.fail("nobody was kept out")
    with pytest.raises(RunDirectoryError, match=r"cannot be opened: No such file"), locked(tmp_path / "none"):
        pytest.fail("there is nothing to lock")
