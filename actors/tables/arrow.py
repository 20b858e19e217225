"""Columns of Python for DuckDB: a stream of Arrow, read block by block, without a copy and without pyarrow; and SQL.

Source: the Arrow C data and stream interfaces, https://arrow.apache.org/docs/format/CStreamInterface.html.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p, cast, pointer, py_object
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np

from prism.rows import Heap, part_of
from prism.tables import Kind

TYPES: Final[Mapping[Kind, str]] = {
    Kind.INTEGER: "BIGINT",
    Kind.NUMBER: "DOUBLE",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TIME: "TIMESTAMP",
    **dict.fromkeys((Kind.NAME, Kind.TEXT, Kind.JSON, Kind.PACKED), "VARCHAR"),
}
"""The type of a column; a packed one is JSON."""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def zoned(time: str) -> str:
    """Return the expression for a time in UTC as one with a zone. A cast would take ten times as long."""
    return f"make_timestamptz(epoch_us({time}))"


Columns = Mapping[str, Any]
"""`{column: its values}` of some rows: an array, a `Heap`, a `Coded`, or a list with None for no value."""


class Coded(NamedTuple):
    """A column of few different texts: the number of each row's text, -1 for no value."""

    codes: Any
    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.codes)


class _Schema(Structure):
    """A type, of a column or of rows."""


class _Array(Structure):
    """The values of a column, or rows."""


class _Stream(Structure):
    """A source of rows."""


