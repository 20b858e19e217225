"""Mailboxes: messages a second between two, and from 1,000 senders to one reader.

In the ping-pong one message is under way at a time, there and back. In the fan-in each sender is a task, or a call
where the peer has its own threads or processes; time ends when the reader has them all. All stay in one process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from time import perf_counter
from typing import Any, Final

import anyio

from actors.core.mailbox import Mailbox
from benchmarks.peers.systems import Sizes, System, Values, peer

SENDERS: Final = 1000
Put = Callable[[int], Awaitable[object]]
Take = Callable[[], Awaitable[int]]


def _values(trips: int, pong_s: float, sent: int, fan_s: float) -> Values:
    return {"ping-pong, messages a s": 2 * trips / pong_s, "fan-in, messages a s": sent / fan_s}


async def ping_pong(trips: int, there: tuple[Put, Take], back: tuple[Put, Take]) -> float:
    """Return the seconds of this many round trips through two mailboxes."""

    async def echo() -> None:
        for _ in range(trips):
            await back[0](await there[1]())

    echoing = asyncio.create_task(echo())
    begun = perf_counter()
    for number in range(trips):
        await there[0](number)
        await back[1]()
    elapsed = perf_counter() - begun
    await echoing
    return elapsed


async def fan_in(each: int, put: Put, take: Take) -> float:
    """Return the seconds in which one reader takes what 1,000 tasks send."""

    async def send() -> None:
        for number in range(each):
            await put(number)

    begun = perf_counter()
    senders = [asyncio.create_task(send()) for _ in range(SENDERS)]
    for _ in range(each * SENDERS):
        await take()
    elapsed = perf_counter() - begun
    await asyncio.gather(*senders)
    return elapsed


def on_loop(make: Callable[[], tuple[Put, Take]]) -> Callable[[Sizes], Values]:
    """Return what measures mailboxes of one event loop."""

    async def both(sizes: Sizes) -> Values:
        pong = await ping_pong(sizes.trips, make(), make())
        fan = await fan_in(sizes.fan_in, *make())
        return _values(sizes.trips, pong, sizes.fan_in * SENDERS, fan)

    return lambda sizes: asyncio.run(both(sizes))


def prism() -> tuple[Put, Take]:
    """Return a mailbox of PRISM. Its capacity of 1,024 is the default."""
    mailbox = Mailbox[int]("measured", 1024)

    async def take() -> int:
        while (message := mailbox.take()) is None:
            await mailbox
        return message

    return mailbox.send, take


def queue() -> tuple[Put, Take]:
    """Return a queue of asyncio."""
    made = asyncio.Queue[int](1024)
    return made.put, made.get


def stream() -> tuple[Put, Take]:
    """Return a memory object stream of anyio."""
    sender, receiver = anyio.create_memory_object_stream[int](1024)
    return sender.send, receiver.receive


async def put_and_take(trips: int) -> float:
    """Return the seconds of round trips as the runtime of PRISM sends: with `put`, which is no coroutine."""
    there, back = Mailbox[int]("there", 1024), Mailbox[int]("back", 1024)

    async def echo() -> None:
        for _ in range(trips):
            await there
            back.put(there.take() or 0)

    echoing, begun = asyncio.create_task(echo()), perf_counter()
    for number in range(trips):
        there.put(number)
        await back
        back.take()
    elapsed = perf_counter() - begun
    await echoing
    return elapsed


async def put_and_receive_all(each: int) -> float:
    """Return the seconds in which one reader takes what 1,000 tasks put, a batch at a time."""
    mailbox, received = Mailbox[int]("measured", 1024), 0

    async def send() -> None:
        for number in range(each):
            if not mailbox.put(number):
                await mailbox.send(number)

    begun = perf_counter()
    senders = [asyncio.create_task(send()) for _ in range(SENDERS)]
    while received < each * SENDERS:
        received += len(await mailbox.receive_all())
    elapsed = perf_counter() - begun
    await asyncio.gather(*senders)
    return elapsed


def measure_runtime(sizes: Sizes) -> Values:
    """Return the values of PRISM's mailbox as its runtime uses it."""
    pong, fan = asyncio.run(put_and_take(sizes.trips)), asyncio.run(put_and_receive_all(sizes.fan_in))
    return _values(sizes.trips, pong, sizes.fan_in * SENDERS, fan)


