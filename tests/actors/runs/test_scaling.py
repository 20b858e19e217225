"""What a tick takes in shards follows from the costs: the slower of shards and engine, and what is exchanged."""

from __future__ import annotations

import pytest

from actors.runs.scaling import ACT_BYTES, Costs, tick_in

COSTS = Costs(
    turn_s=1e-6, act_s=1e-6, engine_s=1e-7, tick_s=0.0, call_s=0.0, acts=0.1, answer_bytes=50.0, link_bytes_s=1e9
)


def test_one_process_does_all_the_work_and_exchanges_nothing() -> None:
    tick = tick_in(1, 1e6, COSTS)
    assert tick.all_s == pytest.approx(1.1)
    assert tick.exchange_bytes == 0.0


def test_shards_divide_the_turns_and_repeat_the_acts() -> None:
    tick = tick_in(4, 1e6, COSTS)
    assert tick.shard_s == pytest.approx(1.0 / 4 + 0.1)
    assert tick.exchange_bytes == pytest.approx(50e6 + 1e5 * ACT_BYTES * 5)
    assert tick.all_s == pytest.approx(tick.shard_s + tick.exchange_s)


def test_with_many_shards_the_engine_sets_the_pace() -> None:
    few, many = tick_in(64, 1e6, COSTS), tick_in(1024, 1e6, COSTS)
    assert many.all_s == many.engine_s
    assert many.shard_s < few.shard_s


def test_each_call_to_a_shard_costs_the_engine_some_time() -> None:
    slow = COSTS._replace(call_s=1e-3)
    assert tick_in(100, 1e6, slow).engine_s - tick_in(100, 1e6, COSTS).engine_s == pytest.approx(0.1)
