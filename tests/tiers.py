"""The three tiers of the suite, and what a test may do in each.

| command          | runs                                                                                             |
|------------------|--------------------------------------------------------------------------------------------------|
| `make quick`     | what needs neither a socket nor another process                                                  |
| `make test`      | all but what is marked `slow`; tests that ask for `size` at their everyday size                  |
| `make test-slow` | what is marked `slow`, and the tests that ask for `size` once more, at their full size           |

The markers, all of which a test is given explicitly: `slow`, `network` (binds or connects a socket), `process` (starts
another process). `confine` turns a socket or a process in a test without the marker into an error, so `make quick` is
what it says. The marker `sized` follows from the fixture `size` and from `in_schedules`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

MARKERS = (
    "slow: `make test-slow` only",
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


class Size(NamedTuple):
    """How much of something a test does: all of it in `make test-slow`, less in the other tiers."""

    is_full: bool

    def __call__(self, full: int, *, everyday: int) -> int:
        """The one or the other number."""
        return full if self.is_full else everyday


class _Session:
    """What holds for the whole process."""

    size = Size(is_full=False)
    forbidden: frozenset[str] = frozenset()
    """The audit events that are errors now."""
    is_watched = False


def size() -> Size:
    """The size of this session's tests."""
    return _Session.size


def begin(*, is_full: bool) -> None:
    """Settle the size, and watch from here on what `confine` forbids."""
    _Session.size = Size(is_full)
    if not _Session.is_watched:  # an audit hook stays for good
        sys.addaudithook(_look)
        _Session.is_watched = True


@contextmanager
def confine(markers: Iterable[str]) -> Iterator[None]:
    """In the block, what needs a marker that is not among these raises."""
    before, given = _Session.forbidden, set(markers)
    _Session.forbidden = frozenset(event for event, marker in _NEEDS.items() if marker not in given)
    try:
        yield
    finally:
        _Session.forbidden = before


def _look(event: str, arguments: tuple[object, ...]) -> None:
    if event in _Session.forbidden:
        raise AssertionError(f"{event} in a test that is not marked `{_NEEDS[event]}`, see tests/tiers.py")
