"""The shards of a run on Ray: each but the engine's is an actor, on a node that Ray chooses."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import structlog

from actors.core.errors import PlaceError, ShardLostError
from actors.core.events import SHARDS_READY
from actors.core.state import RunState
from actors.factory.ray_cluster import connected
from actors.runtime.activation import way_of
from actors.runtime.engine import EngineActor
from actors.runtime.shard import Shard
from actors.runtime.sharded_engine import ShardedEngine
from actors.runtime.shards import Acts, Shards, Shared, Stepped, divided, ranges_of
from prism.columns import Column, Floats
from prism.config import Config
from prism.domain import Domain
from prism.errors import ConfigError

log = structlog.get_logger(__name__)

READY_S = 900.0
"""The time that a cluster gets to begin all shards: one that grows takes minutes to start a node."""


class ShardsOnRay(Shards):
    """The shards of a run, on a cluster.

    Args:
        ray: the package, connected to the cluster.
        config: the run's configuration; domain: that of the engine.

    Raises:
        PlaceError: the cluster has no room for them.
    """

    def __init__(self, ray: Any, config: Config, domain: Domain) -> None:
        from ray import cloudpickle  # noqa: PLC0415  # an extra

        self._ray = ray
        # As bytes: arrays from the object store could not be written to.
        order = ray.put(cloudpickle.dumps((config, divided(domain).again())))
        actor = ray.remote(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")(_ShardActor)
        self._actors = [actor.remote(order, own) for own in ranges_of(config, domain)[1:]]
        ready = [each.place.remote() for each in self._actors]
        _, missing = ray.wait(ready, num_returns=len(ready), timeout=READY_S)
        if missing:
            room = f"{len(ready) - len(missing):,} of the {len(ready):,} shards beside the engine's"
            raise PlaceError(f"run.shards: the cluster has room for {room}; each needs a processor")
        places = [f"{host}:{pid}" for host, pid in ray.get(ready)]
        log.info(SHARDS_READY, places=places)

    def step(self, acts: Acts | None, changes: Floats | None, *, begins: bool) -> Awaitable[Sequence[Stepped]]:
        """Let all shards take a step; they begin at once."""
        given = self._ray.put((acts, changes))
        return self._results([each.step.remote(given, begins=begins) for each in self._actors])

    async def share(self) -> Sequence[Shared]:
        """Return what the shards know between two ticks."""
        return await self._results([each.share.remote() for each in self._actors])

    async def rows(self, shard: int, people: range) -> Any:
        """Return the rows of some of a shard's agents."""
        (found,) = await self._results([self._actors[shard].rows.remote(people)], shard + 1)
        return found

    async def restore(self, state: RunState, columns: Sequence[Column]) -> None:
        """Let all shards continue from a checkpoint."""
        given = self._ray.put((state, columns))
        await self._results([each.restore.remote(given) for each in self._actors])

    async def _results(self, calls: Sequence[Any], first: int = 1) -> Sequence[Any]:
        """Return the results of calls to shards, from the first one on."""
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
        """End the processes of the shards."""
        for each in self._actors:
            with suppress(Exception):  # it may be gone
                self._ray.kill(each)


class _ShardActor:
    """A shard in a process of its own.

    Args:
        order: the configuration, and what makes the domain, as bytes.
        own: the agents of the shard.
    """

    def __init__(self, order: bytes, own: range) -> None:
        from ray import cloudpickle  # noqa: PLC0415

        config, again = cloudpickle.loads(order)
        self._loop = asyncio.new_event_loop()
        self._shard = Shard(config, again(), own)

    def place(self) -> tuple[str, int]:
        """Return the machine and the process, once the shard is ready."""
        return socket.gethostname(), os.getpid()

    def step(self, given: tuple[Acts | None, Floats | None], *, begins: bool) -> Stepped:
        """Take a step."""
        return self._loop.run_until_complete(self._shard.step(*given, begins=begins))

    def share(self) -> Shared:
        """Return what the shard knows between two ticks."""
        return self._shard.share()

    def rows(self, people: range) -> Any:
        """Return the rows of some of the own agents."""
        return self._shard.rows(people)

    def restore(self, given: tuple[RunState, Sequence[Column]]) -> None:
        """Continue from a checkpoint."""
        self._loop.run_until_complete(self._shard.restore(*given))


@contextmanager
def engine_of(config: Config, domain: Domain, *, is_own: bool = False) -> Iterator[Callable[..., EngineActor]]:
    """Return a context with what makes the engine of a run; its shards are on the cluster of RAY_ADDRESS, or a new one.

    Args:
        is_own: whether the oracle is an object of the caller's.

    Raises:
        PlaceError: there is no cluster, or it has no room.
        ConfigError: the agents cannot be divided.
    """
    if config.run.shards == 1:
        yield EngineActor
        return
    if is_own or way_of(config.run, domain) != "compiled":
        what = "an oracle of your own" if is_own else "functions in a chart"
        raise ConfigError("configuration", f"{what} cannot be in many processes", key="run.shards")
    ray = connected(os.environ.get("RAY_ADDRESS") or "local", config.run.shards - 1, "run.shards")
    shards = None
    try:
        shards = ShardsOnRay(ray, config, domain)
        yield partial(ShardedEngine, shards=shards, domain=domain)
    finally:
        if shards is not None:
            shards.end()
        ray.shutdown()
