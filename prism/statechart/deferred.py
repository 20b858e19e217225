"""Work that a call does not do: coroutines and generators, which only start when somebody awaits or iterates them.

A guard or an action of this kind would seem to work: the object that it returns is true, and its code never runs.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import partial
from inspect import getattr_static, isasyncgenfunction, iscoroutinefunction, isgeneratorfunction


def is_deferred(function: Callable[..., object]) -> bool:
    """Return whether a call of the function gives a coroutine or a generator: also by its class, and within a partial.

    A plain function that returns a coroutine cannot be told by its looks; `is_work_left` tells its result.
    """
    while isinstance(function, partial):
        function = function.func
    # Of an object its class's `__call__` is run; of a class that would be the one of its metaclass, which is plain.
    forms = function, None if isinstance(function, type) else getattr_static(type(function), "__call__", None)
    return any(test(form) for form in forms for test in (iscoroutinefunction, isgeneratorfunction, isasyncgenfunction))


def is_work_left(result: object) -> bool:
    """Return whether the result of a call is work that is still to be done. It is closed, so nothing waits for it."""
    if not isinstance(result, Awaitable | Generator | AsyncGenerator):
        return False
    close = getattr(result, "close", None)
    if close is not None:
        close()
    return True
