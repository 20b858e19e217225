"""The connections of an HTTP server: one thread accepts them, reads their requests, sends the answers and drops them.

Anyone who can reach the port can open connections and send nothing. So a connection without a whole request costs a
few bytes and no thread, and when there are too many of them the oldest is dropped. What takes long to answer is
answered in other threads, and has places of its own: whatever waits there, a liveness probe is answered at once.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import NamedTuple

from actors.core.errors import ActorError
from actors.metrics.failure_log import log_failure

WAITING_MAX = 128
"""Connections that have not sent a whole request. One more, and the oldest of them is dropped."""

ANSWERED_MAX = 32
"""Connections that get an answer which is made in another thread. One more is told to come later."""

REQUEST_MAX_BYTES = 65_536
SILENCE_MAX_S = 10.0
"""The time after which a connection that sends nothing, or takes nothing, is closed."""

CONNECTION_MAX_S = 30.0
"""The time after which a connection is closed: otherwise a byte now and then would keep its place for ever. A server
may allow more for its answers, but not for requests."""

BACKLOG = 1024
"""Connections that the system keeps until they are accepted. It makes a client wait a second for each further one."""

CLOSED_WITHIN_S = 2.0
"""The time for answers under way when the server is closed."""

_ACCEPTED_AT_ONCE = 64
_PAUSE_S = 0.1
_CHUNK = 65_536
_REQUEST_ENDS = (b"\r\n\r\n", b"\n\n")


class ServerOptions(NamedTuple):
    """The options of a server.

    Args:
        name: the name of its threads, and of the actor in its log lines.
        workers: the number of threads that make the answers which take long.
        answer_max_s: the age at which a connection is closed while its answer is made or sent; None:
            `CONNECTION_MAX_S`.
    """

    name: str = "metrics"
    workers: int = 2
    answer_max_s: float | None = None


Make = Callable[[], bytes]
Respond = Callable[[bytes], bytes | Make]
"""A function that is given a request and returns the answer, or a function for another thread that makes it."""


class Connections:
    """The connections of a listening socket, from `start` until `close`.

    Args:
        listener: the socket.
        tls: what connections are encrypted with, if they are.
        respond: is given each request, at most `REQUEST_MAX_BYTES` and one chunk of it. It must not wait.
        busy: returns the answer where there are too many requests for answers that take long.
        options: the options of the server.
    """

    def __init__(
        self,
        listener: socket.socket,
        tls: ssl.SSLContext | None,
        respond: Respond,
        busy: Make,
        options: ServerOptions = ServerOptions(),  # noqa: B008  # it never changes
    ) -> None:
        self._listener = listener
        self._tls = tls
        self._respond = respond
        self._busy = busy
        self._options = options
        self._waiting: dict[_Connection, None] = {}
        """Connections without a whole request, the oldest first."""
        self._answered: dict[_Connection, None] = {}
        """Connections whose answer is being made or sent."""
        self._to_make: SimpleQueue[tuple[_Connection, Make] | None] = SimpleQueue()
        self._made: deque[tuple[_Connection, bytes]] = deque()
        self._wakes, self._waker = socket.socketpair()
        self._ends_at: float | None = None
        self._selector = selectors.PollSelector()  # it needs no system call to add or remove a connection
        name = options.name
        self._threads = [Thread(target=self._run, name=name, daemon=True)]
        self._threads += [Thread(target=self._make, name=f"{name} page", daemon=True) for _ in range(options.workers)]

    def start(self) -> None:
        """Accept connections from now on."""
        for each in (self._listener, self._wakes, self._waker):
            each.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wakes, selectors.EVENT_READ)
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop listening, and end. Answers under way get a moment."""
        self._ends_at = monotonic() + CLOSED_WITHIN_S
        self._wake()
        self._threads[0].join()
        for _ in range(self._options.workers):
            self._to_make.put(None)

    def _run(self) -> None:
        while self._ends_at is None:
            self._step()
        self._selector.unregister(self._listener)
        self._listener.close()
        for connection in list(self._waiting):
            self._drop(connection)
        while self._answered and monotonic() < self._ends_at:
            self._step()
        for connection in list(self._answered):
            self._drop(connection)
        self._selector.close()
        self._wakes.close()
        self._waker.close()

    def _step(self) -> None:
        ready = {key.fileobj: key.data for key, _ in self._selector.select(_PAUSE_S)}
        for connection in ready.values():
            if connection is not None:
                self._serve(connection)
        if self._wakes in ready:
            self._send_made()
        if self._listener in ready:
            self._accept()
        self._drop_late()

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, _address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError:  # this process has too many files open, for instance
                self._drop_oldest()
                time.sleep(_PAUSE_S)  # the next attempt would fail at once, too
                return
            if len(self._waiting) >= WAITING_MAX:
                self._drop_oldest()
            connection = _Connection(accepted, self._tls)
            self._waiting[connection] = None
            self._selector.register(connection.socket, selectors.EVENT_READ, connection)
            self._serve(connection)  # most clients have sent their request by now

    def _serve(self, connection: _Connection) -> None:
        """Read the request or send the answer, as far as it goes now."""
        try:
            if connection in self._answered:
                self._send(connection, b"")
                return
            connection.receive()
            if connection.is_over:
                self._answer(connection)
        except OSError:  # the client has gone, or does not speak TLS
            with suppress(OSError):
                connection.send(b"")  # an alert of TLS, if there is one
            self._drop(connection)
        except Exception as error:  # noqa: BLE001  # one client's request must not end the server
            self._log(error)
            self._drop(connection)

    def _answer(self, connection: _Connection) -> None:
        self._selector.unregister(connection.socket)
        del self._waiting[connection]
        is_full = len(self._answered) >= ANSWERED_MAX
        self._answered[connection] = None
        answer = self._respond(connection.request) if connection.has_request else b""
        if isinstance(answer, bytes):
            self._send(connection, answer)
        elif is_full:
            self._send(connection, self._busy())
        else:
            self._to_make.put((connection, answer))

    def _send(self, connection: _Connection, answer: bytes) -> None:
        connection.send(answer)
        if connection.is_sent:
            connection.finish()
            self._drop(connection)
        elif connection.socket not in self._selector.get_map():
            self._selector.register(connection.socket, selectors.EVENT_WRITE, connection)

    def _make(self) -> None:
        """Make answers, in a thread of its own."""
        while (job := self._to_make.get()) is not None:
            connection, make = job
            try:
                answer = make()
            except Exception as error:  # noqa: BLE001  # the next answer may be made all the same
                self._log(error)
                answer = b""
            self._made.append((connection, answer))
            self._wake()

    def _send_made(self) -> None:
        with suppress(BlockingIOError):
            self._wakes.recv(_CHUNK)
        while self._made:
            connection, answer = self._made.popleft()
            if connection in self._answered:
                try:
                    self._send(connection, answer)
                except OSError:
                    self._drop(connection)

    def _wake(self) -> None:
        with suppress(OSError):  # it is awake already, or closed
            self._waker.send(b"\0")

    def _drop_late(self) -> None:
        now = monotonic()
        for connection in [*self._waiting, *self._answered]:
            if connection.is_late(now, self._options.answer_max_s):
                self._drop(connection)

    def _log(self, error: Exception) -> None:
        log_failure(f"{self._options.name}_request_failed", error, self._options.name)

    def _drop_oldest(self) -> None:
        if self._waiting:
            self._drop(next(iter(self._waiting)))

    def _drop(self, connection: _Connection) -> None:
        self._waiting.pop(connection, None)
        self._answered.pop(connection, None)
        with suppress(KeyError):  # its answer is being made
            self._selector.unregister(connection.socket)
        connection.socket.close()


