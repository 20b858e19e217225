"""The payloads of ticks, put together from the columns of their messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec
import numpy as np

from actors.core.frames import tick_payload
from actors.persistence.fields import PAD, Bytes, Ints, Texts

_AT_ONCE: Final = 1 << 17
"""Messages that are put together at once, or more if a tick has more."""

_encode = msgspec.msgpack.encode


class Column(Protocol):
    """A column of msgpack values; see `fields.py`."""

    @property
    def widths(self) -> Ints:
        """The bytes that each takes. They are computed on access, which takes memory."""

    def taken(self, places: Any) -> Column:
        """Return a column with those of some places."""

    def write(self, data: Bytes, at: Ints) -> None:
        """Write each to its place."""


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
        last = max(first + 1, int(np.searchsorted(ends, start + _AT_ONCE, side="right")))
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
