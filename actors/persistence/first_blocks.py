"""The blocks of segments of format 1, which earlier versions of PRISM sealed: they are read and no longer written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from actors.persistence.blocks import WHOLE
from actors.persistence.fields import Numbers, Texts, from_planes
from actors.persistence.messages import Column, Kept, payloads_of


class Form(NamedTuple):
    """The form of messages that begin alike: the byte of their array, their kind, and how their fields are kept.

    Args:
        fields: for each field after the tick a letter: `i`, an integer from 0; `v`, a value; `r`, all that is left.
    """

    array: int
    kind: int
    fields: str


def unpack(tick: int, forms: Sequence[Form], blocks: Mapping[str, bytes]) -> Iterator[bytes]:
    """Yield the payloads of ticks from their columns.

    Raises:
        ValueError: these are no columns of such ticks.
        KeyError: one is missing.
    """
    if WHOLE in blocks:
        yield from msgspec.msgpack.decode(blocks[WHOLE], type=list[bytes])
        return
    counts = from_planes(blocks["counts"], "<u4").astype(np.int64)
    kinds = np.frombuffer(blocks["kinds"], np.uint8).astype(np.int64)
    kept = [Kept(form.array, form.kind, [*_columns(form, number, blocks)]) for number, form in enumerate(forms)]
    yield from payloads_of(tick, counts, kept, kinds)


def _columns(form: Form, number: int, blocks: Mapping[str, bytes]) -> Iterator[Column]:
    """Yield the columns of a form."""
    for place, field in enumerate(form.fields):
        name = f"{number}.{place}"
        if field == "i":
            yield Numbers(np.cumsum(from_planes(blocks[name], "<i8")))
        else:
            values = msgspec.msgpack.decode(blocks[f"{name}.values"], type=list[msgspec.Raw])
            yield Texts([bytes(value)[1:] for value in values], from_planes(blocks[name], "<u4").astype(np.int64))
