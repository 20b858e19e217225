from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.rows import LENGTH, Heap, TickRows, bytes_of, joined, payload_of, read_head, read_rows
from prism.tables import HEAP, PACKED_HEAP, Shape, check_shapes
from tests.catalogue import catalogue

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
    rows.add_all({"two": (Heap.of([b"last"]), Heap.of([b"\xc0"]))})
    return rows.take(12, 5)


def test_rows_are_read_back_wave_by_wave() -> None:
    found = read_rows(made(), SHAPES)
    assert (found.tick, found.known, found.waves, [*found.tables]) == (12, 5, 3, ["one", "two"])
    one, two = found.tables["one"], found.tables["two"]
    assert (one.waves, two.waves) == ((1, 3), (2, 0, 1))
    assert [column.tolist() for column in one.of_wave(1)] == [[3, 4, 9], [0.5, -0.0, 1.5]]
    assert [column.tolist() for column in one.of_wave(0)] == [[7], [2.5]]
    assert [len(column) for column in one.of_wave(2)] == [0, 0]
    assert [column.values() for column in two.of_wave(2)] == [[b"last"], [b"\xc0"]]
    assert read_head(made())[:2] == (12, 5)


def test_a_tick_without_rows_is_its_head() -> None:
    rows = TickRows(SHAPES)
    rows.add("one", np.array([], "<u4"), np.array([]))
    assert rows.take(1, 2) == LENGTH.pack(4) + b"\x93\x01\x02\x90"


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
    texts, heap = [*first, *second], joined([Heap.of(first), Heap.of(second)])
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
