"""Turns that are worked out for the page, by stand-ins for the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from actors.pages.html import rendered
from actors.view import explainer
from actors.view.explainer import EXPLAIN, Explained, Explainer

ECHO = "import json, sys; print(json.dumps({'kind': 'agent', 'text': ' '.join(sys.argv[1:])}))"
FAIL = 'import sys; print(\'{"error": "no such tick"}\', file=sys.stderr); sys.exit(1)'
HANG = "import time; time.sleep(600)"


def answered(made: Explainer, agent: int, tick: int) -> Explained:
    """Return the explanation, once it is there."""
    while (found := made.get(Path("run"), agent, tick)).state in {"waiting", "working"}:
        pass
    return found


def test_the_command_is_asked_for_the_turn_and_its_answer_is_passed_on() -> None:
    made = Explainer((sys.executable, "-c", ECHO))
    for agent, tick in ((3, 7), (4, 8)):
        found = answered(made, agent, tick)
        assert f"{Path('run').resolve()} --agent {agent} --tick {tick} --json" in rendered(found.parts)
        assert found.state == "done"


def test_a_turn_that_cannot_be_worked_out_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answered(Explainer((sys.executable, "-c", FAIL)), 1, 2).problem == "no such tick"
    made = Explainer((str(tmp_path / "nothing"),))
    for tick in (2, 3):  # the next is tried
        assert "cannot be begun" in answered(made, 1, tick).problem
    monkeypatch.setattr(explainer, "LIMIT_S", 0.2)
    found = answered(Explainer((sys.executable, "-c", HANG)), 1, 2)
    assert found.state == "failed"
    assert "prism explain run --agent 1 --tick 2" in found.problem


@pytest.mark.slow
def test_no_module_is_imported_from_the_directory_that_somebody_stands_in(tmp_path: Path) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit('foreign code')\n")
    ended = subprocess.run((*EXPLAIN, "--help"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "foreign code" not in ended.stderr
    assert ended.returncode == 0
