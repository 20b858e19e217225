"""A run that goes on by itself when it loses a shard."""

from __future__ import annotations

from anyio import to_thread

from actors.core.errors import PlaceError, ShardLostError
from actors.metrics.observation import Observation
from actors.runs.execute import Host, Run, execute
from actors.runs.resume import plan_resume, resume_run
from actors.runs.summary import Summary

LOSSES_MAX = 5
"""The losses in a row without a new tick after which a run ends. One node can cost two: until the head knows that it is
gone, new shards may be sent there."""


async def execute_through_losses(run: Run, host: Host, observed: Observation) -> Summary:
    """Do what `execute` does; after the loss of a shard go on from the latest checkpoint, as `prism resume` does.

    Raises:
        ShardLostError: shards are lost again and again, or the cluster is gone, or has no room for another one.
        PrismError: as `execute`.
    """
    losses, ticks, shard = 0, run.recorded.ticks, 0
    while True:
        try:
            return await execute(run, host, observed)
        except PlaceError as error:
            if not losses:
                raise
            raise ShardLostError(shard, str(error)) from None
        except ShardLostError as error:
            plan = await to_thread.run_sync(plan_resume, run.directory.path)
            run, shard = (await to_thread.run_sync(resume_run, plan)).run, error.shard
            losses = losses + 1 if run.recorded.ticks == ticks else 1
            ticks = run.recorded.ticks
            if losses >= LOSSES_MAX:
                raise
