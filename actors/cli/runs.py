"""`prism runs`: lists runs with their status, or shows a question by the id that PRISM sent to a model's server."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from actors.cli.exit_codes import EXIT_FAILED
from actors.cli.options import Directory
from actors.cli.tables import table
from actors.core.errors import ActorError, RunDirectoryError
from actors.core.messages import Decided
from actors.core.phase import Phase
from actors.display.console import SafeConsole, echo
from actors.display.words import duration
from actors.runs.questions import FoundQuestion, find_question
from actors.store.listing import ListedRun, RunStatus, run_paths, runs_in
from actors.store.phase_file import PhaseNote
from prism.agents import Question, Update
from prism.llm.question_id import find_id
from prism.llm.spending import Spent
from prism.quoting import printable, quoted
from prism.wording import counted

WIDEST = 10_000
"""Columns that a table may have if it is not shown on a terminal."""
RESUMABLE = {"yes": "resumable", "no": "not resumable", "--ticks": "can be made longer with resume --ticks N"}
"""The column `resumable` in words."""


@click.command()
@click.argument("root", metavar="[DIR]", default="runs", type=Directory())
@click.option(
    "--question",
    metavar="ID",
    help="Show the question with this id, or the header X-Request-Id that a server got, instead of the list.",
)
def runs(root: Path, question: str | None) -> None:
    """List the runs in a directory, the newest first, with their state.

    DIR (default: runs) may also be a single run. With --question it shows a question that one of the runs asked.

    If a process works on a run, its state is its phase: starting, recovering, running, waiting_for_oracle,
    waiting_for_disk, stopping or ended; the note says since when, and why it waits. If no process works on it:

    \b
    done      it has all its ticks; `prism resume --ticks` makes it longer
    stopped   it ended early on purpose, as the note says; `prism resume` continues it
    crashed   it ended otherwise; `prism resume` continues it
    damaged   its journal or configuration cannot be read; `prism verify` shows why
    """
    try:
        if question is not None:
            show_question(question, root, run_paths(root))
            return
        lines = runs_in(root)
    except OSError as error:
        raise RunDirectoryError(f"{root}: cannot be listed: {error.strerror}") from None
    if not lines:
        echo(f"{root}: no runs")
        return
    listed = _table(lines)
    console = SafeConsole()
    width = console.measure(listed, options=console.options.update(max_width=WIDEST)).maximum
    if console.is_terminal and width > console.width:
        echo("\n".join(_block(line, console.width) for line in lines))
    else:
        SafeConsole(width=width).print(listed)


def _table(lines: list[ListedRun]) -> Table:
    """Return a table with a row for each run."""
    return table(
        ("run", "domain", "state", "resumable", ">ticks", ">of", ">agents", "digest", "note"),
        (
            (
                *(str(line.path), line.domain, _state(line), _resumable(line)),
                *(f"{line.ticks:,}", f"{line.length:,}", f"{line.agents:,}", line.digest, _note(line)),
            )
            for line in lines
        ),
    )


def _block(line: ListedRun, width: int) -> str:
    """Return one run as lines, for a terminal that is too narrow for a row. Notes are wrapped."""
    rows = [
        str(line.path),
        f"  {_state(line)}, {RESUMABLE[_resumable(line)]}",
        f"  {line.domain}" if line.domain else "",
        f"  {line.ticks:,} of {counted(line.length, 'tick')}, {counted(line.agents, 'agent')}",
        f"  digest {line.digest}" if line.digest else "",
        textwrap.fill(_note(line), width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False),
    ]
    return "\n".join(filter(None, rows))


def _state(line: ListedRun) -> str:
    """Return the phase of a run that a process works on, and the status of any other."""
    if line.status is not RunStatus.RUNNING:
        return line.status.value
    return Phase.STARTING.value if line.phase is None else line.phase.phase.value


def _resumable(line: ListedRun) -> str:
    """Return whether `prism resume` continues a run; a run that is done needs more ticks for that."""
    if line.status is RunStatus.DONE:
        return "--ticks"
    return "yes" if line.is_resumable else "no"


def _since(phase: PhaseNote) -> str:
    """Return the time for which a phase has lasted, and the reason for it."""
    return f"for {duration(max(0.0, time.time() - phase.since))}{f' ({phase.reason})' if phase.reason else ''}"


def _note(line: ListedRun) -> str:
    """Return the notes: on phase and process, what stopped the run, its parent, and what is unlike its settings."""
    notes = [
        None if line.phase is None else _since(line.phase),
        line.holder,
        f"by {line.stopped_by}" if line.stopped_by else None,
        counted(line.fallbacks, "fallback") if line.fallbacks else None,
        f"fork of {line.parent}" if line.parent else None,
        *map(printable, line.remarks),
    ]
    return ", ".join(filter(None, notes))


def show_question(text: str, root: Path, paths: list[Path]) -> None:
    """Print the question with an id, of every run that has asked it. Without any the exit code is 1."""
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
    """Yield the facts about a question, a line each. Texts of people and models are JSON, which shows every code."""
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


def _answer_lines(answer: Decided) -> Iterator[str]:
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
