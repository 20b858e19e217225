"""The three tiers of the suite, and what a test may do in each.

| command          | runs                                                                                             |
|------------------|--------------------------------------------------------------------------------------------------|
| `make quick`     | what needs neither a socket nor another process, is not `long`; 20 examples of each property     |
| `make test`      | all but what is marked `slow`; tests that ask for `size` at their everyday size                  |
| `make test-slow` | what is marked `slow`, and the tests that ask for `size` once more, at their full size           |

A test is marked explicitly as `slow`, `long`, `network` (binds or connects a socket) or `process` (starts another
process). A test that uses a socket or a process without the marker fails, so `make quick` is what it says. The marker
`sized` follows from the fixture `size` and from `in_schedules`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

MARKERS = (
    "slow: `make test-slow` only",
    "long: whole runs, or very many cases; not in `make quick`",
    "network: binds or connects a socket; not in `make quick`",
    "process: starts another process; not in `make quick`",
    "sized: runs in full in `make test-slow`, in part elsewhere; follows from what the test uses",
)

_NEEDS = {
    "socket.bind": "network",
    "socket.connect": "network",
    "os.fork": "process",
    "os.posix_spawn": "process",
    "subprocess.Popen": "process",
}
"""The audit events of the interpreter that need a marker."""


_ONCE = {"uname", "fc-list"}
"""Programs that libraries ask once: `platform` in each process, matplotlib where it has not listed the fonts yet."""


class Size(NamedTuple):
    """The amount of work of a test: all of it in `make test-slow`, less in the other tiers."""

    is_full: bool

    def __call__(self, full: int, *, everyday: int) -> int:
        """Return one of the two numbers."""
        return full if self.is_full else everyday


class _Session:
    """The state of the whole process."""

    size = Size(is_full=False)
    is_watched = False
    needed: ClassVar[set[str]] = set()
    """The markers that the actions since `forget` need."""


def size() -> Size:
    """Return the size of this session's tests."""
    return _Session.size


def begin(*, is_full: bool) -> None:
    """Set the size, and record from now on the actions that need a marker."""
    _Session.size = Size(is_full)
    if not _Session.is_watched:  # an audit hook stays for good
        sys.addaudithook(_note)
        _Session.is_watched = True


def forget() -> None:
    """Begin the record of another test."""
    _Session.needed.clear()


def check(markers: Iterable[str]) -> None:
    """Compare a test's markers with what it did, its fixtures included.

    Raises:
        AssertionError: it lacks one.
    """
    missing = sorted(_Session.needed.difference(markers))
    assert not missing, f"to be marked as {' and '.join(missing)}: see tests/tiers.py"


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event in _NEEDS and not (event == "subprocess.Popen" and str(arguments[0]) in _ONCE):
        _Session.needed.add(_NEEDS[event])
