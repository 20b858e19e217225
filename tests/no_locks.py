"""A process in which no file can be locked: the kernel refuses each flock, as NFS without its lock server does."""

import ctypes
import errno
import json
import platform
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.command import Ended, prism_alone, without_settings
from tests.paths import ROOT

_FLOCK = {"x86_64": 73, "aarch64": 32}
"""The number of the system call on each kind of machine."""
_LOAD_NUMBER, _EQUALS, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NO_NEW_PRIVILEGES, _SET_FILTER, _FILTER = 38, 22, 2


def without_locks(commands: Sequence[Sequence[str]], cwd: Path) -> list[Ended]:
    """Return the ends of `prism` with these arguments, one after the other in a process without locks."""
    if sys.platform != "linux" or platform.machine() not in _FLOCK:
        pytest.skip("needs Linux, and the number of its system call")
    ended = subprocess.run(
        [sys.executable, "-m", "tests.no_locks"],
        cwd=cwd,
        env={**without_settings(), "PYTHONPATH": str(ROOT)},
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=False,
    )
    if "no filter of system calls" in ended.stderr:
        pytest.skip("this kernel has no filters of system calls")
    assert ended.returncode == 0, ended.stderr
    return [Ended(*each) for each in json.loads(ended.stdout)]


def _refuse_flock() -> None:
    number = _FLOCK[platform.machine()]
    rules = [(_LOAD_NUMBER, 0, 0, 0), (_EQUALS, 0, 1, number), (_RETURN, 0, 0, _FAIL | errno.ENOLCK)]
    program = b"".join(struct.pack("HBBI", *rule) for rule in [*rules, (_RETURN, 0, 0, _ALLOW)])
    held = ctypes.create_string_buffer(program)
    described = struct.pack("HxxxxxxP", len(rules) + 1, ctypes.addressof(held))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or prctl(_SET_FILTER, _FILTER, described, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls")


if __name__ == "__main__":
    _refuse_flock()
    sys.stdout.write(json.dumps([prism_alone(*each) for each in json.load(sys.stdin)]))