_Release = CFUNCTYPE(None, c_void_p)
_Schema._fields_ = [
    *(("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64)),
    *(("children", POINTER(POINTER(_Schema))), ("dictionary", POINTER(_Schema))),
    *(("release", _Release), ("private_data", c_void_p)),
]
_Array._fields_ = [
    *(("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64)),
    *(("n_children", c_int64), ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(_Array)))),
    *(("dictionary", POINTER(_Array)), ("release", _Release), ("private_data", c_void_p)),
]
_Take = CFUNCTYPE(c_int, c_void_p, c_void_p)
_Stream._fields_ = [
    *(("get_schema", _Take), ("get_next", _Take), ("get_last_error", CFUNCTYPE(c_void_p, c_void_p))),
    *(("release", _Release), ("private_data", c_void_p)),
]
_capsule: Final = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
PART_ROWS: Final = 1 << 17
_NULLABLE, _IO_ERROR = 2, 5
_FORMATS: Final = {
    "BIGINT": (b"l", np.int64),
    "INTEGER": (b"i", np.int32),
    "SMALLINT": (b"s", np.int16),
    "DOUBLE": (b"g", np.float64),
    "BOOLEAN": (b"b", np.bool_),
    "TIMESTAMP": (b"tsu:", np.int64),
    "VARCHAR": (b"U", np.int64),
    "BLOB": (b"Z", np.int64),
}
"""`{type of DuckDB: its format in Arrow, and the type of its numbers}`."""
_CODED: Final = b"i"
_FAILED: Final = ctypes.create_string_buffer(b"its rows cannot be read")
_held, _numbers = dict[int, Any](), count(1)
"""Objects that DuckDB has not yet released: Python must keep them until then."""


def _releaser(kind: type[Structure]) -> Any:
    def release(address: int) -> None:
        released: Any = cast(address, POINTER(kind)).contents
        _held.pop(released.private_data, None)
        released.release = _Release()

    return _Release(release)


_release_schema, _release_array, _release_stream = map(_releaser, (_Schema, _Array, _Stream))


def _hold(*values: Any) -> int:
    _held[number := next(_numbers)] = values
    return number


class Stream:
    """Rows as DuckDB reads them: each scan asks for the blocks anew.

    `blocks`: returns the rows, some at a time; a column that is not there has no values. `coded`: the `Coded` ones.
    """

    def __init__(
        self, types: Mapping[str, str], blocks: Callable[[], Iterable[Columns]], coded: Iterable[str] = ()
    ) -> None:
        self._types, self._blocks, self._coded = types, blocks, {*coded}
        self.error: BaseException | None = None
        """The error that ended the last scan, which DuckDB tells only in words."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:  # the protocol has it
        blocks: Iterator[Columns] = iter(self._blocks())

        def get_schema(_: int, out: int) -> int:
            self._describe(cast(out, POINTER(_Schema)).contents)
            return 0

        def get_next(_: int, out: int) -> int:
            array = cast(out, POINTER(_Array)).contents
            try:
                if (block := next(blocks, None)) is None:
                    array.release = _Release()
                else:
                    self._fill(array, block)
            except BaseException as error:  # noqa: BLE001  # no exception crosses C: the caller of DuckDB raises it
                self.error = error
                return _IO_ERROR
            return 0

        stream = _Stream()
        calls = _Take(get_schema), _Take(get_next), CFUNCTYPE(c_void_p, c_void_p)(lambda _: ctypes.addressof(_FAILED))
        stream.get_schema, stream.get_next, stream.get_last_error = calls
        stream.release, stream.private_data = _release_stream, _hold(calls, stream)
        return _capsule(ctypes.addressof(stream), b"arrow_array_stream", None)

    def _describe(self, schema: Any) -> None:
        children = list[Any]()
        for name, kind in self._types.items():
            child: Any = _Schema(format=_FORMATS[kind][0], name=name.encode(), flags=_NULLABLE, release=_release_schema)
            if name in self._coded:
                child.dictionary = pointer(_Schema(format=child.format, flags=_NULLABLE, release=_release_schema))
                child.format = _CODED
            children.append(child)
        of_children = (POINTER(_Schema) * len(children))(*map(pointer, children))
        schema.format, schema.name, schema.metadata, schema.flags = b"+s", b"", None, 0
        schema.n_children, schema.children, schema.dictionary = len(children), of_children, None
        schema.release, schema.private_data = _release_schema, _hold(children, of_children)

    def _fill(self, array: Any, block: Columns) -> None:
        columns, kept, rows = list[Any](), list[Any](), len(next(iter(block.values())))
        for name, kind in self._types.items():
            values = block.get(name)
            if values is None:
                nothing = np.zeros(rows, np.int64)
                none = Heap(np.empty(0, np.uint8), nothing) if kind in {"VARCHAR", "BLOB"} else nothing
                columns.append(_array(kept, none, _FORMATS[kind][1], nothing > 0))
            elif name in self._coded:
                made = _array(kept, values.codes, _FORMATS["INTEGER"][1], values.codes >= 0)
                texts = _array(kept, Heap.of([each.encode() for each in values.texts]), np.int64)
                made.dictionary = pointer(texts)
                columns.append(made)
            else:
                columns.append(_array(kept, *_plain(values, kind)))
        of_columns = (POINTER(_Array) * len(columns))(*map(pointer, columns))
        buffers = (c_void_p * 1)(None)
        array.length, array.null_count, array.offset, array.n_buffers = columns[0].length, 0, 0, 1
        array.n_children, array.buffers, array.children, array.dictionary = len(columns), buffers, of_columns, None
        array.release, array.private_data = _release_array, _hold(columns, of_columns, buffers, kept)


def parts_of(columns: Columns) -> Iterator[Columns]:
    """Yield rows some at a time: what DuckDB does not take as it is, is copied."""
    for start in range(0, len(next(iter(columns.values()))), PART_ROWS):
        rows = slice(start, start + PART_ROWS)
        yield {
            name: Coded(values.codes[rows], values.texts)
            if isinstance(values, Coded)
            else part_of(values, rows.start, rows.stop)
            for name, values in columns.items()
        }


def _plain(values: Any, kind: str) -> tuple[Any, Any, Any]:
    """Return a column as an array or a heap, the type of its numbers, and whether each has a value; None if all do."""
    dtype = _FORMATS[kind][1]
    if isinstance(values, Heap):
        return values, dtype, None
    if isinstance(values, np.ndarray) and values.dtype != object:
        if kind == "VARCHAR":
            return Heap.of([str(each).encode() for each in values.tolist()]), dtype, None
        return values, dtype, ~np.isnan(values) if values.dtype.kind == "f" else None
    has_value = np.array([each is not None for each in values], np.bool_)
    if kind == "VARCHAR":
        return Heap.of([b"" if each is None else str(each).encode() for each in values]), dtype, has_value
    return np.array([0 if each is None else each for each in values], dtype), dtype, has_value


def _array(kept: list[Any], values: Any, dtype: Any, has_value: Any = None) -> Any:
    """Return a column as Arrow has it. `kept`: gets what must not be freed before it."""
    is_heap = isinstance(values, Heap)
    validity = None if has_value is None or has_value.all() else np.packbits(has_value, bitorder="little")
    if is_heap:
        parts = [np.append(0, values.ends).astype(np.int64, copy=False), values.data]
    elif dtype is np.bool_:
        parts = [np.packbits(values.astype(np.bool_), bitorder="little")]
    else:
        parts = [np.ascontiguousarray(values, dtype)]
    buffers = (c_void_p * (1 + len(parts)))(
        None if validity is None else validity.ctypes.data, *(each.ctypes.data for each in parts)
    )
    kept.append((validity, parts, buffers))
    nulls = 0 if validity is None else int((~has_value).sum())
    return _Array(length=len(values), null_count=nulls, n_buffers=len(buffers), buffers=buffers, release=_release_array)
