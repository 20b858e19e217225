"""Turns that are worked out for the page, by stand-ins for the command, and how they are shown there."""

import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from actors.core.errors import RunDirectoryError
from actors.explain.tree import COLUMNS, Node
from actors.pages.page import rendered
from actors.view import explainer
from actors.view.explainer import EXPLAIN, Explainer, explanation
from prism.quoting import visible
from tests.actors.pages.test_html import Page
from tests.catalogue import catalogue
from tests.hostile_texts import TEXTS

ECHO = "import json, sys; print(json.dumps({'kind': 'agent', 'text': ' '.join(sys.argv[1:])}))"
FAIL = 'import sys; print(\'{"error": "no such tick"}\', file=sys.stderr); sys.exit(1)'
HANG = "import time; time.sleep(600)"
HANG_ONCE = f"import sys, time; time.sleep(600 * ('1' == sys.argv[5])); {ECHO}"


def problem_of(made: Explainer, agent: int, tick: int) -> str:
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


ROW = Node(
    kind="row",
    text="yes   idle --feed_ready--> scrolling  <- taken",
    value={"name": "idle --feed_ready--> scrolling", "target": "scrolling", "outcome": "true", "is_taken": True},
    children=(Node(kind="if", text="a > 1"),),
)
TREE = Node(
    kind="agent",
    text="Ana (7)",
    children=(
        Node(kind=COLUMNS, cells=("tick", "by")),
        Node(kind="turn", cells=("3", "rule")),
        Node(
            kind="turn",
            text="tick 3: decides",
            children=(
                Node(kind="context", value={"id": 12, "topics": ["art", False]}),
                ROW,
                Node(kind="text", text="Hello\nthere", value={"name": "user"}),
                Node(kind="embedded", text="liking 0.250", value={"probabilities": {"liking": 0.25}}),
            ),
        ),
    ),
)


def test_a_page_has_the_rules_of_a_turn_in_words_and_its_values_without_brackets() -> None:
    said = rendered(explanation(TREE)).replace("\n", "")
    assert '<dt>what it saw</dt><dd><dl class="facts"><div><dt>topics</dt><dd>art, no</dd></div></dl>' in said
    assert "<strong><span>yes idle → feed_ready → scrolling &lt;- taken</span></strong>" in said
    assert "--" not in said
    assert "liking 0.250" in said
    assert {"table", "pre", "code", "dl", "h3"} <= {*Page(said).elements}


@catalogue("text", TEXTS.values())
def test_no_text_becomes_markup(text: str) -> None:
    said = Node(kind="text", text=text, value={"name": text})
    fact = Node(kind=text, text=text, value={"probabilities": {text: 0.5}}, children=(Node(kind="if", text=text),))
    tree = Node(kind="agent", text=text, children=(said, fact, Node(kind=COLUMNS, cells=(text,))))
    seen = Page(rendered(explanation(tree)))
    plain = Page(rendered(explanation(TREE)))
    assert {*seen.elements} <= {*plain.elements, "ul", "li", "h4"}
    assert visible(text).strip("\n") in seen.text
