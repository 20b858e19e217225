"""The two tiers of the suite.

| command          | runs                                                                                              |
|------------------|---------------------------------------------------------------------------------------------------|
| `make test`      | all but what is marked `slow`, each test at its everyday size                                     |
| `make test-slow` | what is marked `slow`, and once more in full what is `sized`                                      |

Before a change lands, CI runs `make test` and the slow tests of durability, one digest and the wire, at their everyday
size (`make test-landing`).

Three things keep `make test` short, and none of them loses a case: `everyday(n)` leaves the first `n` cases of a test
there and makes the others `slow`; the fixture `size` returns a smaller number; a Hypothesis property has 20 examples.
The last two, and `in_schedules`, make a test `sized`.
"""

from typing import NamedTuple

MARKERS = (
    "slow: not in `make test`",
    "everyday(n): the first n of the test's cases run in `make test`, the others are `slow`",
    "sized: runs in full in `make test-slow`, in part elsewhere; follows from what the test uses",
)

EXAMPLES, EXAMPLES_IN_FULL = 20, 150
"""Examples of a Hypothesis property, in `make test` and in full."""


class Size(NamedTuple):
    """The amount of work of a test: all of it with `--full`, less without."""

    is_full: bool

    def __call__(self, full: int, *, everyday: int) -> int:
        return full if self.is_full else everyday


class _Session:
    size = Size(is_full=False)


def size() -> Size:
    return _Session.size


def begin(*, is_full: bool) -> None:
    _Session.size = Size(is_full)
