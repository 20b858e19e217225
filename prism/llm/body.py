"""The body of a response: unpacked, and never more of it in memory than a limit."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator

import httpx

LARGEST_ANSWER_BYTES = 1_000_000
"""The limit, unpacked. A decision takes some hundred bytes, and the longest reasoning some ten thousand."""

LARGEST_REFUSAL_BYTES = 64_000
"""The limit for the body of an error, of which one line is shown."""

PLAIN = {"Accept-Encoding": "identity"}
"""The header that asks for bodies that are not packed: they are small, and a packed one may unpack to anything."""

_PIECE_BYTES = 65_536
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})
_GZIP_OR_ZLIB = zlib.MAX_WBITS + 32


class AnswerTooLargeError(ValueError):
    """A body that is larger than its limit. The rest of it is not read."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        super().__init__(f"answer larger than {most_bytes / 1e6:g} MB; the rest of it was not read")


class EncodingError(ValueError):
    """A packed body that cannot be unpacked."""

    def __init__(self, encoding: str, problem: str) -> None:
        self.encoding = encoding
        super().__init__(f"the answer comes in the encoding {encoding[:40]!r}, {problem}")


class BoundedBody(httpx.AsyncByteStream):
    """The unpacked body of a response, whose size is counted as it comes.

    A megabyte of gzip can unpack to a gigabyte, so it is unpacked in small pieces. Servers are asked not to pack at
    all; some proxies do so nevertheless.

    Args:
        encoding: its Content-Encoding; empty if there is none.

    Raises:
        AnswerTooLargeError: while it is read, it is larger.
        EncodingError: at once, or while it is read, it cannot be unpacked.
    """

    def __init__(self, source: httpx.AsyncByteStream, encoding: str, most_bytes: int) -> None:
        name = encoding.strip().lower()
        if name not in _PACKED and name not in ("", "identity"):
            raise EncodingError(encoding, "which was not asked for")
        self._source = source
        self._encoding = encoding
        self._most_bytes = most_bytes
        self._unpacker = zlib.decompressobj(_GZIP_OR_ZLIB) if name in _PACKED else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._source:
            for piece in self._unpacked(chunk):
                size += len(piece)
                if size > self._most_bytes:
                    raise AnswerTooLargeError(self._most_bytes)
                yield piece

    def _unpacked(self, chunk: bytes) -> Iterator[bytes]:
        if self._unpacker is None:
            yield chunk
            return
        while chunk:
            try:
                piece = self._unpacker.decompress(chunk, _PIECE_BYTES)
            except zlib.error as error:
                raise EncodingError(self._encoding, f"and cannot be unpacked ({error})") from None
            yield piece
            chunk = self._unpacker.unconsumed_tail

    async def aclose(self) -> None:
        """Close the connection, unless the body has been read to its end."""
        await self._source.aclose()


def bound_body(response: httpx.Response) -> None:
    """Limit the body of a response that has not been read yet.

    Raises:
        EncodingError: it comes in an encoding that was not asked for.
    """
    most_bytes = LARGEST_ANSWER_BYTES if response.is_success else LARGEST_REFUSAL_BYTES
    source = response.stream
    if not isinstance(source, httpx.AsyncByteStream):
        raise TypeError("only the responses of an asynchronous client are read here")
    response.stream = BoundedBody(source, response.headers.pop("Content-Encoding", ""), most_bytes)


async def beginning_of(response: httpx.Response) -> str:
    """Return the text of a bounded body, or as much of its beginning as the limit allows."""
    pieces: list[bytes] = []
    try:
        async for piece in response.aiter_bytes():
            pieces.append(piece)  # noqa: PERF401 - what came before an error is kept
    except ValueError:
        pass  # the status already says what is wrong
    return b"".join(pieces).decode(errors="replace")
