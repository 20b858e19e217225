"""Turns that are worked out for the page, by stand-ins for the command."""

import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from actors.core.errors import RunDirectoryError
from actors.pages.html import rendered
from actors.view import explainer
from actors.view.explainer import EXPLAIN, Explainer

ECHO = "import json, sys; print(json.dumps({'kind': 'agent', 'text': ' '.join(sys.argv[1:])}))"
FAIL = 'import sys; print(\'{"error": "no such tick"}\', file=sys.stderr); sys.exit(1)'
HANG = "import time; time.sleep(600)"
HANG_ONCE = f"import sys, time; time.sleep(600 * ('1' == sys.argv[5])); {ECHO}"


def problem_of(made: Explainer, agent: int, tick: int) -> str:
    """Return why a turn cannot be explained."""
    with pytest.raises(RunDirectoryError) as refused:
        made.get(Path("run"), agent, tick)
    return str(refused.value)


def test_the_command_is_asked_for_the_turn_and_its_answer_is_passed_on() -> None:
    made = Explainer((sys.executable, "-c", ECHO))
    for agent, tick in ((3, 7), (4, 8)):
        said = rendered(made.get(Path("run"), agent, tick))
        assert f"{Path('run').resolve()} --agent {agent} --tick {tick} --json" in said


def test_a_turn_that_cannot_be_worked_out_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert problem_of(Explainer((sys.executable, "-c", FAIL)), 1, 2) == "no such tick"
    made = Explainer((str(tmp_path / "nothing"),))
    for tick in (2, 3):  # the next is tried
        assert "cannot be begun" in problem_of(made, 1, tick)
    assert "not worked out here" in problem_of(Explainer(()), 1, 2)
    monkeypatch.setattr(explainer, "LIMIT_S", 0.2)
    assert "prism explain run --agent 1 --tick 2" in problem_of(Explainer((sys.executable, "-c", HANG)), 1, 2)


def test_a_later_question_ends_an_earlier_one() -> None:
    made = Explainer((sys.executable, "-c", HANG_ONCE))
    earlier: list[str] = []
    waiting = Thread(target=lambda: earlier.append(problem_of(made, 0, 1)))
    waiting.start()
    while made._process is None:
        waiting.join(0.01)
    assert "--tick 2" in rendered(made.get(Path("run"), 0, 2))
    waiting.join()
    assert "another turn was asked for" in earlier[0]


@pytest.mark.slow
def test_no_module_is_imported_from_the_directory_that_somebody_stands_in(tmp_path: Path) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit('foreign code')\n")
    ended = subprocess.run((*EXPLAIN, "--help"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "foreign code" not in ended.stderr
    assert ended.returncode == 0
