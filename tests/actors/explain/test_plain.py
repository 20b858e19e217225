"""Values as JSON values: with the names of their fields, and without any that JSON does not have."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from actors.explain.tree import plain
from prism.economy import GlobalState
from prism.statechart import AgentState
from tests.catalogue import catalogue


class Pair(msgspec.Struct, array_like=True):
    """A record that is encoded as an array."""

    first: Any
    second: Any = None


@catalogue(
    ("value", "expected"),
    [
        (Pair(1, (AgentState.IDLE,)), {"first": 1, "second": ["idle"]}),
        ({AgentState.IDLE: Pair(2)}, {"idle": {"first": 2, "second": None}}),
        (frozenset({"b", "a"}), ["a", "b"]),
        (GlobalState().interest_rate, 4.0),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (b"\x00", "AA=="),
        (True, True),
        (None, None),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_every_value_has_one_that_json_has(value: object, expected: object) -> None:
    assert plain(value) == expected
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == expected
