from __future__ import annotations

from actors.runtime.counters import Counters
from prism.agents import Source, Update
from prism.agents.waves import Updates
from tests.domains import traffic_chart


def update(before: str, after: str, source: Source = Source.RULE, trigger: str = "clock") -> Update[int]:
    return Update(0, 0, trigger, before, after, source)


def add(counters: Counters, *updates: Update[int]) -> None:
    if updates:
        counters.add_all(Updates.of(updates))


def counters_of(*updates: Update[int], size: int = 5) -> Counters:
    counters = Counters(traffic_chart(), size)
    add(counters, *updates)
    return counters


def test_agents_are_counted_where_their_updates_left_them() -> None:
    counters = counters_of(update("red", "green"), update("red", "green"), update("green", "amber"))
    assert counters.agents_by_state() == {"red": 3, "green": 1, "amber": 1}
    assert sum(counters.agents_by_state().values()) == 5


def test_what_moved_nobody_is_no_transition() -> None:
    counters = counters_of(
        update("red", "green"),
        update("red", "red", Source.NO_ROW),
        update("red", "red", Source.CRASH),
        update("red", "red", Source.QUARANTINE),
    )
    assert counters.transitions == 1
    assert counters.unmoved_by_source() == {"no_row": 1, "crash": 1, "quarantine": 1}


def test_a_question_and_its_decision_are_one_activation_however_it_ends() -> None:
    counters = counters_of()
    counters.add_triggers(5)
    counters.questions += 5
    add(counters, update("amber", "amber", Source.CRASH))
    for source in (Source.ORACLE, Source.LLM, Source.FALLBACK, Source.TIMEOUT):
        add(counters, update("amber", "red", source))
    assert (counters.questions, counters.activations, counters.transitions) == (5, 5, 4)


def test_decisions_are_counted_by_what_settled_them_also_where_there_are_none() -> None:
    counters = counters_of(
        update("red", "green"), update("amber", "red", Source.TIMEOUT), update("red", "red", Source.CRASH)
    )
    assert counters.decisions_by_source() == {"rule": 1, "oracle": 0, "llm": 0, "fallback": 0, "timeout": 1}


def test_transitions_are_counted_by_trigger_in_the_order_of_names() -> None:
    counters = counters_of(
        update("red", "green", trigger="wave"),
        update("green", "amber", trigger="clock"),
        update("amber", "amber", Source.NO_ROW, trigger="horn"),
    )
    assert list(counters.transitions_by_trigger().items()) == [("clock", 1), ("wave", 1)]
