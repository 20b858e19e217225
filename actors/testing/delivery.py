"""Delivery of a response, whole or spoilt."""

from __future__ import annotations

import asyncio
from typing import Protocol

from actors.testing.faults import Fault
from actors.testing.wire import Response

_GARBAGE = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\xde\xad\xbe\xef\r\n\r\n"


class Link(Protocol):
    """The raw side of a connection."""

    @property
    def closes(self) -> bool:
        """The client asked to close after this response."""

    def write(self, data: bytes) -> None:
        """Send bytes, buffered if need be."""

    def close(self) -> None:
        """Send what is buffered, then close."""

    def reset(self) -> None:
        """Drop the connection with an RST."""


async def deliver(link: Link, response: Response, fault: Fault | None = None, drip_s: float = 0.0) -> None:
    """Send the response, as far as the fault lets it."""
    body = b"".join(response.pieces())
    if fault is Fault.RESET:
        link.reset()
    elif fault is Fault.GARBAGE:
        link.write(_GARBAGE)
        link.close()
    elif fault is Fault.CUT:
        link.write(response.head() + body[: len(body) // 2])
        link.close()
    elif fault is Fault.DRIP:
        link.write(response.head(close=link.closes))
        for i in range(len(body)):
            link.write(body[i : i + 1])
            await asyncio.sleep(drip_s)
        _end(link)
    else:
        link.write(response.head(close=link.closes) + body)
        _end(link)


async def stream(link: Link, response: Response, over_s: float) -> None:
    """Send the response piece by piece, over this time."""
    link.write(response.head(close=link.closes))
    pieces = response.pieces()
    for piece in pieces:
        link.write(piece)
        await asyncio.sleep(over_s / len(pieces))
    _end(link)


def _end(link: Link) -> None:
    if link.closes:
        link.close()
