from __future__ import annotations

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from prism.planes import compressed, expanded, in_planes, out_of_planes
from tests.catalogue import catalogue

DTYPES = ("|u1", "<u2", "<u4", "<u8", "|i1", "<i2", "<i4", "<i8", "<f4", "<f8")


@given(st.sampled_from(DTYPES).flatmap(lambda dtype: arrays.arrays(dtype, st.integers(0, 20))), st.booleans())
def test_numbers_are_read_back_to_the_bit(values: np.ndarray, is_sorted: bool) -> None:
    values = np.sort(values) if is_sorted else values
    ascends, planes = in_planes(values)
    found = out_of_planes(np.frombuffer(planes, np.uint8), values.dtype.str, len(values), ascends=ascends)
    assert (found.dtype, found.tobytes()) == (values.dtype, values.tobytes())


def test_ascending_numbers_are_differences_in_planes() -> None:
    assert in_planes(np.array([258, 259, 261], "<u2")) == (True, bytes([2, 1, 2, 1, 0, 0]))
    assert in_planes(np.array([261, 259, 258], "<u2")) == (False, bytes([5, 3, 2, 1, 1, 1]))
    assert not in_planes(np.array([1, 2, 3], "<u2"), may_ascend=False)[0]
    assert not in_planes(np.array([1.0, 2.0, 3.0]))[0]


def test_bytes_of_other_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="7 bytes are not 2 numbers of 4"):
        out_of_planes(np.zeros(7, np.uint8), "<u4", 2)


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
