from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.columns import PIECE, Columns, Rows, pack, pack_items, pack_rows
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


@given(st.dictionaries(st.integers(0, 99), st.lists(st.integers(0, 2**40), max_size=9)))
def test_a_dictionary_of_lists_is_read_back_in_its_order(lists: dict[int, list[int]]) -> None:
    values = np.array([each for values in lists.values() for each in values], dtype=np.int64)
    lengths = np.array([len(each) for each in lists.values()], dtype=np.int64)
    columns = Columns(pack_rows("lists", Rows(np.array([*lists], dtype=np.int64), lengths, values)))
    assert list(columns.lists("lists", int, int).items()) == list(lists.items())
    assert columns.unread == []


def test_lists_in_three_arrays_are_those_lists_and_must_fit_each_other() -> None:
    lists = {3: [5, 6], 7: [], 9: [1] * (PIECE + 2)}
    keys, lengths = np.array([*lists]), np.array([len(each) for each in lists.values()])
    rows = Rows(keys, lengths, np.array([each for values in lists.values() for each in values]))
    again = Columns(pack_rows("lists", rows)).rows("lists")
    assert [each.tolist() for each in again] == [each.tolist() for each in rows]
    kept = again.only(again.values != 5)
    assert (kept.keys.tolist(), kept.lengths.tolist()) == ([3, 9], [1, PIECE + 2])
    for read in ("rows", "lists"):
        for values in ([1, 2], [1, 2, 3, 4]):
            columns = Columns([*pack("l.key", [7, 8]), *pack("l.length", [1, 2]), *pack("l", values)])
            with pytest.raises(ValueError, match="l: expected 3 values"):
                columns.rows("l") if read == "rows" else columns.lists("l", int, int)
