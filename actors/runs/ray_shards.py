"""The shards of a run on Ray: each but the engine's is an actor, on a node that Ray chooses."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from subprocess import DEVNULL, PIPE, Popen
from time import monotonic
from typing import Any

import anyio
import structlog
from anyio import to_thread

from actors.core.errors import PlaceError, ShardLostError, first_error
from actors.core.events import SHARDS_READY
from actors.core.state import RunState
from actors.core.threads import in_threads
from actors.factory.ray_cluster import Cluster, heed_signals
from actors.runtime.activation import way_of
from actors.runtime.engine import EngineActor
from actors.runtime.shards import Acts, Shard, ShardedEngine, Shards, Shared, Stepped, TurnedWave, divided, ranges_of
from prism.columns import Bundles, Floats
from prism.config import Config
from prism.domain import Domain
from prism.errors import ConfigError

AHEAD = 64  # the blocks of agents of each shard that may be ready before the engine takes them: some 30 MB

log = structlog.get_logger(__name__)

READY_S = 900.0  # the time that a cluster gets to begin all shards: one that grows takes minutes to start a node
TOLD_EVERY_S = 15.0  # the time between two lines about shards that have not begun
ENDED = (
    "this process was ended from outside, or by Ray, which does so where its node or the head of its cluster is gone; "
    "`prism resume` goes on from the latest checkpoint"
)
"""The last words of a run in shards."""


class ShardsOnRay(Shards):
    """The shards of a run, on a cluster to which `ray`, the package, is connected."""

    def __init__(self, ray: Any, config: Config, domain: Domain) -> None:
        from ray import cloudpickle  # noqa: PLC0415  # an extra

        self._ray = ray
        # As bytes: arrays from the object store could not be written to.
        order = ray.put(cloudpickle.dumps((config, divided(domain).again())))
        actor = ray.remote(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")(_ShardActor)
        self._own = ranges_of(config, domain)[1:]
        self._actors = [actor.remote(order, own) for own in self._own]

    async def begin(self) -> None:
        """Wait until all shards have begun; say how many have while it takes long.

        If the cluster has no room for them, it is a PlaceError; if one has failed to begin, or the cluster is gone, a
        ShardLostError.
        """
        calls = [each.place.remote() for each in self._actors]
        places = asyncio.ensure_future(self._results(calls))
        until = monotonic() + READY_S
        try:
            while not (await asyncio.wait((places,), timeout=TOLD_EVERY_S))[0]:
                begun, _ = self._ray.wait(calls, num_returns=len(calls), timeout=0)
                if monotonic() > until:
                    room = f"{len(begun):,} of the {len(calls):,} shards beside the engine's"
                    raise PlaceError(f"run.shards: the cluster has room for {room}; each needs a processor")
                log.warning("shards_awaited", begun=len(begun), of=len(calls), needs="a processor each")
        finally:
            places.cancel()
        log.info(SHARDS_READY, places=[f"{host}:{pid}" for host, pid in places.result()])

    def step(self, acts: Acts | None, changes: Floats | None, *, begins: bool) -> Awaitable[Sequence[Stepped]]:
        given = self._ray.put((acts, changes))
        return self._results([each.step.remote(given, begins=begins) for each in self._actors])

    async def decide(self, tick: int, decisions: Sequence[Sequence[bytes]]) -> Sequence[TurnedWave]:
        calls = zip(self._actors, decisions, strict=True)
        return await self._results([each.decide.remote(tick, own) for each, own in calls])

    async def share(self) -> Sequence[Shared]:
        return await self._results([each.share.remote() for each in self._actors])

    def blocks(self, shard: int) -> AsyncIterator[bytes]:
        """Return the blocks of a shard's agents; it begins at once, and works ahead."""
        actor = self._actors[shard]
        actor.begin_blocks.remote()
        calls = deque(actor.block.remote() for _ in range(AHEAD))

        async def found() -> AsyncIterator[bytes]:
            while block := (await self._results([calls.popleft()], shard + 1))[0]:
                calls.append(actor.block.remote())
                yield block

        return found()

    async def restore(self, state: RunState, columns: Bundles) -> None:
        given, shards = self._ray.put((state, columns.common)), zip(self._own, self._actors, strict=True)
        await self._results([each.restore.remote(given, columns.about(own).blocks) for own, each in shards])

    async def _results(self, calls: Sequence[Any], first: int = 1) -> Sequence[Any]:
        found, known = [], self._ray.exceptions
        for shard, call in enumerate(calls, first):
            try:
                found.append(await call)
            except known.RayTaskError as error:
                raise error.cause from None
            except known.RayError as error:
                raise ShardLostError(shard, " ".join(str(error).split())[:300]) from None
        return found

    def end(self) -> None:
        for each in self._actors:
            with suppress(Exception):  # it may be gone
                self._ray.kill(each)


