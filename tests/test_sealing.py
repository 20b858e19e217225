from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from prism.planes import compressed
from prism.rows import Heap, bytes_of
from prism.sealing import length_of, seal, unseal
from prism.tables import HEAP
from tests.catalogue import catalogue

DTYPES = ("|u1", "<u2", "<u4", "<u8", "<i4", "<i8", "<f4", "<f8")
NUMBERS = st.sampled_from(DTYPES).flatmap(lambda dtype: arrays.arrays(dtype, st.integers(0, 20)))
TEXTS = st.lists(st.binary(max_size=9) | st.just(b"x" * 70_000), max_size=20)


@given(NUMBERS | TEXTS, st.integers(1, 200), st.booleans())
def test_a_column_is_unsealed_to_the_bit(values: Any, times: int, is_sorted: bool) -> None:
    values = sorted(values) if is_sorted and isinstance(values, list) else np.sort(values) if is_sorted else values
    times = min(times, 2 if isinstance(values, list) and sum(map(len, values)) > 9_000 else 200)
    dtype = HEAP if isinstance(values, list) else values.dtype.str
    column = Heap.of(values * times) if isinstance(values, list) else np.tile(values, times)
    form, data = seal(column)
    found = unseal(data, form, dtype, len(column), length_of(column))
    assert bytes_of(found, dtype) == bytes_of(column, dtype)
    assert len(bytes_of(column, dtype)) == length_of(column)


@catalogue(
    ("column", "form"),
    [
        (np.arange(1000), "ascending"),
        (np.arange(1000) * 7919 % 1009, "plain"),
        (np.arange(1000)[::-1] % 9 * 1e200, "distinct"),
        (np.arange(1000, dtype="<u4") * 7919 % 9, "plain"),
        (Heap.of([b"%d" % number for number in range(1000)]), "plain"),
        (Heap.of([b"a text of some length %d" % (number * 7919 % 9) for number in range(1000)]), "distinct"),
    ],
)
def test_a_column_has_the_form_in_which_it_is_the_shortest(column: Any, form: str) -> None:
    assert seal(column)[0] == form


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
