import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from actors.core.errors import DivergedError
from actors.core.frames import RunningDigest
from actors.core.messages import LATE, Message
from actors.store.journal import JOURNAL
from actors.store.recovery import RecordedTicks, difference
from actors.store.segments import Place
from prism.agents import Source, Update
from prism.events import Intervened, PostEvent
from prism.rows import Heap, TickRows
from tests.actors.store.files import KINDS, TABLES, empty_run, history_of, run_of
from tests.catalogue import catalogue


def update(agent: int, to_state: str = "green", source: str = "rule", reason: str = "", effect: Any = None) -> Message:
    return Update(4, agent, "clock", "red", to_state, source, effect, reason)


def intervened(number: int, agent: int) -> Intervened:
    return Intervened(4, number, "silence", {"silence": [agent]})


def payload(tick: int, known: int, new: Sequence[tuple[str, ...]], kinds: list[int]) -> bytes:
    """The rows of a tick: kinds that are new in it, and an update of each agent with its kind."""
    rows = TickRows(TABLES)
    if new:
        rows.add("kinds", *(Heap.of([text.encode() for text in texts]) for texts in zip(*new, strict=True)))
    rows.add("updates", np.arange(len(kinds)), np.array(kinds))
    return rows.take(tick, known)


def test_it_can_begin_behind_a_checkpoint() -> None:
    disk, written = run_of(4)
    end = written[-1].end
    recorded = RecordedTicks(
        disk, Place(2, written[1].end, written[1].link), kinds=KINDS[:3], shapes=TABLES, end=end, ticks=4
    )
    assert recorded.compare(2, written[2].frame)
    assert recorded.compare(3, written[3].frame)
    assert not recorded.compare(4, b"a new one")


def test_what_comes_out_otherwise_is_refused_with_tick_agent_and_field() -> None:
    disk, written = run_of(2)
    recorded = history_of(disk)
    recorded.compare(0, written[0].frame)
    digest = RunningDigest()
    digest.link = written[0].link
    frame = digest.add(payload(1, 3, [("clock", "red", "amber", "no_row", "", "")], [0, 3]))
    with pytest.raises(DivergedError) as caught:
        recorded.compare(1, frame)
    assert caught.value.tick == 1
    assert caught.value.difference == "agent 1: to_state is 'red' in the journal and 'amber' in the new run"
    assert "tick 1 came out differently than in the journal" in str(caught.value)


@catalogue(
    ("recorded", "made", "told"),
    [
        ([update(0)], [update(0, "red")], "agent 0: to_state is 'green' in the journal and 'red' in the new run"),
        (
            [update(1)],
            [update(3)],
            "the journal has Update of agent 1 to 'clock', the new run Update of agent 3 to",
        ),
        (
            [update(1, effect=[math.nan, 1])],
            [update(1, effect=[math.nan, 1.0])],
            "agent 1: effect is [nan, 1] in the journal and [nan, 1.0] in the new run",
        ),
        (
            [intervened(0, 3), update(1)],
            [intervened(0, 5), update(1)],
            "the journal has intervention 0: {'silence': [3]}, the new run intervention 0: {'silence': [5]}",
        ),
        (
            [PostEvent(4, 1, "reply", 9, 3)],
            [PostEvent(4, 1, "reply", 9, 2)],
            (
                "the journal has agent 1's PostEvent (kind 'reply', post 9, parent 3, topics ()), "
                "the new run agent 1's PostEvent (kind 'reply', post 9, parent 2, topics ())"
            ),
        ),
        ([update(1)], [update(1)], "the values are the same, and encoded otherwise"),
    ],
)
def test_the_first_difference_is_told_in_words(recorded: list[Message], made: list[Message], told: str) -> None:
    assert difference(recorded, made).startswith(told)


def test_who_was_late_in_a_recorded_tick_is_known() -> None:
    disk, late, missed = empty_run(), (Source.TIMEOUT, "", LATE), (Source.TIMEOUT, "", "deadline")
    new = [KINDS[0], ("clock", "red", "green", *late), ("clock", "red", "green", *missed)]
    disk.append(JOURNAL, RunningDigest().add(payload(0, 0, new, [0, 1, 2])))
    recorded = history_of(disk)
    assert recorded.late_agents(0) == frozenset({1})
    assert recorded.late_agents(1) is None  # which has not been run before
