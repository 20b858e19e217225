"""A reader of a run's files that uses only Python's own library and a msgpack decoder."""

from collections.abc import Iterator
from hashlib import sha256
from itertools import accumulate, islice
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
    return [int.from_bytes(planes[place::count], "little") for place in range(count)]


def said(blocks: dict[str, bytes], width: int) -> Iterator[list[tuple[int, int]]]:
    """Return the agent and the symbol of every message of each tick."""
    widths = {"others": 4, "gaps": 4, "symbols": width}
    others, gaps, symbols = (iter(numbers(blocks[name], widths[name])) for name in widths)
    bits = (byte >> place & 1 for byte in blocks["bits"] for place in range(8))
    ranks = {tuple(context): rank for rank, context in enumerate(decode(blocks["contexts"]))}
    last: dict[int, tuple[int, int]] = {}
    for tick, runs in enumerate(numbers(blocks["runs"], 4)):
        messages: list[tuple[int, int]] = []
        for run in range(runs):
            now = {agent: (symbol, tick - then, min(run, 3)) for agent, (symbol, then) in last.items()}
            foreseen = sorted((ranks[context], agent) for agent, context in now.items() if context in ranks)
            agents = [agent for _, agent in foreseen if next(bits)]
            agents += accumulate(islice(gaps, next(others)))
            spoken = sorted([(agent, next(symbols)) for agent in agents])
            last |= {agent: (symbol, tick) for agent, symbol in spoken}
            messages += spoken
        yield messages


def stream(kept: list[int], base: int, keys: list[int], columns: list[list[int]]) -> list[int]:
    """Return a column of integers."""
    found: dict[tuple[int, ...], int] = {}
    values, left = list[int](), iter(kept)
    for place in range(len(columns[0])):
        key = tuple(columns[each][place] for each in keys) if keys else (place,)
        if key not in found:
            found[key] = next(left, 0)
        values.append(found[key] if base < 0 else (found[key] + columns[base][place]) % 2**32)
    return values


def parts(number: int, items: list[Any], blocks: dict[str, bytes], columns: list[list[int]]) -> Iterator[list[bytes]]:
    """Return what follows the agent in every message of a form; the columns are its symbol, the tick and the agent."""
    symbols, *columns = columns
    for place, item in enumerate(items):
        if isinstance(item, int):
            yield [bytes([0x90 | item]) if item < 16 else b"\xdc" + item.to_bytes(2, "big")] * len(symbols)
            continue
        letter, streams = item
        for width, base, keys in streams:
            kept = numbers(blocks[f"{number}.{len(columns)}"], width) if width else []
            columns.append(stream(kept, base, keys, columns))
        if letter == "n":
            halves = zip(*columns[len(columns) - len(streams) :], strict=True)
            yield [encode(half[0] if len(half) == 1 else half[0] << 24 | half[1]) for half in halves]
        elif letter == "f":
            yield [b"\xcb" + bits.to_bytes(8, "big") for bits in columns[-1]]
        else:
            values = [b"".join(map(encode, value)) for value in decode(blocks[f"{number}.{place}.values"])]
            yield [values[code] for code in (columns[-1] if letter == "t" else symbols)]


def messages_of(forms: list[Any], blocks: dict[str, bytes], first: int) -> Iterator[list[bytes]]:
    """Return the messages of every tick of a segment."""
    symbols = list[tuple[int, int]]()  # the form of each symbol, and its place among those of the form
    for number, (_, _, items) in enumerate(forms):
        says = items and not isinstance(items[0], int) and items[0][0] == "s"
        symbols += [(number, place) for place in range(len(decode(blocks[f"{number}.0.values"])) if says else 1)]
    ticks = [*said(blocks, 1 if len(symbols) <= 1 << 8 else 2 if len(symbols) <= 1 << 16 else 4)]
    columns: list[list[list[int]]] = [[[], [], []] for _ in forms]
    for tick, spoken in enumerate(ticks):
        for agent, symbol in spoken:
            number, place = symbols[symbol]
            for column, value in zip(columns[number], (place, tick, agent), strict=True):
                column.append(value)
    rest = [zip(*parts(number, form[2], blocks, columns[number]), strict=True) for number, form in enumerate(forms)]
    for tick, spoken in enumerate(ticks, first):
        of_tick = ((forms[symbols[symbol][0]], agent, next(rest[symbols[symbol][0]])) for agent, symbol in spoken)
        yield [bytes(form[:2]) + encode(tick) + encode(agent) + b"".join(tail) for form, agent, tail in of_tick]


def sealed_ticks(path: Path) -> Iterator[bytes]:
    """Return the payload of every tick of a sealed segment."""
    head, *sealed, _ = (decode(payload) for payload, _ in frames(path, b"PRISMS\r\n"))
    if head["format"] != 2:
        raise ValueError(f"{path}: has format {head['format']}, not 2")
    blocks = {name: decompress(data, -15) for name, data in sealed}
    if "payloads" in blocks:
        yield from decode(blocks["payloads"])
        return
    for tick, messages in enumerate(messages_of(head["forms"], blocks, head["tick"]), head["tick"]):
        yield b"\x92" + encode(tick) + b"\xdd" + len(messages).to_bytes(4, "big") + b"".join(messages)


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


def read_posts(run: Path) -> tuple[dict[int, Any], list[tuple[int, int]]]:
    """Return `{post: (tick, kind, parent, root, depth)}`, and `(person, post)` for each like, oldest first."""
    posts, likes = dict[int, Any](), list[tuple[int, int]]()
    messages = (each for answers in read_run(run)[1] for each in answers)
    for _, tick, agent, kind, post, parent, _ in (each for each in messages if each[0] == 7):
        if kind == "like":
            likes.append((agent, post))
        else:
            root, depth = (post, 0) if parent is None else (posts[parent][3], posts[parent][4] + 1)
            posts[post] = (tick, kind, parent, root, depth)
    return posts, likes
