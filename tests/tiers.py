"""The four tiers of the suite, and what a test may do in each.

| command          | runs                                                                                             |
|------------------|--------------------------------------------------------------------------------------------------|
| `make quick`     | what needs neither a socket nor another process, and is not `long`                               |
| `make test`      | all but what is marked `slow`; tests that ask for `size` at their everyday size                  |
| `make test-slow` | what is marked `slow` and not `full`; tests that ask for `size` at their everyday size           |
| `make test-full` | all that is marked `slow`, and the tests that ask for `size` once more, at their full size       |

CI runs `make test` and `make test-slow`. What `make test-full` has besides is more of the same: more kills, schedules,
examples and cases of a test that CI has in part, and a few long tests whose parts others have.

A test is marked explicitly as `slow`, `long`, `network` (binds or connects a socket) or `process` (starts another
process). A test that uses a socket or a process without the marker fails, so `make quick` is what it says.

Three things keep `make test` short, and none of them loses a case: `everyday(n)` leaves the first `n` cases of a test
there and makes the others `slow`; the fixture `size` returns a smaller number; a Hypothesis property has 20 examples.
The last two, and `in_schedules`, make a test `sized`, so that it runs again in full. In the same way `few(n)` leaves
the first `n` cases of a slow test in `make test-slow`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

MARKERS = (
    "slow: not in `make test`",
    "full: `make test-full` only",
    "long: whole runs, or very many cases; not in `make quick`",
    "network: binds or connects a socket; not in `make quick`",
    "process: starts another process; not in `make quick`",
    "everyday(n): the first n of the test's cases run in `make test`, the others are `slow`",
    "few(n): the first n of a slow test's cases run in `make test-slow`, the others are `full`",
    "sized: runs in full in `make test-full`, in part elsewhere; follows from what the test uses",
)

EXAMPLES, EXAMPLES_IN_FULL = 20, 150
"""Examples of a Hypothesis property, in `make test` and in `make test-full`."""

_NEEDS = {
    "socket.bind": "network",
    "socket.connect": "network",
    "os.fork": "process",
    "os.posix_spawn": "process",
    "subprocess.Popen": "process",
}
"""The audit events of the interpreter that need a marker."""


_ONCE = {"uname", "fc-list", "lscpu"}
"""Programs that libraries ask once: `platform` and scikit-learn in each process, matplotlib where it has not listed the
fonts yet."""


class Size(NamedTuple):
    """The amount of work of a test: all of it in `make test-full`, less in the other tiers."""

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
