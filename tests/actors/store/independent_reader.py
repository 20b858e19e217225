"""A reader of a run's files that uses only Python's own library, and decoders of msgpack and zstd."""

from collections.abc import Iterator
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from struct import calcsize, pack, unpack_from
from typing import Any, NamedTuple
from zlib import crc32

from msgspec.msgpack import decode
from zstandard import ZstdDecompressor

CODES = {"|u1": "B", "<u2": "H", "<u4": "I", "<u8": "Q", "<i4": "i", "<i8": "q", "<f4": "f", "<f8": "d"}
MADE = ("publish", "reply", "reshare")

Rows = list[dict[str, Any]]
Tick = dict[str, list[Rows]]  # the rows of each wave of each table, `{column: value}`


class Run(NamedTuple):
    """What the files of a run hold."""

    header: dict[str, Any]
    ticks: list[Tick]
    kinds: list[dict[str, str]]
    digest: str
    decided: list[Any]

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Return all rows of a table, each with its tick; updates and questions with the columns of their kind."""
        for tick, waves in enumerate(each.get(table, []) for each in self.ticks):
            for row in (row for wave in waves for row in wave):
                of_kind = self.kinds[row["kind"]] if table in {"updates", "questions"} else {}
                yield {"tick": tick, **row, **of_kind}


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


def take(data: bytes, at: int, dtype: str, count: int) -> tuple[list[Any], int]:
    """Return a column that begins at some byte, and the byte after it."""
    form = f"<{count}{CODES.get(dtype, 'I')}"
    values, at = [*unpack_from(form, data, at)], at + calcsize(form)
    if dtype in CODES:
        return values, at
    ends = [*accumulate(values, initial=at)]
    texts = [data[start:end] for start, end in pairwise(ends)]
    return [(decode(text) if text else None) if dtype == "packed" else text.decode() for text in texts], ends[-1]


def read_tick(payload: bytes, tables: list[Any]) -> tuple[int, int, Tick]:
    """Return the tick, the kinds known before it, and its rows."""
    at = 4 + unpack_from("<I", payload)[0]
    tick, known, parts = decode(payload[4:at])
    found: Tick = {}
    for number, *waves in parts:
        name, shape = tables[number]
        columns: dict[str, list[Any]] = {}
        for column, dtype in shape:
            columns[column], at = take(payload, at, dtype, sum(waves))
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        found[name] = [[next(rows) for _ in range(count)] for count in waves]
    if at != len(payload):
        raise ValueError(f"tick {tick}: {len(payload) - at} bytes too many")
    return tick, known, found


def out_of_planes(data: bytes, width: int, *, ascends: bool = False) -> list[bytes]:
    """Return numbers whose first bytes came first, then their second bytes, and so on."""
    planes = [data[at : at + len(data) // width] for at in range(0, len(data), len(data) // width or 1)]
    numbers = [int.from_bytes(each, "little") for each in zip(*planes, strict=True)]
    if ascends:
        numbers = [*accumulate(numbers, lambda before, each: (before + each) % 256**width)]
    return [number.to_bytes(width, "little") for number in numbers]


def texts(block: bytes, count: int) -> list[bytes]:
    """Return texts: their lengths in planes, then their bytes."""
    lengths = (int.from_bytes(each, "little") for each in out_of_planes(block[: 4 * count], 4))
    ends = [*accumulate(lengths, initial=4 * count)]
    return [block[start:end] for start, end in pairwise(ends)]


def unsealed(block: bytes, form: str, dtype: str, rows: int) -> list[bytes]:
    """Return the bytes of each value of a column."""
    if form == "distinct":
        (count,), rest = unpack_from("<I", block), block[4 + 4 * rows :]
        values = out_of_planes(rest, 8, ascends=True) if dtype in CODES else texts(rest, count)
        return [values[int.from_bytes(each, "little")] for each in out_of_planes(block[4 : 4 + 4 * rows], 4)]
    if dtype in CODES:
        return out_of_planes(block, calcsize(CODES[dtype]), ascends=form == "ascending")
    return texts(block, rows)


def sealed_ticks(path: Path) -> Iterator[bytes]:
    """Return the payload of every tick of a sealed segment."""
    (first, _), *stored = frames(path, b"PRISMS\r\n")
    head = decode(first)
    if head["format"] != 3:
        raise ValueError(f"{path}: has format {head['format']}, not 3")
    expand, heads = ZstdDecompressor().decompress, list[bytes]()
    left: dict[int, list[Iterator[bytes]]] = {}  # for each table the values of each column
    for (table, column, form, *_), (data, _) in zip(head["blocks"], stored, strict=True):
        if table < 0:
            heads = unsealed(expand(data), form, "heap", head["ticks"])
            counts = [(number, sum(waves)) for each in heads for number, *waves in decode(each)[2]]
        else:
            rows = sum(count for number, count in counts if number == table)
            values = unsealed(expand(data), form, head["tables"][table][1][column][1], rows)
            left.setdefault(table, []).append(iter(values))
    for each in heads:
        columns = list[bytes]()
        for table, *waves in decode(each)[2]:
            for (_, dtype), following in zip(head["tables"][table][1], left[table], strict=True):
                found = [next(following) for _ in range(sum(waves))]
                columns += [] if dtype in CODES else [pack("<I", len(text)) for text in found]
                columns += found
        yield b"".join((pack("<I", len(each)), each, *columns))


def read_run(run: Path) -> Run:
    """Return what the files of a run hold, after checking every link."""
    (head, _), *recorded = frames(run / "journal.prism", b"PRISMJ\r\n")
    header = decode(head)
    end = header.get("sealed", {"start": 0, "tick": 0, "link": bytes(32)})
    segments = [path for path in sorted(run.glob("journal-*.seg")) if int(path.stem[8:]) < end["start"]]
    sealed: list[tuple[bytes, bytes | None]] = [(tick, None) for path in segments for tick in sealed_ticks(path)]
    if len(sealed) != end["tick"]:
        raise ValueError(f"{run}: has {len(sealed)} sealed ticks, and {end['tick']} are expected")
    sealed[-1:] = [(tick, end["link"]) for tick, _ in sealed[-1:]]
    ticks, kinds, link = list[Tick](), list[dict[str, str]](), bytes(32)
    for payload, following in [*sealed, *recorded]:
        tick, known, rows = read_tick(payload, header["tables"])
        link = sha256(link + payload).digest()
        if following not in {link, None} or (tick, known) != (len(ticks), len(kinds)):
            raise ValueError(f"{run}: tick {tick} does not follow from the one before it")
        ticks.append(rows)
        kinds += [row for wave in rows.get("kinds", []) for row in wave]
    logged = (decode(payload) for payload, _ in frames(run / "oracle.log", b"PRISMA\r\n"))
    return Run(header, ticks, kinds, link.hex()[:32], [record for record in logged if record[0] == 4])


def read_posts(run: Path) -> tuple[dict[int, Any], list[tuple[int, int]]]:
    """Return `{post: (tick, kind, parent, root, depth)}`, and `(person, post)` for each like, oldest first."""
    found, posts = read_run(run), dict[int, Any]()
    for row in found.rows("posts"):
        post, parent = row["post"], row["parent"]
        root, depth = (post, 0) if parent < 0 else (posts[parent][3], posts[parent][4] + 1)
        posts[post] = (row["tick"], MADE[row["what"]], None if parent < 0 else parent, root, depth)
    return posts, [(row["agent"], row["post"]) for row in found.rows("likes")]