def listen(host: str, port: int, failure: Callable[[str, int, str], ActorError]) -> socket.socket:
    """Return a socket that listens.

    Args:
        failure: makes the error from the host, the port and the problem.

    Raises:
        ActorError: the address cannot be listened on.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with ExitStack() as unless_bound:
            listener = unless_bound.enter_context(socket.socket(family, socket.SOCK_STREAM))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
            unless_bound.pop_all()
    except (OSError, UnicodeError) as error:  # the latter for a host name that is not valid
        problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise failure(host, port, problem) from None
    return listener


class _Connection:
    """One client: its socket, the bytes that have come, and those that are to be sent."""

    def __init__(self, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
        accepted.setblocking(False)
        self.socket = accepted
        self.request = b""
        self._channel = None if tls is None else _Channel(tls)
        self._unsent = memoryview(b"")
        self._has_ended = False
        self._begun = self._moved = monotonic()

    @property
    def has_request(self) -> bool:
        """True if the request is whole, or so long that it is refused."""
        return len(self.request) > REQUEST_MAX_BYTES or any(end in self.request for end in _REQUEST_ENDS)

    @property
    def is_over(self) -> bool:
        """True if no more of the request is read: it is whole, or its client has ended before that."""
        return self._has_ended or self.has_request

    @property
    def is_sent(self) -> bool:
        """True if nothing is left to be sent."""
        return not self._unsent

    def is_late(self, now: float, answer_max_s: float | None) -> bool:
        """Return whether its time is over."""
        is_awaited = bool(self._unsent) or not self.is_over
        longest_s = answer_max_s if self.is_over and answer_max_s is not None else CONNECTION_MAX_S
        return now - self._begun > longest_s or (is_awaited and now - self._moved > SILENCE_MAX_S)

    def receive(self) -> None:
        """Read what has come.

        Raises:
            OSError: the client has gone, or does not speak TLS.
        """
        try:
            received = self.socket.recv(_CHUNK)
        except BlockingIOError:
            return
        self._moved = monotonic()
        self._has_ended = not received
        if self._channel is None:
            self.request += received
        else:
            self.request += self._channel.decrypt(received)
            self.send(b"")  # its part of the handshake

    def send(self, content: bytes) -> None:
        """Send what was left, then this; what cannot be sent now is left.

        Raises:
            OSError: the client has gone.
        """
        more = content if self._channel is None else self._channel.encrypt(content)
        if more:
            self._unsent = memoryview(bytes(self._unsent) + more)
        while self._unsent:
            try:
                sent = self.socket.send(self._unsent)
            except BlockingIOError:
                return
            self._moved = monotonic()
            self._unsent = self._unsent[sent:]

    def finish(self) -> None:
        """Tell the client that nothing more comes."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)


class _Channel:
    """TLS between a socket that must not wait and the bytes of a request and an answer."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._to_send, server_side=True)
        self._is_open = False

    def decrypt(self, received: bytes) -> bytes:
        """Return what is in the bytes that have come; none mean that the client has ended.

        Raises:
            SSLError: they are not TLS, or the client refuses the certificate.
        """
        if received:
            self._received.write(received)
        else:
            self._received.write_eof()
        content = b""
        with suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            if not self._is_open:
                self._tls.do_handshake()
                self._is_open = True
            while chunk := self._tls.read(_CHUNK):
                content += chunk
        return content

    def encrypt(self, content: bytes) -> bytes:
        """Return the bytes to send, those of the handshake included."""
        if content:
            self._tls.write(content)
        return self._to_send.read()
