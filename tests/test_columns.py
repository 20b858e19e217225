"""Columns, rows and planes: what is stored of a tick."""

from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from prism.columns import PIECE, Column, Columns, Rows, pack_array, pack_rows
from prism.planes import compressed, expanded, in_planes, length_of, out_of_planes, seal, unseal
from prism.rows import Heap, TickRows, bytes_of, payload_of, read_head, read_rows
from prism.rows import joined as joined_heaps
from prism.tables import HEAP, PACKED_HEAP, Shape, check_shapes
from tests.catalogue import catalogue

INTEGERS = st.integers(-(2**63), 2**64 - 1)
SCALARS = st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False) | st.text(max_size=9)
PIECES = st.integers(1, 5)


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 70_000)


@given(st.lists(NUMBERS, max_size=9) | st.lists(NUMBERS, min_size=9).map(sorted))
def test_an_array_is_read_back_as_an_array_or_as_values(values: list[int]) -> None:
    pieces = [*pack_array("numbers", np.array(values, np.int64))]
    assert Columns(pieces).array("numbers").tolist() == values
    assert Columns(pieces).values("numbers", int) == values
    assert Columns(pieces).values("numbers", float) == [float(value) for value in values]


@catalogue(
    "piece",
    [
        Column("numbers", b"\x91\x01"),
        Column("numbers", b"12345678", "<f8"),
        Column("numbers", b"12345678", "|O"),
        Column("numbers", b"123", "<u2"),
    ],
)
def test_a_column_of_something_else_is_refused(piece: Column) -> None:
    with pytest.raises(ValueError, match=r"expected|are not"):
        Columns([piece]).array("numbers")
    with pytest.raises(ValueError, match=r"Expected|expected|are not"):
        Columns([piece]).values("numbers", str)


def test_lists_in_three_arrays_are_those_lists_and_must_fit_each_other() -> None:
    lists = {3: [5, 6], 7: [], 9: [1] * (PIECE + 2)}
    keys, lengths = np.array([*lists]), np.array([len(each) for each in lists.values()])
    rows = Rows(keys, lengths, np.array([each for values in lists.values() for each in values]))
    again = Columns(pack_rows("lists", rows)).rows("lists")
    assert [each.tolist() for each in again] == [each.tolist() for each in rows]
    for values in ([1, 2], [1, 2, 3, 4]):
        columns = Columns(pack_rows("l", Rows(np.array([7, 8]), np.array([1, 2]), np.array(values))))
        with pytest.raises(ValueError, match="l: expected 3 values"):
            columns.rows("l")


SHAPES = (Shape("one", (("agent", "<u4"), ("worth", "<f8"))), Shape("two", (("text", HEAP), ("value", PACKED_HEAP))))
TEXTS = st.lists(st.binary(max_size=5), max_size=6)


def made() -> bytes:
    rows = TickRows(SHAPES)
    rows.add("two", Heap.of([b"a", b""]), Heap.of([b"\x01", b"\x02"]))
    rows.end_wave()
    rows.add("one", np.array([3, 4]), np.array([0.5, -0.0]))
    rows.add("one", np.array([9]), np.array([1.5]))
    rows.end_wave()
    rows.add_first("one", np.array([7]), np.array([2.5]))
    rows.add("two", Heap.of([b"last"]), Heap.of([b"\xc0"]))
    return rows.take(12, 5)


def test_rows_are_read_back_wave_by_wave() -> None:
    found = read_rows(made(), SHAPES)
    assert (found.tick, found.known, [*found.tables]) == (12, 5, ["one", "two"])
    one, two = found.tables["one"], found.tables["two"]
    assert (one.waves, two.waves) == ((1, 3), (2, 0, 1))
    assert [column.tolist() for column in one.of_wave(1)] == [[3, 4, 9], [0.5, -0.0, 1.5]]
    assert [column.tolist() for column in one.of_wave(0)] == [[7], [2.5]]
    assert [len(column) for column in one.of_wave(2)] == [0, 0]
    assert [column.values() for column in two.of_wave(2)] == [[b"last"], [b"\xc0"]]
    assert read_head(made())[:2] == (12, 5)


def test_a_payload_that_ends_early_or_late_is_refused() -> None:
    payload = made()
    for end in range(len(payload)):
        with pytest.raises(ValueError, match=r"."):
            read_rows(payload[:end], SHAPES)
    with pytest.raises(ValueError, match="1 bytes follow its last column"):
        read_rows(payload + b"\0", SHAPES)


