"""`prism explain`: its lines, its JSON, and what it says to options that do not fit."""

import json
import re
from pathlib import Path

import pytest

from actors.explain.tree import COLUMNS, Node, lines
from tests.actors.cli.conftest import Made
from tests.command import Prism
from tests.hostile_texts import TEXTS, harms_a_terminal

HOSTILE = pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in TEXTS.items()])


def first_question(prism: Prism, run: Path) -> tuple[int, int]:
    """Return agent and tick of a question."""
    for agent in range(60):
        path = json.loads(prism("explain", str(run), "--agent", str(agent), "--first", "0", "--json").out)
        for turn in path["children"]:
            if turn.get("value", {}).get("source") == "question":
                return agent, turn["value"]["tick"]
    pytest.fail("nobody asked anything")


def test_a_path_leads_to_a_question_and_this_to_another_future(small_run: Path, prism: Prism) -> None:
    agent, tick = first_question(prism, small_run)
    path = prism("explain", str(small_run), "--agent", str(agent), "--first", str(tick), "--last", str(tick))
    assert path.code == 0
    assert path.out.rstrip().splitlines()[-3].split()[-4:] == ["?", "asks", "the", "oracle"]
    turn = prism("explain", str(small_run), "--agent", str(agent), "--tick", str(tick))
    assert turn.code == 0
    assert f"\ntick {tick}: decides in evaluating, since " in turn.out
    assert "  row       no    " in turn.out
    assert "  values    post.relevance " in turn.out
    assert "by embedded; decided in tick " in turn.out
    change = ("--what-if", "answer=engaging_like", "--ticks", "3")
    other = prism("explain", str(small_run), "--agent", str(agent), "--tick", str(tick), *change)
    assert other.code == 0
    assert "  answer    engaging_like instead of " in other.out
    assert max(map(len, (path.out + turn.out + other.out).splitlines())) <= 80


def test_a_post_is_shown_in_lines_and_in_json(small_run: Path, prism: Prism) -> None:
    summary = json.loads((small_run / "summary.json").read_text())["largest_cascade"]
    root, size = str(summary["root_post"]), summary["size"]
    shown, given = (prism("explain", str(small_run), "--post", root, *more) for more in ((), ("--json",)))
    assert (shown.code, given.code) == (0, 0)
    assert shown.out.count("  why       tick ") >= size
    assert sum(each["kind"] == "post" for each in json.loads(given.out)["children"]) == size


def test_an_agent_without_turns_leads_to_one_that_has_some(made: Made, prism: Prism) -> None:
    run = made("--set", "population.activity.mean=0.05", "--ticks", "24")
    for agent in map(str, range(60)):
        told = prism("explain", str(run), "--agent", agent).out
        if ": 0 turns in 24 ticks" in told:
            assert re.search(r"it has had no turn at all; .* \(person \d+\) has had most: \d+ turns", told)
            other = re.findall(r"\(person (\d+)\)", told)[-1]
            assert ": 0 turns" not in prism("explain", str(run), "--agent", other).out.splitlines()[0]
            refused = prism("explain", str(run), "--agent", agent, "--tick", "3").err
            assert f"it has had no turn at all; {told.rpartition('at all; ')[2].strip()}" in refused
            return
    pytest.fail("everybody had a turn")


@HOSTILE
def test_no_text_reaches_the_terminal_as_an_escape(text: str) -> None:
    text = text[:2_000]
    inner = Node(kind=text, text=text, value={text: text}, children=(Node(kind=text, value={text: [text]}),))
    rows = (Node(kind=COLUMNS, cells=(text, text)), Node(kind="turn", cells=(text, text)))
    said = Node(kind="text", text=text, value={"name": text})
    tree = Node(kind="agent", text=text, children=(inner, *rows, said, Node(kind="turn", text=text, children=(inner,))))
    for line in lines(tree):
        assert not harms_a_terminal(line)
        assert "\n" not in line
