"""A bounded mailbox for one reader."""

import asyncio

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.core.errors import MailboxClosedError
from actors.core.mailbox import BELLS, Mailbox
from tests.schedules import in_schedules, run_scheduled


def filled(*messages: int, capacity: int = 3) -> Mailbox[int]:
    mailbox: Mailbox[int] = Mailbox("test", capacity)
    for message in messages:
        assert mailbox.put(message)
    return mailbox


async def drain(mailbox: Mailbox[int], into: list[int]) -> None:
    while batch := await mailbox.receive_all():
        into.extend(batch)


@in_schedules(60)
async def test_a_reader_that_is_cancelled_while_it_wakes_up_loses_nothing() -> None:
    mailbox, seen = filled(), list[int]()
    first = asyncio.create_task(drain(mailbox, seen))
    await anyio.sleep(1)
    mailbox.put(1)
    first.cancel()
    await asyncio.wait([first])
    mailbox.put(2)
    mailbox.close()
    await drain(mailbox, seen)
    assert seen == [1, 2]


async def test_an_interrupt_in_one_reader_keeps_no_other_from_waking_up() -> None:
    async def read(mailbox: Mailbox[int]) -> int | None:
        await mailbox
        if mailbox.pending == [1]:
            raise KeyboardInterrupt
        return mailbox.take()

    boxes = [filled() for _ in range(3)]
    readers = [asyncio.ensure_future(read(mailbox)) for mailbox in boxes]
    await asyncio.sleep(0)
    bell = BELLS[asyncio.get_running_loop()]

    def wake() -> None:
        with pytest.raises(KeyboardInterrupt):
            bell.wake()

    asyncio.get_running_loop().call_soon(wake)
    for message, mailbox in enumerate(boxes):
        mailbox.put(message)
    await asyncio.wait(readers)
    assert [readers[0].result(), readers[2].result()] == [0, 2]
    assert isinstance(readers[1].exception(), KeyboardInterrupt)


@in_schedules(30)
async def test_a_sender_that_is_cancelled_is_delivered_once_if_it_was_let_in_and_else_not_at_all() -> None:
    for is_let_in in (False, True):
        mailbox = filled(1, capacity=1)
        sender = asyncio.create_task(mailbox.send(2))
        await anyio.sleep(1)
        if is_let_in:
            assert mailbox.take_all() == [1]
        sender.cancel()
        if not is_let_in:
            assert mailbox.take_all() == [1]
        await asyncio.wait([sender])
        assert mailbox.take_all() == ([2] if is_let_in else [])
        assert mailbox.statistics().waiting_senders == 0


@in_schedules(30)
async def test_closing_wakes_the_reader_and_fails_the_waiting_senders() -> None:
    mailbox, errors, seen = filled(1, capacity=1), list[MailboxClosedError](), list[int]()

    async def send(message: int) -> None:
        try:
            await mailbox.send(message)
        except MailboxClosedError as error:
            errors.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(send, 2)
        tasks.start_soon(send, 3)
        await anyio.sleep(1)
        mailbox.close()
        tasks.start_soon(drain, mailbox, seen)
    assert (len(errors), seen) == (2, [1])


async def test_statistics_count_what_went_in_and_what_did_not_and_a_closed_mailbox_is_drained() -> None:
    mailbox = filled(1, 2, capacity=2)
    assert not mailbox.put(3)
    mailbox.take()
    mailbox.put(4)
    mailbox.take_all()
    mailbox.put(5)
    counts = mailbox.statistics()
    assert (counts.capacity, counts.depth, counts.depth_max, counts.closed) == (2, 1, 2, False)
    assert (counts.accepted, counts.refused) == (4, 1)
    mailbox.close()
    assert mailbox.statistics().closed
    assert [await mailbox.receive_all(), await mailbox.receive_all()] == [[5], []]
    await mailbox


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
