"""A reader of a run's files that uses only Python's own library and a msgpack decoder."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from struct import unpack_from
from typing import Any
from zlib import crc32

from msgspec.msgpack import decode


def frames(path: Path, magic: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Return the payload and the link of every frame of a file, after checking each CRC32."""
    data, start = path.read_bytes(), len(magic)
    if not data.startswith(magic):
        raise ValueError(f"{path}: does not begin with {magic!r}")
    while start < len(data):
        length, crc, link = unpack_from("<II32s", data.ljust(start + 40, b"\0"), start)
        payload = data[start + 40 : start + 40 + length]
        if len(payload) != length or crc != crc32(data[start : start + 4] + link + payload):
            raise ValueError(f"{path}: damaged at byte {start}")
        yield payload, link
        start += 40 + length


def read_run(run: Path) -> tuple[dict[str, Any], list[Any], str, list[Any]]:
    """Return the header, the answers of every tick, the digest, and the oracle's answers, after checking every link."""
    (header, _), *recorded = frames(run / "journal.prism", b"PRISMJ\r\n")
    ticks: list[Any] = []
    link = bytes(32)
    for payload, following in recorded:
        tick, answers = decode(payload)
        link = sha256(link + payload).digest()
        if link != following or tick != len(ticks):
            raise ValueError(f"{run}: tick {tick} does not follow from the one before it")
        ticks.append(answers)
    logged = (decode(payload) for payload, _ in frames(run / "oracle.log", b"PRISMA\r\n"))
    decided = [record for record in logged if record[0] == 4]
    return decode(header), ticks, link.hex()[:32], decided
