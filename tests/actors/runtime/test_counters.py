from __future__ import annotations

from actors.runtime.counters import Counters
from prism.agents import Source, Update
from prism.agents.waves import Updates
from tests.domains import traffic_chart


def update(before: str, after: str, source: Source = Source.RULE, trigger: str = "clock") -> Update[int]:
    return Update(0, 0, trigger, before, after, source)


def add(counters: Counters, *updates: Update[int]) -> None:
    if updates:
        wave = Updates.of(updates)
        counters.add(wave.kinds, wave.counts)


def counters_of(*updates: Update[int], size: int = 5) -> Counters:
    counters = Counters(traffic_chart(), size)
    add(counters, *updates)
    return counters


def test_updates_are_counted_by_state_source_and_trigger() -> None:
    counters = counters_of(
        update("red", "green", trigger="wave"),
        update("red", "green"),
        update("green", "amber"),
        update("amber", "red", Source.TIMEOUT),
        update("red", "red", Source.NO_ROW, trigger="horn"),
        update("red", "red", Source.CRASH),
        update("red", "red", Source.QUARANTINE),
    )
    assert counters.agents_by_state() == {"red": 4, "green": 1, "amber": 0}
    assert counters.transitions == 4
    assert counters.unmoved_by_source() == {"no_row": 1, "crash": 1, "quarantine": 1}
    assert counters.decisions_by_source() == {"rule": 3, "oracle": 0, "llm": 0, "fallback": 0, "timeout": 1}
    assert list(counters.transitions_by_trigger().items()) == [("clock", 3), ("wave", 1)]
    assert counters.states_visited() == ["red", "green", "amber"]


def test_a_question_and_its_decision_are_one_activation_however_it_ends() -> None:
    counters = counters_of()
    counters.activations += 5
    counters.questions += 5
    add(counters, update("amber", "amber", Source.CRASH))
    for source in (Source.ORACLE, Source.LLM, Source.FALLBACK, Source.TIMEOUT):
        add(counters, update("amber", "red", source))
    assert (counters.questions, counters.activations, counters.transitions) == (5, 5, 4)
