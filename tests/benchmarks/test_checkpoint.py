"""The pieces in which a large world is copied: the event loop gets its turn between two of them."""

from __future__ import annotations

import tracemalloc

import pytest

from benchmarks.checkpoint import crowd

PEOPLE = 200_000
PIECE_MAX_BYTES = 6_000_000
"""What one piece may take beside the world: a few arrays of a part of the people, or one of all of them."""


@pytest.mark.slow
def test_no_piece_of_a_checkpoint_looks_at_everybody() -> None:
    columns = crowd(PEOPLE).world.columns()
    taken: dict[str, int] = {}
    tracemalloc.start()
    try:
        while True:
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            column = next(columns, None)
            _, most = tracemalloc.get_traced_memory()
            if column is None:
                break
            taken[column.name] = max(taken.get(column.name, 0), most - before)
    finally:
        tracemalloc.stop()
    assert {name: size for name, size in taken.items() if size > PIECE_MAX_BYTES} == {}
    assert {"state", "sessions", "current", "timeline", "seen", "next"} <= taken.keys()
