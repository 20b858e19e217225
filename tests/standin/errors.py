"""Errors of the server for those who start it, and the refusals that it answers a request with.

ModelServerError, of `actors.testing`, which has those of settings and addresses
+-- ServerProcessError         a process that ended before it listened
ApiError                       a request that is answered with an error status
+-- BusyError                  one too many for the queue
+-- TooManyError               one too many for a second
BadFrameError                  bytes that are no HTTP, or too many
"""

from __future__ import annotations

from http import HTTPStatus

from actors.testing.settings import ModelServerError


class ServerProcessError(ModelServerError):
    """The server's process ended before it listened; it has said why on standard error."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the model server's process ended with code {code} before it listened")
        self.code = code


class ApiError(Exception):
    """A request is answered with an error status; each API writes it in a body of its own."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class BusyError(ApiError):
    """The queue is full. The two spaces are Ollama's own."""

    def __init__(self) -> None:
        super().__init__(503, "server busy, please try again.  maximum pending requests exceeded")


class TooManyError(ApiError):
    """There were too many calls in a second."""

    def __init__(self) -> None:
        super().__init__(429, "too many requests")


class BadFrameError(Exception):
    """The bytes of a client are no HTTP/1.1 request, or one beyond the limits."""

    def __init__(self, found: str, status: int = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(found)
        self.status = HTTPStatus(status)
