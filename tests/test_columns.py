from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.bundles import joined
from prism.columns import PIECE, Column, Columns, Rows, pack, pack_array, pack_items, pack_rows
from tests.catalogue import catalogue

INTEGERS = st.integers(-(2**63), 2**64 - 1)
SCALARS = st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False) | st.text(max_size=9)
PIECES = st.integers(1, 5)


@given(st.lists(SCALARS), PIECES)
def test_values_are_read_back(values: list[Any], piece: int) -> None:
    columns = Columns(pack("values", values, piece))
    assert columns.values("values", Any) == values
    assert columns.unread == []


@given(st.dictionaries(INTEGERS | st.text(), SCALARS))
def test_a_dictionary_is_read_back_in_its_order(items: dict[Any, Any]) -> None:
    columns = Columns(pack_items("items", items))
    assert list(columns.items("items", Any, Any).items()) == list(items.items())
    assert columns.unread == []


@catalogue("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])
def test_no_piece_is_larger_than_the_limit_and_none_is_left_out(size: int) -> None:
    pieces = list(pack("numbers", range(size)))
    lengths = [len(msgspec.msgpack.decode(piece.data)) for piece in pieces]
    assert sum(lengths) == size
    assert lengths == ([PIECE] * (size // PIECE) + [size % PIECE] * bool(size % PIECE) or [0])
    assert Columns(pieces).values("numbers", int) == list(range(size))


def test_a_column_is_read_once() -> None:
    columns = Columns(pack("numbers", [1]))
    assert columns.unread == ["numbers"]
    assert columns.value("numbers", int) == 1
    with pytest.raises(KeyError):
        columns.value("numbers", int)


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 70_000)


@given(st.lists(NUMBERS, max_size=9) | st.lists(NUMBERS, min_size=9).map(sorted))
def test_an_array_is_read_back_as_an_array_or_as_values(values: list[int]) -> None:
    pieces = [*pack_array("numbers", np.array(values, np.int64))]
    assert Columns(pieces).array("numbers").tolist() == values
    assert Columns(pieces).values("numbers", int) == values
    assert Columns(pieces).values("numbers", float) == [float(value) for value in values]


@given(st.lists(st.floats()))
def test_floats_are_read_back_to_the_bit(values: list[float]) -> None:
    (piece,) = pack_array("numbers", np.array(values, np.float64))
    found = np.array(Columns([piece]).values("numbers", float), np.float64)
    assert found.tobytes() == np.array(values, np.float64).tobytes()


def test_a_piece_of_small_numbers_is_small_and_texts_are_a_list() -> None:
    sizes = {1: (0, 255), 2: (0, 256), 4: (0, 70_000), 8: (0, 2**32)} | {-1: (-1, 1), -2: (-1, 255), -4: (-1, 40_000)}
    for size, values in sizes.items():
        (piece,) = pack_array("numbers", np.array([*values] * 3))
        assert len(piece.data) == 6 * abs(size)
    texts = np.array(["red", "green"], dtype=object)
    assert Columns(pack_array("texts", texts)).values("texts", str) == ["red", "green"]


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


def test_parts_of_a_block_together_are_the_block() -> None:
    values = np.array([3, 4, 300, -7, 9, 10])
    parts = [[*pack_array("a", each), *pack("b", each.tolist())] for each in (values[:2], values[2:2], values[2:])]
    assert joined(parts) == [*pack_array("a", values), *pack("b", values.tolist())]


def test_lists_in_three_arrays_are_those_lists_and_must_fit_each_other() -> None:
    lists = {3: [5, 6], 7: [], 9: [1] * (PIECE + 2)}
    keys, lengths = np.array([*lists]), np.array([len(each) for each in lists.values()])
    rows = Rows(keys, lengths, np.array([each for values in lists.values() for each in values]))
    again = Columns(pack_rows("lists", rows)).rows("lists")
    assert [each.tolist() for each in again] == [each.tolist() for each in rows]
    kept = again.only(again.values != 5)
    assert (kept.keys.tolist(), kept.lengths.tolist()) == ([3, 9], [1, PIECE + 2])
    for values in ([1, 2], [1, 2, 3, 4]):
        columns = Columns(pack_rows("l", Rows(np.array([7, 8]), np.array([1, 2]), np.array(values))))
        with pytest.raises(ValueError, match="l: expected 3 values"):
            columns.rows("l")
