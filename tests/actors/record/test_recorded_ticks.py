from __future__ import annotations

import math

import msgspec
import pytest

from actors.core.errors import DivergedError
from actors.core.frames import RunningDigest, tick_payload
from actors.core.messages import LATE
from actors.persistence.journal import JOURNAL
from actors.record.recorded_ticks import RecordedTicks, difference
from prism.agents import Source
from prism.events import Intervened, PostEvent
from tests.actors.persistence.files import empty_run, history_of, question, run_of, update
from tests.catalogue import catalogue

encode = msgspec.msgpack.encode


def payload(*answers: bytes) -> bytes:
    return tick_payload(4, answers)


def intervened(number: int, agent: int) -> Intervened:
    return Intervened(4, number, "silence", {"silence": [agent]})


def test_what_comes_out_the_same_is_compared_tick_by_tick() -> None:
    disk, written = run_of(4)
    recorded = history_of(disk)
    assert [recorded.compare(tick, each.frame) for tick, each in enumerate(written)] == [True] * 4
    assert not recorded.compare(4, b"a new one")


def test_it_can_begin_behind_a_checkpoint() -> None:
    disk, written = run_of(4)
    end = written[-1].end
    recorded = RecordedTicks(disk, tick=2, start=written[1].end, link=written[1].link, end=end, ticks=4)
    assert recorded.compare(2, written[2].frame)
    assert recorded.compare(3, written[3].frame)
    assert not recorded.compare(4, b"a new one")


def test_what_comes_out_otherwise_is_refused_with_tick_agent_and_field() -> None:
    disk, written = run_of(2)
    recorded = history_of(disk)
    recorded.compare(0, written[0].frame)
    digest = RunningDigest()
    digest.link = written[0].link
    frame = digest.add(1, [update(1, 0), update(1, 1, "amber"), encode(question(1, 2))])
    with pytest.raises(DivergedError) as caught:
        recorded.compare(1, frame)
    assert caught.value.tick == 1
    assert caught.value.difference == "agent 1: to_state is 'red' in the journal and 'amber' in the new run"
    assert "tick 1 came out differently than in the journal" in str(caught.value)


@catalogue(
    ("recorded", "made", "told"),
    [
        ([update(4, 0)], [update(4, 0, "red")], "agent 0: to_state is 'green' in the journal and 'red' in the new run"),
        (
            [update(4, 0), update(4, 6)],
            [update(4, 0), update(4, 6, source="fallback", reason="deadline")],
            "agent 6: source is 'rule' in the journal and 'fallback' in the new run",
        ),
        (
            [update(4, 1)],
            [update(4, 3)],
            "the journal has Update of agent 1 to 'clock', the new run Update of agent 3 to",
        ),
        (
            [update(4, 1), update(4, 2)],
            [update(4, 1)],
            "the journal has Update of agent 2 to 'clock', the new run nothing",
        ),
        (
            [encode([2, 4, 1, "clock", "red", "green", "rule", 0.0])],
            [encode([2, 4, 1, "clock", "red", "green", "rule", -0.0])],
            "agent 1: effect is 0.0 in the journal and -0.0 in the new run",
        ),
        (
            [encode([2, 4, 1, "clock", "red", "green", "rule", [math.nan, 1]])],
            [encode([2, 4, 1, "clock", "red", "green", "rule", [math.nan, 1.0]])],
            "agent 1: effect is [nan, 1] in the journal and [nan, 1.0] in the new run",
        ),
        (
            [encode(intervened(0, 3)), update(4, 1)],
            [encode(intervened(0, 5)), update(4, 1)],
            "the journal has intervention 0: {'silence': [3]}, the new run intervention 0: {'silence': [5]}",
        ),
        (
            [encode(PostEvent(4, 1, "reply", 9, 3))],
            [encode(PostEvent(4, 1, "reply", 9, 2))],
            (
                "the journal has agent 1's PostEvent (kind 'reply', post 9, parent 3, topics []), "
                "the new run agent 1's PostEvent (kind 'reply', post 9, parent 2, topics [])"
            ),
        ),
        ([encode([2, 4, 1])], [b"\x93\x02\x04\xcc\x01"], "the values are the same, and encoded otherwise"),
    ],
)
def test_the_first_difference_is_told_in_words(recorded: list[bytes], made: list[bytes], told: str) -> None:
    assert difference(payload(*recorded), payload(*made)).startswith(told)


def test_who_was_late_in_a_recorded_tick_is_known() -> None:
    disk = empty_run()
    digest = RunningDigest()
    late = update(0, 1, source=Source.TIMEOUT, reason=LATE)
    deadline = update(0, 2, source=Source.TIMEOUT, reason="deadline")
    disk.append(JOURNAL, digest.add(0, [update(0, 0), late, deadline, encode(question(0, 3))]))
    recorded = history_of(disk)
    assert recorded.late_agents(0) == frozenset({1})
    assert recorded.late_agents(1) is None  # which has not been run before
