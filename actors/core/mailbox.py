"""A bounded mailbox: many senders, one reader, first in first out. Senders that find no room are counted, and wait.

It is a list, and a reader that waits. Messages stay in the list, so a reader that is cancelled while it wakes up loses
nothing: the next `take` finds them. A `Bell` wakes all readers of an event loop that got messages in one callback. In
`make bench-peers` a message to one of 1,000 agents takes a third of an `asyncio.Queue` put and get.
"""

from __future__ import annotations

import asyncio
from asyncio import get_running_loop
from collections.abc import Callable, Generator
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast
from weakref import WeakKeyDictionary

import msgspec

from actors.core.errors import ActorError, MailboxClosedError

T = TypeVar("T")


class MailboxStatistics(msgspec.Struct, frozen=True):
    """Counts of one mailbox: messages now, at most, accepted, and refused by `put`; and senders that wait for room."""

    capacity: int
    depth: int
    depth_max: int
    accepted: int
    refused: int
    waiting_senders: int
    closed: bool


class Bell:
    """The readers of an event loop that are to wake up.

    asyncio makes a callback for each future that is done, which takes as long as all else of a wake-up together. Here
    one callback wakes all readers, in the order in which they got messages.
    """

    def __init__(self) -> None:
        self.rung: list[Reader] = []

    def wake(self) -> None:
        rung, self.rung = self.rung, []
        woken = 0
        try:
            for woken, reader in enumerate(rung, 1):  # noqa: B007  # an interrupt leaves the loop
                reader.context.run(reader.wake_up, reader)
        finally:
            for reader in rung[woken:]:
                reader.ring()


BELLS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Bell]] = WeakKeyDictionary()


class Reader(list["Reader"]):
    """The reader of a mailbox, for which its task waits. It has the methods of a future that asyncio's tasks call.

    A future can be used once, and this for every wait, so no wait makes an object. It is a list of itself, because
    the iterator of a list gives it to the loop without a call of Python.
    """

    __slots__ = ("_asyncio_future_blocking", "_bell", "_cancelled", "_loop", "context", "is_waiting", "wake_up")
    if TYPE_CHECKING:

        def __await__(self) -> Generator[Reader]: ...
    else:
        __await__ = list.__iter__

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__((self,))
        self._asyncio_future_blocking = False
        self._bell = BELLS.setdefault(loop, Bell())
        self._loop = loop
        self._cancelled: asyncio.CancelledError | None = None
        self.is_waiting = False

    def ring(self) -> None:
        self.is_waiting = False
        rung = self._bell.rung
        if not rung:
            self._loop.call_soon(self._bell.wake)
        rung.append(self)

    # What a task of asyncio calls

    def add_done_callback(self, wake_up: Callable[[Reader], Any], *, context: Context) -> None:
        self.wake_up, self.context = wake_up, context
        self.is_waiting = True

    def result(self) -> None:
        if (cancelled := self._cancelled) is not None:
            self._cancelled = None
            raise cancelled

    def done(self) -> bool:
        return not self.is_waiting

    def cancel(self, msg: Any = None) -> bool:
        if self.is_waiting:
            self._cancelled = asyncio.CancelledError(msg)  # by the message a scope knows that it has cancelled
            self.ring()
        return self._cancelled is not None


class Mailbox(Generic[T]):
    """A bounded mailbox for one reader, on the event loop on which it is first read."""

    __slots__ = (
        "_depth_max",
        "_reader",
        "_refused",
        "_taken",
        "_waiting",
        "capacity",
        "closed",
        "name",
        "pending",
    )

    def __init__(self, name: str, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a mailbox's capacity must be 1 or more, got {capacity!r}")
        self.name = name
        self.capacity = capacity
        self.pending: list[T] = []
        """The messages, oldest first. The reader may look, which is cheaper than a call; only `take` changes them."""
        self._reader: Reader | None = None
        self._waiting: list[tuple[asyncio.Future[None], T]] | None = None
        self._taken = self._refused = self._depth_max = 0
        self.closed = False
        """True once it accepts no more messages."""

    def put(self, message: T) -> bool:
        """Put a message in and return True; return False at once when there is no room or a sender waits for room.

        A closed mailbox raises a MailboxClosedError, here and in `send`.
        """
        messages = self.pending
        # While a sender waits there is no room: `_admit` runs at every take.
        if len(messages) >= self.capacity or self.closed:
            if self.closed:
                raise MailboxClosedError(self.name)
            self._refused += 1
            return False
        messages.append(message)
        reader = self._reader
        if reader is not None and reader.is_waiting:
            reader.ring()
        return True

    async def send(self, message: T) -> None:
        if self.put(message):
            return
        if self._waiting is None:
            self._waiting = []
        entry = (get_running_loop().create_future(), message)
        self._waiting.append(entry)
        try:
            await entry[0]
        except asyncio.CancelledError:
            if self._waiting and entry in self._waiting:  # `close` removes all waiting senders
                self._waiting.remove(entry)
            raise

    def __await__(self) -> Generator[Reader]:
        """Wait until there is a message to take, or the mailbox has closed. One reader may wait."""
        reader = self.reader()
        reader._asyncio_future_blocking = True  # noqa: SLF001  # asyncio's name: the task that gets this waits for it
        return cast("Generator[Reader]", iter(() if self.pending or self.closed else reader))

    def reader(self) -> Reader:
        """Return its reader, which a task may yield to its loop while there is no message; no other may wait."""
        if self._reader is None:
            self._reader = Reader(get_running_loop())
        elif self._reader.is_waiting:
            raise ActorError(f"mailbox {self.name!r} has a reader already; one actor reads one mailbox")
        return self._reader

    def take(self) -> T | None:
        """Remove and return the oldest message; None when there is none."""
        messages = self.pending
        if not messages:
            return None
        self._taken += 1
        if len(messages) == 1 and not self._waiting:
            return messages.pop()
        # A mailbox is deepest right before a take, so `put` need not check the depth.
        self._depth_max = max(self._depth_max, len(messages))
        message = messages.pop(0)
        if self._waiting:
            self._admit()
        return message

    def take_all(self) -> list[T]:
        """Remove and return every message, oldest first; empty when there is none."""
        messages = self.pending
        if messages:
            self._depth_max = max(self._depth_max, len(messages))
            self._taken += len(messages)
            self.pending = []
            if self._waiting:
                self._admit()
        return messages

    async def receive_all(self) -> list[T]:
        """Wait for a message, then remove and return all; empty only when the mailbox is closed and drained."""
        while not self.pending and not self.closed:
            await self
        return self.take_all()

    def close(self) -> None:
        """Accept no more messages. The reader drains the rest and then ends; waiting senders get an error."""
        self.closed = True
        if self._reader is not None and self._reader.is_waiting:
            self._reader.ring()
        for sender, _ in self._waiting or ():
            if not sender.done():
                sender.set_exception(MailboxClosedError(self.name))
        self._waiting = None

    def statistics(self) -> MailboxStatistics:
        depth = len(self.pending)
        return MailboxStatistics(
            capacity=self.capacity,
            depth=depth,
            depth_max=max(self._depth_max, depth, min(1, self._taken)),
            accepted=self._taken + depth,
            refused=self._refused,
            waiting_senders=len(self._waiting or ()),
            closed=self.closed,
        )

    def _admit(self) -> None:
        """Move waiting messages in, oldest first, while there is room. The reader does it, so no sender overtakes."""
        waiting = self._waiting or []
        while waiting and len(self.pending) < self.capacity:
            sender, message = waiting.pop(0)
            if not sender.done():
                self.pending.append(message)
                sender.set_result(None)
