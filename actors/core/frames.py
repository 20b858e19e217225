"""Frames: the layout of a tick's bytes on disk, and the digest that is chained over them.

    frame = length of the payload (u32) | CRC32 (u32) | link (32 bytes) | payload          all little-endian
    CRC32 = the checksum of length, link and payload
    link  = SHA-256(link of the frame before | payload); 32 zero bytes before the first

The CRC finds damage. Links are equal for equal runs, and different from the first tick in which two runs differ. The
journal, the oracle's log and checkpoints have this layout. `docs/runs.md` describes the files.
"""

from __future__ import annotations

from hashlib import sha256
from struct import Struct
from typing import NamedTuple
from zlib import crc32

HEAD = Struct("<II32s")
ORIGIN = bytes(32)
"""The link before the first frame of a tick."""

PAYLOAD_MAX = 2**31
"""The longest payload. A greater length is damage: a tick of a million agents takes about 60 MB."""

DECODE_ERRORS = (ValueError, RecursionError)
"""The errors that decoding raises for a payload that is no msgpack, or not of the expected type."""

_LENGTH = Struct("<I").pack


class Frame(NamedTuple):
    """One frame as it was read; `end`: the offset of the byte after it."""

    payload: bytes
    link: bytes
    end: int


class Damage(NamedTuple):
    """The first bad offset of a file; `is_end` if the file, or the part that was read, ends before the frame does."""

    offset: int
    problem: str
    is_end: bool = False


def link_of(before: bytes, payload: bytes) -> bytes:
    digest = sha256(before)
    digest.update(payload)  # without a copy of a payload that may be large
    return digest.digest()


def encode_frame(link: bytes, payload: bytes) -> bytes:
    return HEAD.pack(len(payload), _crc(len(payload), link, payload), link) + payload


def read_frame(data: bytes, start: int, offset: int) -> Frame | Damage:
    """Return the frame at `start` of `data`, or its damage; `offset`: the position of `start` in the file."""
    left = len(data) - start
    if left < HEAD.size:
        return Damage(offset, f"ends {left} bytes into a frame's head of {HEAD.size}", is_end=True)
    length, crc, link = HEAD.unpack_from(data, start)
    if length > PAYLOAD_MAX:
        return Damage(offset, f"a frame's length is given as {length}")
    if left < HEAD.size + length:
        return Damage(offset, f"ends {left - HEAD.size} bytes into a payload of {length}", is_end=True)
    payload = data[start + HEAD.size : start + HEAD.size + length]
    if _crc(length, link, payload) != crc:
        return Damage(offset, "a frame's CRC32 does not match its content")
    return Frame(payload, link, offset + HEAD.size + length)


def _crc(length: int, link: bytes, payload: bytes) -> int:
    return crc32(payload, crc32(_LENGTH(length) + link))


DIGITS = 32
"""Hexadecimal digits of a digest that are shown: 128 bits are enough to tell runs apart."""


class RunningDigest:
    """The chain of links over the rows of every tick, the same without a journal."""

    def __init__(self) -> None:
        self.link = ORIGIN

    def add(self, payload: bytes) -> bytes:
        """Add one tick's rows to the chain, and return its frame."""
        self.link = link_of(self.link, payload)
        return encode_frame(self.link, payload)

    def hexdigest(self) -> str:
        return digest_of(self.link)


def digest_of(link: bytes) -> str:
    """Return a link as it is shown: its first 32 hexadecimal digits."""
    return link.hex()[:DIGITS]
