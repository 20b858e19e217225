"""The oracle's log of a run as it is read: a run without a log has none of what it holds."""

from __future__ import annotations

from pathlib import Path

from actors.record.answers import answers_by_question, answers_in, judgements_in, logged_after, logged_in
from prism.agents import Question


def test_a_run_without_a_log_has_none_of_what_it_holds(tmp_path: Path) -> None:
    assert [*logged_in(tmp_path), *logged_after(tmp_path, 100), *answers_in(tmp_path), *judgements_in(tmp_path)] == []
    assert answers_by_question(tmp_path).take(Question(0, 1, "clock", "red", ("green", "amber"))) is None
