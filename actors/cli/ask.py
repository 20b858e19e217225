"""`prism ask`: puts a questionnaire to people of a run, as they were at a moment of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import anyio
import click
import msgspec
from rich.console import RenderableType

from actors.cli.command import command, count_option, option, path_option
from actors.cli.options import RUN, TRUST, ask_to_run_code, out_option, set_option, with_log_options
from actors.cli.render import line, show, table
from actors.cli.run import logging_trouble, with_progress
from actors.core.errors import ungrouped
from actors.display.progress import Standing, progress_shown
from actors.logs.output import say
from actors.results.ask import Asked, Survey
from actors.runs.signals import ended_by_signals
from actors.tables.files import FORMATS

BAR_WIDTH = 24
SHOWN_AFTER_S = 2.0
"""The time after which the progress of the re-execution is shown."""


@command()
@RUN
@path_option("--questions", required=True, help="The questionnaire, a YAML file: docs/language-models.md.")
@count_option(
    "--at",
    least=0,
    metavar="ROUND",
    help="Ask at the end of this round; 0 is the beginning.  [default: as FILE says, or the end of the run]",
)
@option(
    "--agents",
    metavar="A,...",
    default="",
    show_default=False,
    help="Ask these people: 0-99,120,Ada Novak.  [default: all]",
)
@option("--to", "form", type=click.Choice(FORMATS), default="csv", help="Format of the table.")
@out_option("Directory of the answers.", "NAME-answers here")
@set_option("oracle.backend=ollama")
@TRUST
@with_log_options
def ask(  # one for each option
    path: Path, *, questions: Path, at: int | None, agents: str, form: str, out: Path | None, overrides: Sequence[str]
) -> None:
    """Put a questionnaire to people of a run, as they were at a moment of it.

    RUN is the run's directory; none of its files changes. People answer with the persona and the attributes that they
    had then, and with what they had lately seen and done in mind.

    The oracle is that of the run, unless --set names another; its limits and caps count these calls alone. Without a
    model, the expressions of the questionnaire answer. Answers stay after Ctrl-C, and the same command goes on with
    them; --set oracle.tape=replay takes them from DIR again, without a server.
    """
    ask_to_run_code(path, overrides)
    where = out or Path(f"{path.resolve().name}-answers")
    survey = Survey(path, questions, at=at, agents=agents, out=where, overrides=overrides)
    with_progress(survey.gather, after_s=SHOWN_AFTER_S)

    def standing() -> Standing:
        words = f"asking: {survey.answers:,} of {survey.wanted:,} answers"
        return Standing(words, survey.answers, survey.wanted)

    try:
        with ended_by_signals(), survey.kept(form), progress_shown(standing), logging_trouble(), ungrouped():
            anyio.run(survey.ask)
    except BaseException:
        if survey.answers:
            say(
                f"{survey.answers:,} of {survey.wanted:,} answers are in {where}; the same command goes on with them",
                level="warning",
            )
        raise
    found = survey.outcome()
    show({"directory": where, **msgspec.structs.asdict(found)}, partial(_view, found, where), brief=str(where))
    for note in found.notes:
        say(note)


def _view(asked: Asked, where: Path) -> Iterator[RenderableType]:
    yield from (change.sentence for each in asked.outcomes for change in each.changes)
    for each in asked.outcomes:
        yield ""
        yield line(f"{each.id}: {each.text}", "bold")
        for moment in asked.moments:
            mean = f", mean {each.means[moment]:.2f}" if moment in each.means else ""
            yield f"{moment}: {each.answered[moment]:,} of {asked.people:,} people{mean}"
            if each.counts:
                counts, most = each.counts[moment].items(), max(1, *each.counts[moment].values())
                yield table(("", ">", ""), [(f"  {name}", n, "█" * round(BAR_WIDTH * n / most)) for name, n in counts])
        if each.repeated is not None:
            yield f"asked again, {each.repeated:.0%} gave the same answer"
    missing = ", ".join(f"{reason} {count:,}" for reason, count in asked.missing.items())
    without = f"; without an answer: {missing}" if missing else ""
    yield from ("", f"{asked.answered:,} of {asked.wanted:,} answers{without}")
    yield f"oracle: {asked.oracle}; answers in {where}"