@catalogue(
    ("counts", "told"),
    [
        ([[2, 1]], "it names table 2, and there are 2"),
        ([[0, -1]], "its head names no rows"),
        ([[-1, 1]], "its head names no rows"),
        ([[1, 1], [0, 1]], "its head names no rows"),
        ([[0, 1], [0, 1]], "its head names no rows"),
        ([[0, 2**40]], "it ends within one.agent"),
        ([[1, 1]], "it ends within two.text"),
    ],
)
def test_a_head_that_names_other_rows_is_refused(counts: list[list[int]], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_rows(payload_of(0, 0, counts, [b"\xff" * 12]), SHAPES)


@given(TEXTS, TEXTS, st.data())
def test_a_heap_is_a_list_of_its_texts(first: list[bytes], second: list[bytes], data: st.DataObject) -> None:
    texts, heap = [*first, *second], joined_heaps([Heap.of(first), Heap.of(second)])
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(texts))] * 2)))
    assert heap.values() == texts
    assert heap.part(start, stop).values() == texts[start:stop]
    assert heap.lengths.tolist() == [*map(len, texts)]
    assert heap.at(np.arange(start, stop)).values() == texts[start:stop]
    lengths = b"".join(len(text).to_bytes(4, "little") for text in texts)
    assert bytes_of(heap, HEAP) == lengths + b"".join(texts)
    assert Heap.same(b"ab", 3).values() == [b"ab"] * 3


@catalogue(
    "shapes",
    [
        [Shape("a", ())],
        [Shape("a", (("b", "<i3"),))],
        [Shape("a", (("b", "|O"),))],
        [Shape("a", (("b", "<u4"),)), Shape("a", (("c", "<u4"),))],
    ],
)
def test_tables_that_no_journal_keeps_are_refused(shapes: list[Shape]) -> None:
    check_shapes(SHAPES)
    with pytest.raises(ValueError, match=r"none of a journal|one name"):
        check_shapes(shapes)


def test_ascending_numbers_are_differences_in_planes() -> None:
    assert in_planes(np.array([258, 259, 261], "<u2")) == (True, bytes([2, 1, 2, 1, 0, 0]))
    assert in_planes(np.array([261, 259, 258], "<u2")) == (False, bytes([5, 3, 2, 1, 1, 1]))
    assert not in_planes(np.array([1, 2, 3], "<u2"), may_ascend=False)[0]
    assert not in_planes(np.array([1.0, 2.0, 3.0]))[0]


@catalogue(
    "data",
    [
        b"",
        b"no zstd at all",
        compressed(bytes(1001)),
        compressed(bytes(1000))[:-1],
        compressed(bytes(1000)) + b"\0",
        zstandard.ZstdCompressor(write_content_size=False).compress(bytes(10)),
    ],
)
def test_what_expands_to_too_much_or_is_no_compressed_bytes_is_refused(data: bytes) -> None:
    assert expanded(compressed(bytes(1000)), 1000) == bytes(1000)
    with pytest.raises(ValueError, match=r"\w"):
        expanded(data, 1000)


DTYPES = ("|u1", "<u2", "<u4", "<u8", "<i4", "<i8", "<f4", "<f8")
ARRAYS = st.sampled_from(DTYPES).flatmap(lambda dtype: arrays.arrays(dtype, st.integers(0, 20)))
# Made of its length: Hypothesis shows strategies in what it tells of rejected values, and warns of very long ones.
LONG_TEXTS = st.lists(st.binary(max_size=9) | st.just(70_000).map(b"x".__mul__), max_size=20)


@given(ARRAYS | LONG_TEXTS, st.integers(1, 200), st.booleans())
def test_a_column_is_unsealed_to_the_bit(values: Any, times: int, is_sorted: bool) -> None:
    values = sorted(values) if is_sorted and isinstance(values, list) else np.sort(values) if is_sorted else values
    times = min(times, 2 if isinstance(values, list) and sum(map(len, values)) > 9_000 else 200)
    dtype = HEAP if isinstance(values, list) else values.dtype.str
    column = Heap.of(values * times) if isinstance(values, list) else np.tile(values, times)
    form, data = seal(column)
    found = unseal(data, form, dtype, len(column), length_of(column))
    assert bytes_of(found, dtype) == bytes_of(column, dtype)
    assert len(bytes_of(column, dtype)) == length_of(column)
    if not isinstance(column, Heap):
        ascends, planes = in_planes(column)
        whole = out_of_planes(np.frombuffer(planes, np.uint8), dtype, len(column), ascends=ascends)
        assert (whole.dtype, whole.tobytes()) == (column.dtype, column.tobytes())


@catalogue(
    ("form", "dtype", "data"),
    [
        ("plain", "<u4", bytes(9)),
        ("plain", HEAP, bytes(7)),
        ("plain", HEAP, bytes(9)),
        ("distinct", "<f8", b""),
        ("distinct", "<f8", bytes(3)),
        ("distinct", "<f8", bytes(12)),
        ("distinct", "<u4", bytes([1, 0, 0, 0] + [0] * 8 + [0] * 8)),
        ("distinct", HEAP, bytes([1, 0, 0, 0] + [1] + [0] * 7 + [0] * 4)),
        ("distinct", HEAP, bytes([1, 0, 0, 0] + [0] * 8 + [5, 0, 0, 0]) + b"12345"),
    ],
)
def test_bytes_of_another_column_are_refused(form: Any, dtype: str, data: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        unseal(compressed(data), form, dtype, 2, 8)
