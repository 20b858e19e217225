"""`prism explain`: its lines, its JSON, and what it says to options that do not fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actors.cli.explain_view import explanation_lines, path_lines, what_if_lines
from actors.explain.explanation import (
    AgentPath,
    Counted,
    ExplainedAnswer,
    ExplainedQuestion,
    ExplainedRow,
    ExplainedTurn,
    Explanation,
    ModelReply,
    ModelRequest,
    PathTurn,
    TickDifference,
    WhatIf,
)
from prism.llm.port import Message
from tests.catalogue import catalogue
from tests.command import Prism
from tests.hostile_texts import TEXTS, harms_a_terminal

HOSTILE = pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in TEXTS.items()])


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: they read the disk."""


def first_question(prism: Prism, run: Path) -> tuple[int, int]:
    """Return agent and tick of a question."""
    for agent in range(60):
        path = json.loads(prism("explain", str(run), "--agent", str(agent), "--first", "0", "--json").out)
        for turn in path["turns"]:
            if turn["source"] == "question":
                return agent, turn["tick"]
    pytest.fail("nobody asked anything")


def test_a_path_leads_to_a_question_and_this_to_another_future(small_run: Path, prism: Prism) -> None:
    agent, tick = first_question(prism, small_run)
    path = prism("explain", str(small_run), "--agent", str(agent), "--first", str(tick), "--last", str(tick))
    assert path.code == 0
    assert "?                 asks the oracle" in path.out
    turn = prism("explain", str(small_run), "--agent", str(agent), "--tick", str(tick))
    assert turn.code == 0
    assert f"\ntick {tick}: decides in evaluating, since " in turn.out
    assert "  rows      no    " in turn.out
    assert "  values    post.relevance " in turn.out
    assert "by embedded; decided in tick " in turn.out
    change = ("--what-if", "answer=engaging_like", "--ticks", "3")
    other = prism("explain", str(small_run), "--agent", str(agent), "--tick", str(tick), *change)
    assert other.code == 0
    assert "  answer    engaging_like instead of " in other.out
    assert max(map(len, (path.out + turn.out + other.out).splitlines())) <= 80


@pytest.mark.slow
def test_what_an_agent_has_added_is_worked_out_and_printed(embedded: Path, prism: Prism) -> None:
    shown = prism("explain", str(embedded), "--agent", "0", "--cause", "--of", "likes")
    assert shown.code == 0, shown.err
    assert shown.out.startswith("agent 0 (")
    assert "\n  likes is " in shown.out
    assert "  added     " in shown.out
    assert not (embedded / "causes").exists()


def test_a_post_and_a_quarter_are_shown_in_lines_and_in_json(small_run: Path, economy_run: Path, prism: Prism) -> None:
    summary = json.loads((small_run / "summary.json").read_text())["largest_cascade"]
    root, size = str(summary["root_post"]), summary["size"]
    shown, given = (prism("explain", str(small_run), "--post", root, *more) for more in ((), ("--json",)))
    assert (shown.code, given.code) == (0, 0)
    assert shown.out.count("  why: agent ") >= size
    assert len(json.loads(given.out)["posts"]) == size
    shown, given = (prism("explain", str(economy_run), "--quarter", "2", *more) for more in ((), ("--json",)))
    assert (shown.code, given.code) == (0, 0)
    assert shown.out.startswith("quarter 2 (tick 1) of 4\n  interest_rate ")
    assert [each["name"] for each in json.loads(given.out)["proposals"]] == ["Ada", "=Bo", "Cy"]


