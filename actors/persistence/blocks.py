"""Column blocks: the messages of many ticks, field by field, as a sealed segment of the journal keeps them.

A message is taken apart without being decoded, and put together again to the same bytes. Its shape and its first text
are its symbol: `histories.py` stores which agent says which symbol. All other fields are columns of their shape. If a
column follows from another column, as a post's text from its number, its value is stored once for each value of the
other.

A payload without the form of a tick's messages is kept as it is, in one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from actors.core.frames import DECODE_ERRORS, tick_payload
from actors.persistence.fields import PAD, Bytes, Floats, Ints, Numbers, Texts, UnusualError, by_first
from actors.persistence.histories import Said, tell, told
from actors.persistence.shapes import Collected, Item, Shapes, head_of
from actors.persistence.streams import HALF, Blocks, Stream, StreamReader, StreamWriter

WHOLE: Final = "payloads"
"""The block with the payloads of all ticks as they are, if they cannot be taken apart."""

_AT_ONCE: Final = 4_000_000
"""Bytes of payloads that are taken apart at once, at least."""
_SYMBOLS_MAX: Final = 4096
"""Different values of a first field that is part of the symbol."""

_TOGETHER: Final = 1 << 17
"""Messages that are put together at once, or more if a tick has more."""

Column = Numbers | Floats | Texts

_raws = msgspec.msgpack.Decoder(tuple[int, list[msgspec.Raw]]).decode
_encode = msgspec.msgpack.encode


class Field(NamedTuple):
    """A field of the messages of one form.

    Args:
        letter: `n`, a number; `f`, a floating-point number; `t`, one of several values; `s`, one of several values that
            the symbol implies.
        streams: one for integers; two for numbers above 32 bits, whose lower 24 bits come second; no stream if the
            symbol implies the value.
    """

    letter: str
    streams: tuple[Stream, ...]


class Form(NamedTuple):
    """The form of messages: the byte of their array, their kind, and the fields after the agent.

    Args:
        items: for each field how it is kept, and where an array begins how many fields it has.
    """

    array: int
    kind: int
    items: tuple[int | Field, ...]


def pack(tick: int, payloads: Callable[[], Iterable[bytes]]) -> tuple[list[Form], Blocks]:
    """Return the forms of the messages of consecutive ticks, and their columns.

    Args:
        payloads: gives all payloads, each time it is called.
    """
    try:
        forms, blocks = _packed(tick, payloads())
        again = unpack(tick, forms, blocks)
        if all(one == other for one, other in zip(payloads(), again, strict=True)):
            return forms, blocks
    except UnusualError:
        pass
    return [], {WHOLE: _encode([*payloads()])}


def unpack(tick: int, forms: Sequence[Form], blocks: Mapping[str, bytes]) -> Iterator[bytes]:
    """Yield the payloads of ticks from their columns.

    Raises:
        ValueError: these are no columns of such ticks.
        KeyError: one is missing.
    """
    if WHOLE in blocks:
        yield from msgspec.msgpack.decode(blocks[WHOLE], type=list[bytes])
        return
    yield from payloads_of(tick, *_kept(forms, blocks))


def _kept(forms: Sequence[Form], blocks: Mapping[str, bytes]) -> tuple[Ints, list[Kept], Ints]:
    """Return the number of messages of each tick, the columns of each form, and the form of each message."""
    symbols = list[int]()
    for number, form in enumerate(forms):
        first = form.items[0] if form.items else 0
        says = isinstance(first, Field) and first.letter == "s"
        symbols.append(len(_texts(blocks[_values(number, 0)])) if says else 1)
    bounds = np.append(0, np.cumsum(symbols, dtype=np.int64))
    said = told(blocks, int(bounds[-1]))
    of = np.repeat(np.arange(len(forms), dtype=np.int16), symbols)[said.symbols]
    kept = list[Kept]()
    for number, form in enumerate(forms):
        mine = np.flatnonzero(of == number)
        agents, codes = said.agents[mine], said.symbols[mine] - int(bounds[number])
        streams = StreamReader(number, agents, said.ticks[mine], blocks)
        kept.append(Kept(form.array, form.kind, [Numbers(agents), *_columns(number, form, blocks, streams, codes)]))
    return said.counts, kept, of


def _columns(
    number: int, form: Form, blocks: Mapping[str, bytes], streams: StreamReader, codes: Ints
) -> Iterator[Column]:
    """Yield the columns of a form after the agent.

    Args:
        codes: for each message, the place of its symbol's value among the different values of the form.
    """
    for place, item in enumerate(form.items):
        if isinstance(item, int):
            yield Texts([head_of(item)], np.zeros(len(codes), dtype=np.int64))
            continue
        parts = [streams.take(stream) for stream in item.streams]
        if item.letter == "n":
            yield Numbers(parts[0] if len(parts) == 1 else parts[0] << HALF | parts[1])
        elif item.letter == "f":
            yield Floats(parts[0])
        else:
            texts = _texts(blocks[_values(number, place)])
            yield Texts(texts, parts[0] if parts else codes)


class Kept(NamedTuple):
    """The messages of one form, in their order.

    Args:
        array: the byte of their array; `kind`: the byte after it.
    """

    array: int
    kind: int
    columns: Sequence[Column]


def payloads_of(tick: int, counts: Ints, forms: Sequence[Kept], of: Ints) -> Iterator[bytes]:
    """Yield the payloads of ticks.

    Args:
        counts: the number of messages in each.
        of: the form of each message, as its place among `forms`.
    """
    ends = np.cumsum(counts)
    taken, first, start = [0] * len(forms), 0, 0
    while first < len(counts):
        last = max(first + 1, int(np.searchsorted(ends, start + _TOGETHER, side="right")))
        part, parts = of[start : int(ends[last - 1])], list[Kept]()
        for number, (form, count) in enumerate(
            zip(forms, np.bincount(part, minlength=len(forms)).tolist(), strict=True)
        ):
            those = slice(taken[number], taken[number] + count)
            parts.append(form._replace(columns=[column.taken(those) for column in form.columns]))
            taken[number] += count
        yield from _together(tick + first, counts[first:last], parts, part)
        first, start = last, int(ends[last - 1])


def _together(tick: int, counts: Ints, forms: Sequence[Kept], of: Ints) -> Iterator[bytes]:
    heads = [tick_payload(tick + number, (), count) for number, count in enumerate(counts.tolist())]
    ticks = Texts([_encode(tick + number) for number in range(len(counts))], np.repeat(np.arange(len(counts)), counts))
    widths = 2 + ticks.widths
    places = [np.flatnonzero(of == number) for number in range(len(forms))]
    for form, mine in zip(forms, places, strict=True):
        widths[mine] += sum(column.widths for column in form.columns)
    head_sizes = np.array([len(head) for head in heads])
    bounds = np.append(0, np.cumsum(head_sizes) + np.append(0, np.cumsum(widths))[np.cumsum(counts)])
    starts = np.cumsum(widths) - widths + np.repeat(np.cumsum(head_sizes), counts)
    data: Bytes = np.zeros(int(bounds[-1]) + PAD, dtype=np.uint8)
    for head, start in zip(heads, bounds.tolist(), strict=False):
        data[start : start + len(head)] = np.frombuffer(head, np.uint8)
    for form, mine in zip(forms, places, strict=True):
        at = starts[mine]
        data[at], data[at + 1] = form.array, form.kind
        at = at + 2
        for column in (ticks.taken(mine), *form.columns):
            column.write(data, at)
            at = at + column.widths
    for start, end in zip(bounds.tolist(), bounds[1:].tolist(), strict=False):
        yield data[start:end].tobytes()


def _packed(tick: int, payloads: Iterable[bytes]) -> tuple[list[Form], Blocks]:
    shapes, counts = Shapes(), list[int]()
    agents, of = [np.zeros(0, np.int32)], [np.zeros(0, np.int16)]
    part, size, rest = list[bytes](), 0, iter(payloads)
    while (payload := next(rest, None)) is not None or part:
        if payload is not None:
            part.append(payload)
            size += len(payload)
            if size < _AT_ONCE:
                continue
        found = found_in(tick + len(counts), part)
        counts += found.counts
        of_part = _by_kind(found, shapes)
        agents.append(of_part[0])
        of.append(of_part[1])
        part, size = [], 0
    writer = _Writer(np.array(counts, dtype=np.int64), np.concatenate(agents), np.concatenate(of))
    forms = [writer.form(number, collected) for number, collected in enumerate(shapes.found)]
    said = Said.of(writer.counts, writer.agents, writer.symbols)
    return forms, {**tell(said, writer.symbols_count), **writer.blocks}


class _Writer:
    """The blocks of a segment, as they are made.

    Args:
        counts: the messages of each tick.
        agents: the agent of each message; `of`: the place of its shape.
    """

    def __init__(self, counts: Ints, agents: Ints, of: Ints) -> None:
        self.counts = counts
        self.agents = agents
        self.symbols = np.zeros(len(agents), dtype=np.int32)
        self.symbols_count = 0
        self.blocks: Blocks = {}
        self._of = of
        self._ticks = np.repeat(np.arange(len(counts), dtype=np.int32), counts)

    def form(self, number: int, collected: Collected) -> Form:
        """Return the form of messages of one shape, and put them into blocks."""
        mine = np.flatnonzero(self._of == number)
        streams = StreamWriter(number, self.agents[mine], self._ticks[mine], self.blocks)
        items, column = list[int | Field](), 0
        self.symbols[mine] = self.symbols_count
        said = 1
        for place, item in enumerate(collected.shape.items):
            if isinstance(item, int):
                items.append(item)
                continue
            values, letter = collected.values(column), collected.letters[column]
            if letter == "t":
                texts = collected.texts(column)
                self._put_texts(_values(number, place), texts, item)
                if not items and len(texts) <= max(1, min(_SYMBOLS_MAX, len(mine) // 2)):
                    self.symbols[mine] += values
                    said = len(texts)
                    items.append(Field("s", ()))
                else:
                    items.append(Field("t", (streams.put(values),)))
            elif letter == "f":
                items.append(self._float(values, _values(number, place), streams))
            else:
                items.append(Field("n", streams.put_number(values)))
            column += 1
        self.symbols_count += said
        return Form(collected.shape.array, collected.shape.kind, tuple(items))

    def _float(self, bits: Ints, name: str, streams: StreamWriter) -> Field:
        """Return the field of floating-point numbers; if few of them differ, they are kept as one of several values."""
        first, codes = by_first(bits)
        if len(first) > len(bits) // 2:
            return Field("f", (streams.put(bits),))
        data = bits[first].astype(">i8").tobytes()
        self._put_texts(name, [b"\xcb" + data[at : at + 8] for at in range(0, len(data), 8)], "t1")
        return Field("t", (streams.put(codes),))

    def _put_texts(self, name: str, texts: Sequence[bytes], item: Item) -> None:
        array = head_of(int(str(item)[1:]))
        self.blocks[name] = b"\xdd" + len(texts).to_bytes(4, "big") + b"".join(array + text for text in texts)


class Found(NamedTuple):
    """The messages of consecutive ticks, where they are found.

    Args:
        data: the payloads, and some bytes more.
        counts: the messages of each tick.
        starts: where each message begins; `ends`: where it ends.
        tick_widths: the bytes that its tick takes.
    """

    data: Bytes
    counts: list[int]
    starts: Ints
    ends: Ints
    tick_widths: Ints


def found_in(tick: int, payloads: Sequence[bytes]) -> Found:
    """Return the messages of ticks.

    Raises:
        UnusualError: these are no payloads of such ticks.
    """
    counts, sizes, of_body = list[int](), list[int](), list[int]()
    at = 0
    for number, payload in enumerate(payloads):
        widths = _widths_of(tick + number, payload)
        of_body.append(at + len(payload) - sum(widths))
        counts.append(len(widths))
        sizes += widths
        at += len(payload)
    data = np.frombuffer(b"".join([*payloads, bytes(PAD)]), np.uint8)
    width, count = np.array(sizes, dtype=np.int64), np.array(counts, dtype=np.int64)
    before = np.append(0, np.cumsum(width))[np.cumsum(count) - count]
    starts = np.cumsum(width) - width + np.repeat(np.array(of_body, dtype=np.int64) - before, count)
    tick_widths = np.repeat([len(_encode(tick + number)) for number in range(len(payloads))], count)
    return Found(data, counts, starts, starts + width, tick_widths)


def _by_kind(messages: Found, shapes: Shapes) -> tuple[Ints, Ints]:
    data, _, starts, ends, tick_widths = messages
    agents, of = np.zeros(len(starts), dtype=np.int32), np.zeros(len(starts), dtype=np.int16)
    found, kinds = np.unique(data[starts].astype(np.int64) << 8 | data[starts + 1], return_inverse=True)
    for number, code in enumerate(found.tolist()):
        array, kind = code >> 8, code & 255
        if array >> 4 != 9 or array & 15 < 4 or kind & 0x80:
            raise UnusualError
        mine = np.flatnonzero(kinds == number)
        at = starts[mine] + 2 + tick_widths[mine]
        column = Numbers.read(data, at)
        if (column.values >> 31).any():
            raise UnusualError
        agents[mine] = column.values
        of[mine] = shapes.add(data, at + column.widths, ends[mine], array, kind)
    return agents, of


def _widths_of(tick: int, payload: bytes) -> list[int]:
    try:
        recorded, messages = _raws(payload)
    except DECODE_ERRORS:
        raise UnusualError from None
    if not payload.startswith(tick_payload(tick, (), len(messages))) or recorded != tick:
        raise UnusualError
    return [len(bytes(message)) for message in messages]


def _texts(data: bytes) -> list[bytes]:
    """Return the different values of a block, each without the head of its array."""
    values = [bytes(value) for value in msgspec.msgpack.decode(data, type=list[msgspec.Raw])]
    return [value[3 if value[:1] == b"\xdc" else 1 :] for value in values]


def _values(number: int, place: int) -> str:
    return f"{number}.{place}.values"
