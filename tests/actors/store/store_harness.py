"""A store on a disk in memory, and control over when its blocking calls are run."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

from actors.runs.run_store import Execute, RunStore
from actors.store.journal import JOURNAL, read_ticks
from actors.store.oracle_log import ANSWERS
from tests.actors.store.files import decided, encode, frames, history_of
from tests.crash.disk import SimulatedDisk


async def inline(write: Callable[[], None]) -> None:
    """Run a blocking call at once: a disk in memory is never slow."""
    write()


class Gate:
    """A gate that runs blocking calls when the test says so, one after another."""

    def __init__(self) -> None:
        self.opened = anyio.Event()
        self.waiting = 0
        """Writes that have begun and wait."""

    async def execute(self, write: Callable[[], None]) -> None:
        self.waiting += 1
        await self.opened.wait()
        self.waiting -= 1
        write()


class StoreHarness:
    """A running store on a disk in memory."""

    def __init__(
        self,
        disk: SimulatedDisk,
        execute: Execute = inline,
        *,
        keeps_answers: bool = True,
    ) -> None:
        self.disk = disk
        recorded = history_of(disk)
        self.store = RunStore(
            disk,
            recorded,
            keeps_answers=keeps_answers,
            execute=execute,
        )
        self.ticks = frames(200, recorded.start)
        disk.operations.clear()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let the store run in the block, and close it at its end."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.store.run)
            yield
            await self.store.close()

    async def commit(self, first: int, last: int) -> None:
        for tick in range(first, last):
            await self.store.commit(tick, self.ticks[tick].frame)

    async def keep(self, agent: int) -> None:
        await self.store.keep(encode(decided(0, agent)))

    def written(self) -> int:
        """Return the ticks that are in the journal."""
        return len(list(read_ticks(self.disk)))

    def changes(self) -> list[tuple[str, str]]:
        return [operation for operation in self.disk.operations if operation[1] in {JOURNAL, ANSWERS}]
