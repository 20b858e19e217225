"""The contexts of questions, which are those of their triggers, in columns: one for each field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np

from prism.rows import Heap, Values
from prism.tables import BOOLEAN, INTEGER, NUMBER, PACKED, TEXT, Column, column

_encode: Final = msgspec.msgpack.Encoder().encode
_KINDS: Final = {int: INTEGER, float: NUMBER, bool: BOOLEAN, str: TEXT}
SEEN: Final = "seen"


class Contexts:
    """The columns of contexts of one type: of a struct that is an array, one for each field; else one that is packed.

    A struct may name a subclass as its `widest`. Then the columns are those of the subclass, and the ones that the
    struct does not have stay empty: so runs with either have the same columns.

    Args:
        context_type: the type; None for no context.
    """

    def __init__(self, context_type: Any) -> None:
        self._type = context_type
        is_struct = isinstance(context_type, type) and issubclass(context_type, msgspec.Struct)
        plain = is_struct and context_type.__struct_config__.array_like and not context_type.__struct_config__.tag
        self._fields = msgspec.structs.fields(getattr(context_type, "widest", context_type)) if plain else ()
        self._own = len(msgspec.structs.fields(context_type)) if plain else 0
        self._kinds = [_KINDS.get(each.type, PACKED) for each in self._fields]
        self._decoders = [msgspec.msgpack.Decoder(each.type).decode for each in self._fields]
        self._decode = msgspec.msgpack.Decoder(context_type).decode

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, which follow those of every question."""
        if not self._fields:
            return (column("context", PACKED, "what the agent knows of the case"),)
        return (
            column(SEEN, BOOLEAN, "whether the agent has something in view; else the columns after it mean nothing"),
            *(
                column(each.name, kind, "a field of the thing in view")
                for each, kind in zip(self._fields, self._kinds, strict=True)
            ),
        )

    def values(self, contexts: Sequence[Any]) -> tuple[Values, ...]:
        """Return the columns of contexts, of which any may be None."""
        if not self._fields:
            return (Heap.of([_encode(each) for each in contexts]),)
        seen = np.array([each is not None for each in contexts], dtype=np.uint8)
        found: list[Values] = [seen]
        for field, kind in zip(self._fields[: self._own], self._kinds, strict=False):
            values = [None if each is None else getattr(each, field.name) for each in contexts]
            if kind is TEXT:
                found.append(Heap.of([b"" if each is None else each.encode() for each in values]))
            elif kind is PACKED:
                found.append(Heap.of([_encode(each) for each in values]))
            else:
                dtype = {INTEGER: np.int64, NUMBER: np.float64, BOOLEAN: np.uint8}[kind]
                found.append(np.array([0 if each is None else each for each in values], dtype=dtype))
        return *found, *self.absent(len(contexts))

    def absent(self, count: int) -> list[Heap]:
        """Return the columns of fields that only the widest struct has."""
        return [Heap.same(b"", count) for _ in self._fields[self._own :]]

    def at(self, columns: Sequence[Values], place: int) -> Any:
        """Return the context in a row."""
        if not self._fields:
            return self._decode(columns[0][place])
        if not columns[0][place]:
            return None
        values = []
        for kind, decode, of_field in zip(self._kinds[: self._own], self._decoders, columns[1:], strict=False):
            value: Any = of_field[place]
            if kind is TEXT:
                value = value.decode()
            elif kind is PACKED:
                value = decode(value)
            else:
                value = bool(value) if kind is BOOLEAN else value.item()
            values.append(value)
        return self._type(*values)