def measure_pykka(sizes: Sizes) -> Values:
    """Return the values of pykka's threads: `ask` there and back, and `tell`."""
    pykka = peer("pykka")
    base: Any = pykka.ThreadingActor

    class Counter(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def on_receive(self, _: Any) -> int:
            self.count += 1
            return self.count

    actor = Counter.start()
    try:
        begun = perf_counter()
        for number in range(sizes.trips):
            actor.ask(number)
        pong, sent = perf_counter() - begun, sizes.fan_in * SENDERS
        begun = perf_counter()
        for number in range(sent - 1):
            actor.tell(number)
        actor.ask(sent)
        return _values(sizes.trips, pong, sent, perf_counter() - begun)
    finally:
        actor.stop()


def measure_xoscar(sizes: Sizes) -> Values:
    """Return the values of calls of an actor of xoscar in the process of its pool."""
    xoscar = peer("xoscar")
    base: Any = xoscar.Actor

    class Counter(base):  # type: ignore[misc]
        async def add(self, number: int) -> int:
            return number

    async def both() -> Values:
        pool = await xoscar.create_actor_pool("127.0.0.1", n_process=0)
        async with pool:
            actor = await xoscar.create_actor(Counter, address=pool.external_address, uid="counter")
            begun = perf_counter()
            for number in range(sizes.trips):
                await actor.add(number)
            pong, begun = perf_counter() - begun, perf_counter()

            async def send() -> None:
                for number in range(sizes.fan_in):
                    await actor.add(number)

            await asyncio.gather(*(send() for _ in range(SENDERS)))
            return _values(sizes.trips, pong, sizes.fan_in * SENDERS, perf_counter() - begun)

    return asyncio.run(both())


def measure_thespian(sizes: Sizes) -> Values:
    """Return the values of Thespian's system in one process: `ask` there and back, and `tell`."""
    thespian = peer("thespian.actors")
    base: Any = thespian.Actor

    class Counter(base):  # type: ignore[misc]
        def receiveMessage(self, message: Any, sender: Any) -> None:  # noqa: N802  # the peer's name
            if message >= 0:
                self.send(sender, message)

    system = thespian.ActorSystem("simpleSystemBase")
    try:
        actor = system.createActor(Counter)
        begun = perf_counter()
        for number in range(sizes.trips):
            system.ask(actor, number, 10)
        pong, sent = perf_counter() - begun, sizes.fan_in * SENDERS
        begun = perf_counter()
        for _ in range(sent - 1):
            system.tell(actor, -1)
        system.ask(actor, 0, 10)
        return _values(sizes.trips, pong, sent, perf_counter() - begun)
    finally:
        system.shutdown()


class PolledChannel:
    """A channel whose answers lie in a dictionary by the number of their message, until their asker looks again.

    Args:
        pause_s: the seconds between two looks.

    Source: the channel of OASIS, as it is described: a queue of requests, answers by message id, a short sleep between
    two looks.
    """

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self._requests: asyncio.Queue[tuple[int, int]] = asyncio.Queue()
        self._answers: dict[int, int] = {}
        self._count = 0

    async def serve(self) -> None:
        """Answer requests, one after the other, until cancelled."""
        while True:
            number, content = await self._requests.get()
            self._answers[number] = content

    async def ask(self, content: int) -> int:
        """Return the answer to a request."""
        self._count += 1
        number = self._count
        await self._requests.put((number, content))
        while number not in self._answers:  # noqa: ASYNC110  # what is measured
            await asyncio.sleep(self._pause_s)
        return self._answers.pop(number)


class MailboxChannel:
    """The same with mailboxes: the asker's own one goes with its request."""

    def __init__(self) -> None:
        self._requests = Mailbox[tuple[Mailbox[int], int]]("requests", 1024)

    async def serve(self) -> None:
        """Answer requests until cancelled."""
        while True:
            for asker, content in await self._requests.receive_all():
                asker.put(content)

    async def ask(self, content: int) -> int:
        """Return the answer to a request."""
        asker = Mailbox[int]("asker", 1)
        await self._requests.send((asker, content))
        while (answer := asker.take()) is None:
            await asker
        return answer


async def round_trips(channel: PolledChannel | MailboxChannel, askers: int, each: int) -> float:
    """Return the seconds of one round trip, on average, as one of these askers waits for it."""
    waited = 0.0

    async def ask_all() -> None:
        nonlocal waited
        for number in range(each):
            begun = perf_counter()
            if await channel.ask(number) != number:
                raise AssertionError("an answer went to another asker")
            waited += perf_counter() - begun

    serving: asyncio.Task[None] = asyncio.create_task(channel.serve())
    await asyncio.gather(*(ask_all() for _ in range(askers)))
    serving.cancel()
    return waited / (askers * each)


def channel(make: Callable[[], PolledChannel | MailboxChannel], polled: bool) -> Callable[[Sizes], Values]:
    """Return what measures the round trips of a channel."""

    async def both(sizes: Sizes) -> Values:
        alone = await round_trips(make(), 1, 10 if polled else sizes.trips)
        many = await round_trips(make(), SENDERS, 3)
        return {"1 asker, us": alone * 1e6, "1,000 askers, us": many * 1e6}

    def measure(sizes: Sizes) -> Values:
        running: Coroutine[Any, Any, Values] = both(sizes)
        return asyncio.run(running)

    return measure


SYSTEMS: Final = {
    "PRISM `Mailbox`, `send` and `take`": System(on_loop(prism)),
    "PRISM `Mailbox`, `put` and `receive_all`": System(measure_runtime),
    "asyncio `Queue`": System(on_loop(queue)),
    "anyio memory object stream": System(on_loop(stream)),
    "pykka, `ask` and `tell`": System(measure_pykka, "pykka"),
    "xoscar, actor call": System(measure_xoscar, "xoscar"),
    "Thespian, `ask` and `tell`": System(measure_thespian, "thespian"),
}

CHANNELS: Final = {
    "PRISM `Mailbox`": System(channel(MailboxChannel, polled=False)),
    "polled each 1 ms": System(channel(lambda: PolledChannel(0.001), polled=True)),
    "polled each 100 ms, as in OASIS": System(channel(lambda: PolledChannel(0.1), polled=True)),
}
