"""Context managers that block, entered and left in a thread, so that the event loop goes on."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
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
        is_handled = None
        with anyio.CancelScope(shield=True):
            is_handled = await to_thread.run_sync(context.__exit__, *sys.exc_info())
        if not is_handled:
            raise
    else:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(context.__exit__, None, None, None)
