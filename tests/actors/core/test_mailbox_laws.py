from __future__ import annotations

import anyio
from hypothesis import given
from hypothesis import strategies as st

from actors.core.mailbox import Mailbox
from tests.schedules import run_scheduled

Message = tuple[int, int]
"""Its sender, and its number among the sender's."""


class Exchange:
    """Senders that put and send into one small mailbox, and a reader that takes one by one or all at once."""

    def __init__(self, counts: list[int], capacity: int) -> None:
        self.counts = counts
        self.mailbox: Mailbox[Message] = Mailbox("test", capacity)
        self.seen: list[Message] = []

    async def run(self) -> list[Message]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read)
            for sender in range(len(self.counts)):
                tasks.start_soon(self._send, sender)
        return self.seen

    async def _send(self, sender: int) -> None:
        for number in range(self.counts[sender]):
            if number % 2 or not self.mailbox.put((sender, number)):
                await self.mailbox.send((sender, number))

    async def _read(self) -> None:
        while len(self.seen) < sum(self.counts):
            message = self.mailbox.take() if len(self.seen) % 2 else None
            self.seen.extend([message] if message else await self.mailbox.receive_all())
            assert self.mailbox.statistics().depth <= self.mailbox.capacity


@given(seed=st.integers(0, 2**32), counts=st.lists(st.integers(0, 12), max_size=6), capacity=st.integers(1, 5))
def test_in_any_schedule_everything_arrives_once_and_in_its_senders_order(
    seed: int, counts: list[int], capacity: int
) -> None:
    exchange = Exchange(counts, capacity)
    seen = run_scheduled(seed, exchange.run)
    assert sorted(seen) == [(sender, number) for sender, count in enumerate(counts) for number in range(count)]
    for sender, count in enumerate(counts):
        assert [number for who, number in seen if who == sender] == list(range(count))
    statistics = exchange.mailbox.statistics()
    assert (statistics.accepted, statistics.depth, statistics.waiting_senders) == (sum(counts), 0, 0)
