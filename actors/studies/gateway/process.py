"""The process of a gateway: begun by the driver of an experiment, begun again if it is killed, and ended with it."""

from __future__ import annotations

import os
import resource
import secrets
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext, ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal

import anyio
import httpx
import msgspec

from actors.core.errors import AddressError, RunDirectoryError
from actors.http.server import Server, address_of, listen
from actors.logs.failure_log import log_failure
from actors.logs.setup import logging_to
from actors.studies.gateway.broker import Broker
from actors.studies.gateway.listener import OPTIONS, STATISTICS, application
from actors.studies.gateway.place import GatewayPlace, GatewayStatistics, Limits
from actors.studies.gateway.service import Service
from actors.studies.gateway.tape import ExperimentTape
from actors.studies.gateway.upstream import Upstream
from prism.llm.gateway import TOKEN
from prism.llm.tape_file import TapeError

LOOPBACK = "127.0.0.1"
STARTS_MAX = 50  # the times that a gateway is begun. If it ends so often, another start would not help.
START_S = 60.0
STATISTICS_S = 5.0
ENDING_S = 5.0  # the time that the process gets to end by itself: its calls are cancelled, and its tape is closed
FILES = 65_536
"""The most connections, as far as the system allows: each cell may have a connection for each of its questions."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The work of a gateway. Its secrets are in memory alone: it goes to the process through a pipe."""

    tape: Path  # the file
    mode: Literal["record", "replay"]  # `record` to ask servers, `replay` to ask nobody
    limits: Limits
    services: dict[str, Service]  # `{name: servers}` of those that cells may ask
    address: str = LOOPBACK  # the address to listen on


def read_statistics(place: GatewayPlace) -> GatewayStatistics | None:
    """Return the counts of a gateway now; None if it does not answer."""
    try:
        address = f"{place.address}{STATISTICS}"
        response = httpx.get(address, headers={TOKEN: place.token}, timeout=STATISTICS_S, trust_env=False)
        return msgspec.json.decode(response.content, type=GatewayStatistics)
    except (httpx.HTTPError, msgspec.DecodeError):
        return None


@contextmanager
def open_gateway(plan: Plan, context: ForkServerContext) -> Iterator[GatewayPlace]:
    """Provide a gateway in a process of its own, which is begun again if it is killed."""
    keeper = _Keeper(plan, context, secrets.token_urlsafe(32))
    keeper.begin()
    watch = threading.Thread(target=keeper.watch, name="gateway", daemon=True)
    watch.start()
    try:
        yield keeper.place
    finally:
        keeper.watch_no_more()
        watch.join()
        keeper.end()


class _Keeper:
    def __init__(self, plan: Plan, context: BaseContext, token: str) -> None:
        self._plan = plan
        self._context = context
        self._token = token
        self._port = 0
        self._process: BaseProcess | None = None
        self._stop, self._go_on = os.pipe()
        """The two ends of a pipe: the first becomes readable once the second is closed."""
        self._starts = 0

    @property
    def place(self) -> GatewayPlace:
        services = {name: service.has_key for name, service in self._plan.services.items()}
        address = address_of(self._plan.address, self._port, socket.gethostname())
        return GatewayPlace(address=address, token=self._token, services=services)

    def begin(self) -> None:
        self._starts += 1
        ours, theirs = self._context.Pipe()
        process = self._context.Process(  # type: ignore[attr-defined]
            target=_run, args=(self._plan, self._token, self._port, theirs), name="gateway", daemon=True
        )
        process.start()
        self._process = process
        theirs.close()
        with ours:
            if not ours.poll(START_S):
                raise RunDirectoryError(f"{self._plan.tape}: the gateway has not begun within {START_S:g} s")
            try:
                found = ours.recv()
            except EOFError:
                found = "its process ended at once"
        if not isinstance(found, int):
            process.join()
            raise RunDirectoryError(f"the gateway of the experiment cannot begin: {found}")
        self._port = found

    def watch(self) -> None:
        """Begin the process again whenever it ends, until `end`."""
        while self._process is not None and self._starts < STARTS_MAX:
            if self._stop in wait([self._process.sentinel, self._stop]):
                break
            try:
                self.begin()
            except RunDirectoryError:
                continue

    def watch_no_more(self) -> None:
        os.close(self._go_on)

    def end(self) -> None:
        os.close(self._stop)
        if self._process is not None:
            self._process.terminate()
            self._process.join(ENDING_S)
            self._process.kill()
            self._process.join()


def _run(plan: Plan, token: str, port: int, pipe: Connection) -> None:
    """Run as the gateway's process. It sends its port through the pipe, or the reason in words why it has no port."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver ends it
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    driver = parent_process()
    if driver is not None:
        threading.Thread(target=_end_after, args=(driver,), name="driver", daemon=True).start()
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, min(most, FILES)), most))
    try:
        tape, listener = (
            ExperimentTape(plan.tape, plan.mode),
            listen(plan.address, port, "gateway", ("oracle.address", "its port")),
        )
    except (AddressError, TapeError) as error:
        pipe.send(" ".join(str(error).split()))
        return
    with logging_to(None), closing(tape), closing(serve(plan, token, tape, listener, ended.set)):
        pipe.send(listener.getsockname()[1])
        pipe.close()
        ended.wait()


def _end_after(driver: BaseProcess) -> None:
    driver.join()
    os._exit(1)


def serve(
    plan: Plan, token: str, tape: ExperimentTape, listener: socket.socket, on_end: Callable[[], None] = lambda: None
) -> Server:
    """Return the server of a gateway.

    Args:
        on_end: called when no server is asked any more: when it is closed, or after a fault.
    """

    @asynccontextmanager
    async def broker() -> AsyncIterator[Broker]:
        callers = {name: Upstream(service) for name, service in plan.services.items()}
        try:
            async with anyio.create_task_group() as tasks:
                yield Broker(plan.limits, tape, plan.services, callers, tasks)
                tasks.cancel_scope.cancel()
        except Exception as error:
            log_failure("gateway_failed", error, "gateway")
            raise
        finally:
            on_end()
            with anyio.CancelScope(shield=True):
                for caller in callers.values():
                    await caller.aclose()

    return Server(application(token, broker), listener, OPTIONS)
