from __future__ import annotations

from actors.runtime.counters import Tally
from prism.agents import Question, Source, Update
from tests.domains import traffic_chart


def update(before: str, after: str, source: Source = Source.RULE, trigger: str = "clock") -> Update[int]:
    return Update(0, 0, trigger, before, after, source)


def tally_of(*updates: Update[int], size: int = 5) -> Tally:
    tally = Tally(traffic_chart(), size)
    tally.add(updates)
    return tally


def test_before_anything_happens_everybody_is_in_the_initial_state() -> None:
    tally = tally_of()
    assert tally.agents_by_state() == {"red": 5, "green": 0, "amber": 0}
    assert tally.states_visited() == ["red"]
    assert (tally.activations, tally.transitions) == (0, 0)


def test_agents_are_counted_where_their_updates_left_them() -> None:
    tally = tally_of(update("red", "green"), update("red", "green"), update("green", "amber"))
    assert tally.agents_by_state() == {"red": 3, "green": 1, "amber": 1}
    assert sum(tally.agents_by_state().values()) == 5


def test_states_are_listed_in_the_order_of_their_enum() -> None:
    assert tally_of(update("green", "amber"), update("red", "green")).states_visited() == ["red", "green", "amber"]


def test_what_moved_nobody_is_no_transition() -> None:
    tally = tally_of(
        update("red", "green"),
        update("red", "red", Source.NO_ROW),
        update("red", "red", Source.CRASH),
        update("red", "red", Source.QUARANTINE),
    )
    assert tally.transitions == 1
    assert tally.unmoved_by_source() == {"no_row": 1, "crash": 1, "quarantine": 1}


def test_a_question_and_its_decision_are_one_activation_however_it_ends() -> None:
    tally = tally_of()
    tally.triggered(5)
    tally.question(Question(0, 0, "clock", "amber", ("red", "green")))
    tally.add([update("amber", "amber", Source.CRASH)])
    for source in (Source.ORACLE, Source.LLM, Source.FALLBACK, Source.TIMEOUT):
        tally.question(Question(0, 0, "clock", "amber", ("red", "green")))
        tally.add([update("amber", "red", source)])
    assert (tally.questions, tally.activations, tally.transitions) == (5, 5, 4)


def test_decisions_are_counted_by_what_settled_them_also_where_there_are_none() -> None:
    tally = tally_of(update("red", "green"), update("amber", "red", Source.TIMEOUT), update("red", "red", Source.CRASH))
    assert tally.decisions_by_source() == {"rule": 1, "oracle": 0, "llm": 0, "fallback": 0, "timeout": 1}


def test_transitions_are_counted_by_trigger_in_the_order_of_names() -> None:
    tally = tally_of(
        update("red", "green", trigger="wave"),
        update("green", "amber", trigger="clock"),
        update("amber", "amber", Source.NO_ROW, trigger="horn"),
    )
    assert list(tally.transitions_by_trigger().items()) == [("clock", 1), ("wave", 1)]
