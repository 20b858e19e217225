"""Columns of Python as a stream of Arrow, which DuckDB reads block by block, without a copy of most of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from prism.rows import Heap

Columns = Mapping[str, Any]
"""`{column: its values}` of some rows: an array, a `Heap`, a `Coded`, or a list with None for no value."""


class Coded(NamedTuple):
    """A column of few different texts: the number of each row's text, -1 for no value."""

    codes: Any
    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.codes)


ARROW: Final = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "SMALLINT": pa.int16(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
    "VARCHAR": pa.large_string(),
    "BLOB": pa.large_binary(),
}
"""`{type of DuckDB: that of Arrow}`."""


class Stream:
    """Rows as DuckDB reads them: each scan asks for the blocks anew.

    Args:
        types: the type of DuckDB of each column.
        blocks: returns the rows, some at a time, at least one column each; a column that is not there has no values.
        coded: the columns that are `Coded` in each block.
    """

    def __init__(
        self, types: Mapping[str, str], blocks: Callable[[], Iterable[Columns]], coded: Iterable[str] = ()
    ) -> None:
        codes, of = {*coded}, pa.dictionary(pa.int32(), ARROW["VARCHAR"])
        self._schema = pa.schema([(name, of if name in codes else ARROW[kind]) for name, kind in types.items()])
        self._blocks = blocks
        self.error: BaseException | None = None
        """The error that ended the last scan, which DuckDB tells only in words."""

    def __arrow_c_schema__(self) -> Any:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:  # the protocol has it
        return pa.RecordBatchReader.from_batches(self._schema, self._batches()).__arrow_c_stream__()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for block in self._blocks():
                rows = len(next(iter(block.values())))
                columns = [_array(block.get(field.name), field.type, rows) for field in self._schema]
                yield pa.record_batch(columns, schema=self._schema)
        except BaseException as error:
            self.error = error
            raise


def _array(values: Any, kind: pa.DataType, rows: int) -> pa.Array:
    if values is None:
        return pa.nulls(rows, kind)
    if isinstance(values, Coded):
        codes = pa.array(np.asarray(values.codes, np.int32), mask=np.asarray(values.codes) < 0)
        return pa.DictionaryArray.from_arrays(codes, pa.array(values.texts, ARROW["VARCHAR"]))
    if isinstance(values, Heap):
        ends = np.append(0, values.ends).astype(np.int64, copy=False)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(values.data))]
        return pa.Array.from_buffers(kind, rows, buffers)
    is_list = not isinstance(values, np.ndarray) or values.dtype == object
    if kind == ARROW["VARCHAR"]:
        given = values if is_list else values.tolist()
        return pa.array([None if each is None else str(each) for each in given], kind)
    # An array is of numbers, those of a time microseconds; NaN stands for no value.
    return pa.array([*values] if is_list else values, from_pandas=not is_list).cast(kind)
