"""Context managers that block, entered and left in a thread, so that the event loop goes on."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from typing import TypeVar

import anyio
from anyio import to_thread

T = TypeVar("T")


@asynccontextmanager
async def in_threads(context: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter a context manager in a thread, and always leave it in a thread. It must not depend on its thread."""
    value = await to_thread.run_sync(context.__enter__)
    try:
        yield value
    except BaseException:
        if not await _in_thread(partial(context.__exit__, *sys.exc_info())):
            raise
    else:
        await _in_thread(partial(context.__exit__, None, None, None))


async def _in_thread(leave: Callable[[], bool | None]) -> bool | None:
    with anyio.CancelScope(shield=True):
        return await to_thread.run_sync(leave)
    return None
