"""`prism runs --question`: a question that was asked, found by the id that a model's server was sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from actors.cli.exit_codes import EXIT_FAILED
from actors.core.errors import ActorError
from actors.display.console import echo
from actors.persistence.oracle_log import LoggedAnswer
from actors.runs.questions import FoundQuestion, find_question
from prism.agents import Question, Update
from prism.llm.question_id import find_id
from prism.llm.spending import Spent
from prism.quoting import quoted


def show_question(text: str, root: Path, paths: list[Path]) -> None:
    """Print the question with an id, of every run that has asked it. Without any the exit code is 1.

    Args:
        text: the id, or a text that has it, such as a line of a server's log.
        root: the directory that was searched, `paths`: those of the runs in it.
    """
    parts = find_id(text)
    if parts is None:
        problem = f"expected the header X-Request-Id, such as 340-12-9f86d081884c7d65-1-1-5f3a9c, got {text!r}"
        raise click.BadParameter(problem, param_hint="'--question'")
    tick, agent, wanted = parts
    is_found = False
    for path in paths:
        try:
            found = find_question(path, tick, agent, wanted)
        except ActorError as error:
            echo(f"prism: {path}: cannot be searched: {error}", err=True)
            continue
        if found is not None:
            is_found = True
            echo("\n".join([f"{path}: question {wanted}", *_lines(found, tick, agent)]))
    if not is_found:
        runs = "1 run" if len(paths) == 1 else f"{len(paths):,} runs"
        echo(f"prism: {root}: no question {wanted} in {runs}", err=True)
        sys.exit(EXIT_FAILED)


def _lines(found: FoundQuestion, tick: int, agent: int) -> Iterator[str]:
    """Yield what is known of a question, a line each. Texts of people and models stand in JSON, which hides no code."""
    if found.question is None:
        yield f"  asked    by agent {agent} in tick {tick}; the tick is not in the journal, so it may be another"
    else:
        yield from _question_lines(found.question)
    if found.answer is None:
        yield "  answer   not in oracle.log"
    else:
        yield from _answer_lines(found.answer)
    if found.question is not None:
        yield f"  effect   {_effect(found.effect)}"


def _question_lines(question: Question[Any]) -> Iterator[str]:
    yield f"  asked    by agent {question.agent} in tick {question.tick}, on {question.trigger} in {question.state}"
    yield f"  options  {', '.join(question.options)}"
    if question.context is not None:
        yield f"  context  {quoted(question.context)}"


def _answer_lines(answer: LoggedAnswer) -> Iterator[str]:
    how = f", {answer.reason}" if answer.reason else f" by {answer.method}" if answer.method else ""
    yield f"  answer   {answer.state}, from {answer.source}{how}, after {answer.latency_s:.3f} s"
    if answer.content:
        yield f"  content  {quoted(answer.content)}"
    if answer.spent:
        yield f"  calls    {', '.join(map(_calls, answer.spent))}"
    elif not answer.reason:
        yield "  calls    none of its own: an identical question was under way, or a tape had the answer"


def _calls(spent: Spent) -> str:
    return f"{spent.calls} {spent.outcome} ({spent.prompt_tokens:,} tokens in, {spent.completion_tokens:,} out)"


def _effect(update: Update[Any] | None) -> str:
    if update is None:
        return "none in the journal"
    stale = f", {update.reason}" if update.reason else ""
    return f"in tick {update.tick}: from {update.from_state} to {update.to_state}{stale}"
