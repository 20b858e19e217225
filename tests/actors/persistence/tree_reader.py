"""A reader that rebuilds every post, tree and like of a run from its journal, with Python's own library only."""

from pathlib import Path
from struct import calcsize, unpack_from
from typing import Any

FORMS = dict(zip([*range(0xCA, 0xD4), *range(0xD9, 0xE0)], "fdBHIQbhiqBHIHIHI", strict=True))


def decode(data: bytes, at: int) -> tuple[Any, int]:
    """Return the msgpack value at an offset, and the offset after it; a map is a list of keys and values."""
    tag, at = data[at], at + 1
    if not 0x80 <= tag < 0xE0 or 0xC0 <= tag < 0xC4:
        return {0xC0: None, 0xC2: False, 0xC3: True}.get(tag, tag - 256 * (tag >= 0xE0)), at
    number: Any = tag & (31 if tag >= 0xA0 else 15)  # of a short text, list or map, which has its length in its tag
    if tag in FORMS:
        number, at = unpack_from(">" + FORMS[tag], data, at)[0], at + calcsize(">" + FORMS[tag])
    if 0xCA <= tag < 0xD4:
        return number, at
    if 0xA0 <= tag < 0xDC:
        return data[at : at + number].decode(), at + number
    values = [None] * (2 * number if tag < 0x90 or tag >= 0xDE else number)
    for place in range(len(values)):
        values[place], at = decode(data, at)
    return values, at


def read_posts(journal: Path) -> tuple[dict[int, Any], list[tuple[int, int]]]:
    """Return `{post: (tick, kind, parent, root, depth)}`, and `(person, post)` for each like, oldest first."""
    data, posts, likes = journal.read_bytes(), dict[int, Any](), list[tuple[int, int]]()
    _, at = decode(data, 8 + 40)
    while at < len(data):
        (_, messages), at = decode(data, at + 40)
        for _, tick, agent, kind, post, parent, _ in (message for message in messages if message[0] == 7):
            if kind == "like":
                likes.append((agent, post))
            else:
                root, depth = (post, 0) if parent is None else (posts[parent][3], posts[parent][4] + 1)
                posts[post] = (tick, kind, parent, root, depth)
    return posts, likes
