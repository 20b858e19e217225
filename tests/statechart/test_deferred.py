from __future__ import annotations

from collections.abc import Iterator
from inspect import CORO_CLOSED, getcoroutinestate

from prism.statechart.transitions import is_deferred, is_work_left


async def waits() -> None:
    """Wait for nothing."""


def counts() -> Iterator[int]:
    yield 1


def test_a_function_that_starts_work_is_told_from_one_that_does_it() -> None:
    assert is_deferred(waits)
    assert is_deferred(counts)
    assert not is_deferred(len)
    assert not is_deferred(dict)


def test_work_that_is_left_is_closed() -> None:
    coroutine, generator = waits(), counts()
    assert is_work_left(coroutine)
    assert is_work_left(generator)
    assert getcoroutinestate(coroutine) == CORO_CLOSED
    assert list(generator) == []


def test_a_plain_result_is_no_work() -> None:
    assert not any(is_work_left(result) for result in (None, True, "needs_oracle", [1], iter([1])))
