"""What a tick takes in shards follows from the costs: the slower of shards and engine, and what is exchanged."""

from __future__ import annotations

import pytest

from actors.runs.scaling import ACT_BYTES, ALONE_MIB, Costs, activations_in, memory_in, tick_in

COSTS = Costs(
    turn_s=1e-6,
    act_s=1e-6,
    engine_s=0.0,
    seal_s=1e-8,
    tick_s=0.0,
    call_s=0.0,
    latency_s=0.0,
    acts=0.1,
    answer_bytes=50.0,
    link_bytes_s=1e9,
)


def test_one_process_does_all_the_work_and_says_how_many_activations_it_has() -> None:
    tick = tick_in(1, 1e6, COSTS._replace(engine_s=1e-7, latency_s=1.0))
    assert (tick.all_s, tick.exchange_bytes) == pytest.approx((1.1, 0.0))
    for tick_s in (0.01, 20.0):
        assert tick_in(1, activations_in(tick_s)).all_s == pytest.approx(tick_s)


def test_shards_divide_the_turns_and_repeat_the_acts() -> None:
    tick, all_turns = tick_in(4, 1e6, COSTS), 1.0
    first = all_turns - 3 * tick.people_s
    assert 0.2 < first < 0.25 < tick.people_s < 0.3
    assert tick.shard_s == pytest.approx(tick.people_s + 0.1 * 3 / 4)
    assert tick.engine_s == pytest.approx(first + 0.1 * 3 / 4)
    assert tick.exchange_bytes == pytest.approx(50e6 * (1.0 - first) + 1e5 * ACT_BYTES * 4)
    assert tick.all_s == pytest.approx(tick.shard_s + tick.exchange_s)


def test_memory_for_people_is_partly_divided() -> None:
    assert memory_in(1, 1000.0) == pytest.approx(1000.0)
    two, many = memory_in(2, 1000.0), memory_in(1000, 1000.0)
    assert many < two < 1000.0
    assert many > 0.4 * (1000.0 - ALONE_MIB) + ALONE_MIB
    assert memory_in(8, 50.0) == 50.0
