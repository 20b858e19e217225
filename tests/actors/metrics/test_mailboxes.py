"""Mailboxes that are timed, and the sums over those that are not."""

from __future__ import annotations

import anyio

from actors.core.mailbox import Mailbox
from actors.metrics.histogram import Histogram
from actors.metrics.mailboxes import STEP_MAILBOXES, MailboxTotals, TimedMailbox


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def timed(capacity: int = 8) -> tuple[TimedMailbox[int], Histogram, Clock]:
    waits, clock = Histogram((1.0, 10.0)), Clock()
    return TimedMailbox("timed", capacity, waits, clock), waits, clock


def test_a_batch_waits_as_long_as_its_oldest_message() -> None:
    mailbox, waits, clock = timed()
    mailbox.put(1)
    clock.now += 4.0
    mailbox.put(2)
    clock.now += 1.0
    assert mailbox.take_all() == [1, 2]
    assert (waits.counts().counts, waits.counts().total) == ((0, 1, 0), 5.0)


async def test_who_waited_for_room_counts_from_when_there_was_some() -> None:
    mailbox, waits, clock = timed(capacity=1)
    mailbox.put(1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(mailbox.send, 2)
        await anyio.wait_all_tasks_blocked()
        clock.now += 3.0
        assert await mailbox.receive_all() == [1]
        clock.now += 2.0
        assert await mailbox.receive_all() == [2]
    assert waits.counts().total == 5.0


def test_a_sweep_sums_up_all_mailboxes_a_share_at_a_time() -> None:
    boxes = [Mailbox[bytes](f"box {number}", 1) for number in range(2 * STEP_MAILBOXES + 1)]
    for box in (boxes[0], boxes[-1]):
        box.put(b"in")
        box.put(b"too many")
    sweep = MailboxTotals(boxes)
    seen = []
    for _ in range(3):
        sweep.step()
        seen.append((sweep.refused, sweep.depth_max))
    assert seen == [(0, 1), (0, 1), (2, 1)]