class _ShardActor:
    """A shard with some agents in its own process. `order`: the configuration, and what makes the domain, as bytes."""

    def __init__(self, order: bytes, own: range) -> None:
        from ray import cloudpickle  # noqa: PLC0415

        config, again = cloudpickle.loads(order)
        self._loop = asyncio.new_event_loop()
        self._shard = Shard(config, again(), own)
        self._blocks: Iterator[bytes] = iter(())  # the blocks of the own agents that are still to be returned

    def place(self) -> tuple[str, int]:
        return socket.gethostname(), os.getpid()

    def step(self, given: tuple[Acts | None, Floats | None], *, begins: bool) -> Stepped:
        return self._loop.run_until_complete(self._shard.step(*given, begins=begins))

    def decide(self, tick: int, decisions: Sequence[bytes]) -> TurnedWave:
        return self._loop.run_until_complete(self._shard.decide(tick, decisions))

    def share(self) -> Shared:
        return self._shard.share()

    def begin_blocks(self) -> None:
        self._blocks = self._shard.blocks()

    def block(self) -> bytes:
        """Return the next block; no bytes after the last one."""
        return next(self._blocks, b"")

    def restore(self, given: tuple[RunState, list[bytes]], blocks: list[bytes]) -> None:
        """Continue from a checkpoint, given what all have in common, and the blocks with the own agents."""
        state, common = given
        self._loop.run_until_complete(self._shard.restore(state, Bundles(common, blocks)))


@asynccontextmanager
async def engine_of(
    config: Config, domain: Domain, *, is_own: bool = False
) -> AsyncIterator[Callable[..., EngineActor]]:
    """Return a context with what makes the engine of a run; its shards are on the cluster of RAY_ADDRESS, or a new one.

    `is_own`: whether the oracle is an object of the caller's. Without a cluster or room it is a PlaceError; if a shard
    cannot begin, a ShardLostError; if the agents cannot be divided, a ConfigError.
    """
    if config.run.shards == 1:
        yield EngineActor
        return
    if is_own or way_of(config.run, domain) != "compiled":
        what = "an oracle of your own" if is_own else "functions in a chart"
        raise ConfigError("configuration", f"{what} cannot be in many processes", key="run.shards")
    address = os.environ.get("RAY_ADDRESS", "")
    asked = f"run.shards, RAY_ADDRESS={address}" if address else "run.shards"
    cluster = await asyncio.wrap_future(Cluster(address or "local", config.run.shards - 1, asked).connected)
    heed_signals()
    shards = None
    async with in_threads(last_words(ENDED)):
        try:
            shards = await to_thread.run_sync(ShardsOnRay, cluster.ray, config, domain)
            await shards.begin()
            yield partial(ShardedEngine, shards=shards, domain=domain)
        except BaseException as error:
            if (lost := first_error(BaseExceptionGroup("", [error]), ShardLostError)) is not None:
                log.warning("shard_lost", shard=lost.shard, reason=lost.reason)
            raise
        finally:
            with anyio.CancelScope(shield=True):

                def leave() -> None:
                    if shards is not None:
                        shards.end()
                    cluster.leave()

                await to_thread.run_sync(leave)


_SAY = "import sys; sys.stdin.read() or sys.stderr.write(sys.argv[1])"


@contextmanager
def last_words(words: str) -> Iterator[None]:
    """Return a context that leaves a line on standard error if the process ends in it, however that comes about.

    Ray ends a process whose node is gone by a call of the system, so that nothing in the process could say so.
    """
    # In a session of its own: the Ctrl-C of a terminal goes to all processes of the session.
    command = [sys.executable, "-I", "-S", "-c", _SAY, f"prism: {words}\n"]
    with Popen(command, stdin=PIPE, stdout=DEVNULL, start_new_session=True) as speaker:  # noqa: S603  # this Python
        try:
            yield
        finally:
            speaker.communicate(b"nothing to say")
