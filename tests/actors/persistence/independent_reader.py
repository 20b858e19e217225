"""A reader of a run's files that uses only Python's own library and a msgpack decoder."""

from collections.abc import Iterator
from hashlib import sha256
from itertools import accumulate, chain, islice
from pathlib import Path
from struct import unpack_from
from typing import Any
from zlib import crc32, decompress

from msgspec.msgpack import decode, encode


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


def numbers(planes: bytes, width: int) -> list[int]:
    """Return the little-endian integers whose first bytes come first, then their second bytes, and so on."""
    count = len(planes) // width
    return [int.from_bytes(planes[place::count], "little", signed=width == 8) for place in range(count)]


def sealed_ticks(path: Path) -> Iterator[bytes]:
    """Return the payload of every tick of a sealed segment."""
    head, *rest, _ = (decode(payload) for payload, _ in frames(path, b"PRISMS\r\n"))
    blocks = {name: decompress(data, -15) for name, data in rest}
    columns = []
    for number, (_, _, fields) in enumerate(head["forms"]):
        column = []
        for name, field in ((f"{number}.{place}", field) for place, field in enumerate(fields)):
            values = None if field == "i" else decode(blocks[f"{name}.values"])
            read = numbers(blocks[name], 4 if values else 8)
            column.append([values[code] for code in read] if values else [[value] for value in accumulate(read)])
        columns.append(zip(*column, strict=True))
    kinds = iter(blocks.get("kinds", b""))
    for tick, count in enumerate(numbers(blocks.get("counts", b""), 4), head["tick"]):
        of = [(head["forms"][kind][1], chain(*next(columns[kind]))) for kind in islice(kinds, count)]
        messages = (encode([kind, tick, *fields]) for kind, fields in of)
        yield b"\x92" + encode(tick) + b"\xdd" + count.to_bytes(4, "big") + b"".join(messages)
    yield from decode(blocks.get("payloads", b"\x90"))


def read_run(run: Path) -> tuple[dict[str, Any], list[Any], str, list[Any]]:
    """Return the header, the answers of every tick, the digest, and the oracle's answers, after checking every link."""
    (head, _), *recorded = frames(run / "journal.prism", b"PRISMJ\r\n")
    header = decode(head)
    end = header.get("sealed", {"start": 0, "tick": 0, "link": bytes(32)})
    segments = [path for path in sorted(run.glob("journal-*.seg")) if int(path.stem[8:]) < end["start"]]
    sealed: list[tuple[bytes, bytes | None]] = [(tick, None) for path in segments for tick in sealed_ticks(path)]
    if len(sealed) != end["tick"]:
        raise ValueError(f"{run}: has {len(sealed)} sealed ticks, and {end['tick']} are expected")
    sealed[-1:] = [(tick, end["link"]) for tick, _ in sealed[-1:]]
    ticks: list[Any] = []
    link = bytes(32)
    for payload, following in [*sealed, *recorded]:
        tick, answers = decode(payload)
        link = sha256(link + payload).digest()
        if following not in {link, None} or tick != len(ticks):
            raise ValueError(f"{run}: tick {tick} does not follow from the one before it")
        ticks.append(answers)
    logged = (decode(payload) for payload, _ in frames(run / "oracle.log", b"PRISMA\r\n"))
    decided = [record for record in logged if record[0] == 4]
    return header, ticks, link.hex()[:32], decided
