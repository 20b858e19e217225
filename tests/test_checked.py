"""Checked records take and refuse the same however they are made."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Annotated, Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from prism.checked import Checked
from tests.catalogue import catalogue


class Crate(Checked, frozen=True, kw_only=True):
    """Something of every kind."""

    label: Annotated[str, Meta(min_length=1)] = "a"
    weight: Annotated[float, Meta(ge=0.0)] = 1.0
    count: Annotated[int, Meta(ge=1, le=9)] = 1
    is_open: bool = False
    lot: int | None = None
    prices: tuple[float, ...] = ()
    marks: tuple[str, ...] = ()
    parts: dict[str, float] = msgspec.field(default_factory=dict)
    packed: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    inner: Crate | None = None


CONVERTED = {
    "an int for a float": ("weight", 2, 2.0),
    "a list for a tuple": ("marks", ["a", "b"], ("a", "b")),
    "ints among floats": ("prices", (1, 2.5), (1.0, 2.5)),
    "ints below keys": ("parts", {"a": 1}, {"a": 1.0}),
    "a mapping for a record": ("inner", {"count": 3}, Crate(count=3)),
    "a text for a time": ("packed", "2026-01-02T00:00:00Z", datetime(2026, 1, 2, tzinfo=UTC)),
    "an int of NumPy": ("count", np.int64(3), 3),
    "floats of NumPy": ("prices", [np.float64(0.5)], (0.5,)),
    "a path": ("label", PurePosixPath("a/b"), "a/b"),
}

REFUSED = {
    "below its range": ("count", 0, "count: expected int 1 to 9, got 0"),
    "a bool for an int": ("count", True, "count: expected int 1 to 9, got true"),
    "an int for a bool": ("is_open", 1, "is_open: expected true or false, got 1"),
    "a text for a number": ("weight", "1", "weight: expected float >= 0, got '1'"),
    "not a number": ("weight", math.nan, "weight: expected float >= 0, got .nan"),
    "not a number among numbers": ("prices", (1.0, math.nan), "prices[1]: expected float, got .nan"),
    "not a number below a key": ("parts", {"a": math.nan}, "parts.a: expected float, got .nan"),
    "an item": ("marks", ("a", 3), "marks[1]: expected text, got 3"),
    "a text for a list": ("marks", "ab", "marks: expected list of text, got 'ab'"),
    "a set, which has no order": ("marks", {"a"}, "marks: expected list of text, got {'a'}"),
    "an empty text": ("label", "", "label: expected non-empty text, got ''"),
    "inside a record": ("inner", {"count": 0}, "inner.count: expected int 1 to 9, got 0"),
    "none of several types": ("lot", "x", "lot: expected int or none, got 'x'"),
}


@catalogue(("field", "value", "held"), CONVERTED.values())
def test_a_value_is_converted_as_decoding_converts_it(field: str, value: Any, held: object) -> None:
    for crate in (Crate(**{field: value}), msgspec.structs.replace(Crate(), **{field: value})):
        assert getattr(crate, field) == held
        assert type(getattr(crate, field)) is type(held)
        assert msgspec.json.decode(msgspec.json.encode(crate), type=Crate) == crate


@catalogue(("field", "value", "message"), REFUSED.values())
def test_a_value_that_decoding_refuses_is_refused_by_name(field: str, value: Any, message: str) -> None:
    for make in (Crate, lambda **values: msgspec.structs.replace(Crate(), **values)):
        with pytest.raises(ValueError, match=r".") as caught:
            make(**{field: value})
        assert str(caught.value) == message


@given(weight=st.floats(), count=st.integers(-5, 15), marks=st.lists(st.text(max_size=3) | st.integers(), max_size=3))
def test_construction_and_decoding_agree(weight: float, count: int, marks: list[Any]) -> None:
    fields: dict[str, Any] = {"weight": weight, "count": count, "marks": marks}

    def outcome(make: Any) -> object:
        try:
            return make()
        except ValueError:
            return "refused"

    assert outcome(lambda: Crate(**fields)) == outcome(lambda: msgspec.convert(fields, Crate))