@catalogue(
    ("options", "problem"),
    [
        ((), "expected one of --agent, --post and --quarter, got none of them"),
        (("--agent", "1", "--post", "2"), "expected one of --agent, --post and --quarter, got --agent and --post"),
        (("--post", "2", "--tick", "3"), "--tick goes with --agent"),
        (("--agent", "1", "--tick", "3", "--first", "2"), "--first and --last choose from the path of an agent"),
        (("--agent", "1", "--first", "9", "--last", "3"), "expected a tick from --first 9 on, got 3"),
        (("--post", "2", "--last", "2"), "--first and --last choose from the path of an agent"),
        (("--agent", "1", "--ticks", "3"), "--ticks and --ask go with --what-if"),
        (("--agent", "1", "--ask"), "--ticks and --ask go with --what-if"),
        (("--agent", "1", "--what-if", "answer=idle"), "--what-if goes with --agent and --tick"),
        (("--agent", "1", "--tick", "3", "--what-if", "idle"), "expected answer=STATE, got 'idle'"),
        (("--agent", "1", "--of", "likes"), "--of goes with --cause"),
        (("--post", "2", "--cause"), "--cause goes with --agent, without --tick"),
        (("--agent", "1", "--cause", "--tick", "3"), "--cause goes with --agent, without --tick"),
        (("--agent", "1", "--tick", "3", "--what-if", "mood=idle"), "expected answer=STATE, got 'mood=idle'"),
    ],
)
def test_options_that_do_not_fit_are_a_wrong_usage(
    options: tuple[str, ...], problem: str, small_run: Path, prism: Prism
) -> None:
    ended = prism("explain", str(small_run), *options)
    assert ended.code == 2
    assert problem in " ".join(ended.err.split())


def test_what_there_is_not_is_one_clear_line_and_exit_code_2(small_run: Path, prism: Prism) -> None:
    for options, problem in (
        (("--agent", "60"), "there is no agent 60; the run has the agents 0 to 59"),
        (("--agent", "1", "--tick", "72"), "there is no tick 72; the run has the ticks 0 to 71"),
        (("--post", "1"), "there is no post 1 in the ticks 0 to 71"),
        (("--quarter", "1"), "is no economy, so it has no quarters"),
    ):
        ended = prism("explain", str(small_run), *options)
        assert ended.code == 2, options
        assert problem in ended.err
    assert prism("explain", "nowhere", "--agent", "1").code == 2


def a_question(text: str) -> ExplainedQuestion:
    """Return a question with this text wherever a person or a model could have put one."""
    return ExplainedQuestion(
        id="1-2-0123456789abcdef",
        tick=1,
        agent=2,
        trigger="decides",
        state="evaluating",
        options=("scrolling", "composing"),
        requests=(
            ModelRequest(
                kind="chat",
                messages=(Message(role="user", content=text),),
                reply=ModelReply(text=text, model=text, problem=text),
            ),
            ModelRequest(kind="systemone", state=text, instructions=text, options={text: text}),
        ),
        answer=ExplainedAnswer(state="scrolling", source="llm", content={"text": text}),
    )


def a_turn(text: str) -> ExplainedTurn:
    """Return a turn with this text wherever a person or a model could have put one."""
    row = ExplainedRow(
        name=text, target="idle", level=1, guard=text, values={"a": text}, outcome="raised", error=text, is_taken=True
    )
    return ExplainedTurn(
        tick=1,
        agent=2,
        name=text,
        profile={"name": text, "interests": [text]},
        trigger="decides",
        context={"text": text, "deep": {"er": [text]}},
        state="evaluating",
        ticks_in_state=0,
        rows=(row,),
        question=a_question(text),
        is_decision=False,
        to_state="scrolling",
        source="llm",
        reason=text,
        effect={"text": text},
        events=({"kind": "like", "post": 1, "parent": None, "words": "like 1"},),
    )


@HOSTILE
def test_no_text_reaches_the_terminal_as_an_escape(text: str) -> None:
    text = text[:2_000]
    explanation = Explanation(agent=2, name=text, ticks=3, turns=(a_turn(text),), notes=(text,))
    step = PathTurn(tick=1, trigger=text, from_state=text, to_state=text, source="llm", reason=text)
    path = AgentPath(agent=2, name=text, ticks=3, turns=(step,), turns_in_all=1, questions_in_all=0, notes=(text,))
    facts: dict[str, Any] = {"trigger": text, "state": text, "was": text, "would_be": text, "notes": (text,)}
    future = WhatIf(
        agent=2,
        name=text,
        asked=1,
        decided_in=1,
        options=(text,),
        until=3,
        path_was=(step,),
        path_would_be=(),
        ticks=(TickDifference(tick=1, agents=1, acting=1),),
        events=(),
        states=(),
        totals=(Counted(name=text, was=1, would_be=2),),
        agents=(),
        posts=(),
        recorded=0,
        taped=0,
        computed=0,
        asked_now=0,
        **facts,
    )
    for lines in (explanation_lines(explanation), path_lines(path), what_if_lines(future)):
        for line in lines:
            assert not harms_a_terminal(line)
            assert "\n" not in line
