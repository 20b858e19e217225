"""What the server refuses, and the status it says it with."""

__all__ = ["ApiError", "BadFrameError", "BusyError"]


class ApiError(Exception):
    """A request the server answers with an error status; each API has its own error body."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class BusyError(ApiError):
    """The queue is full. The two spaces are Ollama's own."""

    def __init__(self) -> None:
        super().__init__(503, "server busy, please try again.  maximum pending requests exceeded")


class BadFrameError(Exception):
    """The bytes are not an HTTP/1.1 request."""
