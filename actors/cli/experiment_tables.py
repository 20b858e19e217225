"""The outcome of an experiment as tables for the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from actors.display.console import unwrapped_console
from actors.display.words import usd
from actors.studies.experiments.outcome import OUTCOME, RESULTS, Judged, Outcome
from actors.studies.experiments.plan import Plan
from actors.studies.experiments.seals import NONE, SCORE_COLUMNS, SCORES_SAID, score_cells
from actors.studies.experiments.shared_oracle import ModelUse
from prism.experiment import SAMPLED, Comparison, PredictionScores
from prism.quoting import printable

ROWS_SHOWN, EFFECTS_SHOWN, ANSWERS_SHOWN = 60, 60, 12
"""The most rows, groups and answers that are shown; the files have all."""


def print_outcome(outcome: Outcome, made: Plan, out: Path) -> None:
    """Print the means, the comparisons, the variance, the effects of factors, and the thresholds."""
    console = unwrapped_console()
    console.print(Text(printable(outcome.question), style="bold"))
    for line in _answers(outcome, made):
        console.print(line)
    console.print(Text())
    console.print(_means(outcome))
    if len(outcome.conditions) > ROWS_SHOWN:
        console.print(Text(f"and {len(outcome.conditions) - ROWS_SHOWN:,} rows more: {out / OUTCOME}", style="dim"))
    for part in _parts(outcome, made):
        console.print(Text())
        console.print(part)
    for line in [*twins(made), *_remarks(outcome)]:
        console.print(line)
    console.print(Text(f"table: {out / RESULTS}; outcome: {out / OUTCOME}; plan {made.hash[:16]}", style="dim"))
    console.print(Text(f"as a page: {page_command(out)}, or prism view {shlex.quote(str(out))}", style="dim"))


def page_command(out: Path) -> str:
    """Return the command that makes a page of an experiment, and makes it anew each time."""
    return f"prism report {shlex.quote(str(out))} --out {shlex.quote(f'{out.name}.html')} --force"


def _parts(outcome: Outcome, made: Plan) -> Iterator[RenderableType]:
    if outcome.predictions is not None:
        yield predictions_table(outcome.predictions)
    if outcome.comparisons:
        yield Group(*_comparisons(outcome, made))
    if outcome.effects:
        yield _effects(outcome)
    if outcome.variance:
        yield _variance(outcome)


def _answers(outcome: Outcome, made: Plan) -> Iterator[Text]:
    """Yield the answers in sentences, each with the number of its hypothesis if there are several, and their limits."""
    numbers = {each.with_test: place for place, each in enumerate(made.experiment.hypotheses, start=1)}
    for answer in outcome.answers[:ANSWERS_SHOWN]:
        number = f" [H{numbers[answer.hypothesis]}]" if len(numbers) > 1 else ""
        yield Text(printable(f"{answer.text}{number}"))
    if len(outcome.answers) > ANSWERS_SHOWN:
        yield Text(f"and {len(outcome.answers) - ANSWERS_SHOWN:,} answers more: {OUTCOME}", style="dim")
    if outcome.predictions is not None:
        yield Text(printable(outcome.predictions.text))
    yield Text(printable(" ".join([*outcome.caveats, str(outcome.made_of)])), style="dim")


def _means(outcome: Outcome) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("condition", "measure"):
        table.add_column(name, overflow="fold")
    for name in ("mean", "95% interval", "sd", "seeds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in outcome.conditions[:ROWS_SHOWN]:
        each = row.over_seeds
        named = (Text(printable(row.condition)), Text(printable(row.measure)))
        table.add_row(*named, f"{each.mean:.4g}", interval(each.low, each.high), f"{each.sd:.3g}", f"{each.count:,}")
    return table


def _remarks(outcome: Outcome) -> Iterator[Text]:
    for judged in outcome.thresholds:
        yield Text(printable(threshold_said(judged)), style="green" if judged.is_met else "red")
    if outcome.stopped is not None:
        yield Text(printable(f"seeds: {outcome.stopped}"))
    for line in outcome.remarks:
        yield Text(printable(f"! {line}"), style="bold yellow")
    for note in [*outcome.notes, *(outcome.predictions.notes if outcome.predictions else ())]:
        yield Text(printable(f"! {note}"), style="yellow")
    if outcome.model is not None:
        yield Text(printable(_use(outcome.model)))
    if outcome.missing:
        yield Text(printable(f"without a result: {_missing(outcome.missing)}"), style="yellow")


def threshold_said(judged: Judged) -> str:
    """Return a threshold in words, with the mean that it limits."""
    said = "met" if judged.is_met else "missed"
    return f"threshold {judged.threshold}: {judged.mean:.4g} ({judged.condition}): {said}"


def _comparisons(outcome: Outcome, made: Plan) -> Iterator[RenderableType]:
    """Yield the hypotheses as lines, each with its effect size, and a table with a row for each."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for name in ("difference", "95% interval", "p", "p (Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("supported", no_wrap=True)
    found = {each.hypothesis.with_test: each for each in outcome.comparisons}
    for number, hypothesis in enumerate(made.experiment.hypotheses, start=1):
        each = found.get(hypothesis.with_test)
        if each is None:  # not tested: a note says so
            continue
        is_exploratory = hypothesis.with_test in outcome.exploratory
        note = ", exploratory: not planned before the first result" if is_exploratory else ""
        yield Text(printable(f"H{number}  {hypothesis.with_test}{note}"))
        yield Text(printable(f"    {_effect_size(each)}"))
        between = (f"{each.difference.mean:.4g}", interval(each.difference.low, each.difference.high))
        table.add_row(f"H{number}", *between, f"{each.p:.3g}", f"{each.p_holm:.3g}", "yes" if each.supported else "no")
    yield table
    yield Text("an interval is for its difference alone; supported follows from p (Holm)", style="dim")


def _effect_size(comparison: Comparison) -> str:
    """Return the effect size in words, with the number of seeds."""
    value = NONE if comparison.effect_value is None else f"{comparison.effect_value:.2f}"
    ends = interval(comparison.effect_low, comparison.effect_high, ".2f")
    known = "" if ends == NONE else f" ({ends})"
    return f"{comparison.effect} {value}{known}, {comparison.counted}"


def _effects(outcome: Outcome) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("measure", "factor", "effect"):
        table.add_column(name, overflow="fold")
    for name in ("value", "95% interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in outcome.effects[:EFFECTS_SHOWN]:
        named = (
            Text(printable(text)) for text in (each.measure, each.factor, each.level or each.kind.replace("_", " "))
        )
        table.add_row(*named, f"{each.value:.4g}", interval(each.low, each.high))
    return table


def _variance(outcome: Outcome) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("measure", "variance of"):
        table.add_column(name, overflow="fold")
    for name in ("share", "95% interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in outcome.variance:
        for share in each.shares:
            named = (Text(printable(each.measure)), share.source.replace("_", " "))
            table.add_row(*named, f"{share.share:.1%}", interval(share.low, share.high, ".1%"))
    return table


def predictions_table(found: PredictionScores) -> RenderableType:
    """Return the predictions beside their outcomes, with what their scores mean."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    first, *others = SCORE_COLUMNS
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    for each in found.scores[:ROWS_SHOWN]:
        table.add_row(*map(Text, map(printable, score_cells(each))))
    return Group(table, Text(f"{SCORES_SAID}.", style="dim"))


def interval(low: float | None, high: float | None, form: str = ".4g") -> str:
    """Return an interval in words; `-` if there is none."""
    return NONE if low is None or high is None else f"{low:z{form}} to {high:z{form}}"


def twins(made: Plan) -> Iterator[Text]:
    """Yield a line for conditions that are the same runs: a comparison of them says nothing.

    A sampled design may have points that differ by less than a level, so only their number is shown there.
    """
    if made.experiment.design.kind in SAMPLED:
        firsts = made.cells[:: len(made.experiment.seeds)]
        distinct = len({cell.key for cell in firsts})
        if distinct < len(firsts):
            said = f"! {distinct:,} of {len(firsts):,} points are distinct: equal ones are the same runs, done once"
            yield Text(said, style="bold yellow")
        return
    alike: dict[str, list[str]] = {}
    for cell in made.cells[:: len(made.experiment.seeds)]:
        alike.setdefault(cell.key, []).append(cell.condition)
    for names in alike.values():
        if len(names) > 1:
            said = f"! {', '.join(names)}: the same runs, because their settings are equal"
            yield Text(printable(said), style="bold yellow")


def _missing(missing: Mapping[str, Sequence[int]]) -> str:
    return "; ".join(f"{name}, seeds {', '.join(map(str, seeds))}" for name, seeds in missing.items())


def _use(model: ModelUse) -> str:
    cost = "cost unknown: set llm.prices" if model.usd is None else usd(model.usd)
    failed = f" ({model.failed:,} failed)" if model.failed else ""
    taken = f"{model.from_tape:,} answers from the tape, {model.shared:,} shared"
    lost = ", ".join(
        f"{each.condition} {each.fallbacks:,} of {each.answered + each.fallbacks:,}"
        for each in model.conditions
        if each.fallbacks
    )
    return (
        f"model: {model.calls:,} calls{failed}, {model.prompt_tokens:,} tokens in, {model.completion_tokens:,} out, "
        f"{cost}; this time {taken}; fallbacks: {lost or 'none'}"
    )
