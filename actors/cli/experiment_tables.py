"""The outcome of an experiment as tables for the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from actors.cli.render import NONE, interval, line, table
from actors.display.words import usd
from actors.studies.experiments.outcome import OUTCOME, RESULTS, Judged, Outcome
from actors.studies.experiments.plan import Plan
from actors.studies.experiments.seals import SCORE_COLUMNS, SCORES_SAID, score_cells
from actors.studies.experiments.shared_oracle import ModelUse
from prism.experiment import SAMPLED, PredictionScores

ROWS_SHOWN, EFFECTS_SHOWN, ANSWERS_SHOWN = 60, 60, 12
"""The most rows, groups and answers that are shown; the files have all."""


def page_command(out: Path) -> str:
    """Return the command that makes a page of an experiment, and makes it anew each time."""
    return f"prism report {shlex.quote(str(out))} --out {shlex.quote(f'{out.name}.html')} --force"


def outcome_parts(outcome: Outcome, made: Plan, out: Path) -> Iterator[RenderableType]:
    """Yield the answers, the means, the comparisons, the effects of factors, and the thresholds."""
    yield line(outcome.question, "bold")
    # The answers in sentences, each with the number of its hypothesis if there are several, and their limits.
    numbers = {each.with_test: place for place, each in enumerate(made.experiment.hypotheses, start=1)}
    for answer in outcome.answers[:ANSWERS_SHOWN]:
        yield line(f"{answer.text} [H{numbers[answer.hypothesis]}]" if len(numbers) > 1 else answer.text)
    if len(outcome.answers) > ANSWERS_SHOWN:
        yield line(f"and {len(outcome.answers) - ANSWERS_SHOWN:,} answers more: {OUTCOME}", "dim")
    if outcome.predictions is not None:
        yield line(outcome.predictions.text)
    yield line(" ".join([*outcome.caveats, str(outcome.made_of)]), "dim")
    yield ""
    means = ((row.condition, row.measure, row.over_seeds) for row in outcome.conditions[:ROWS_SHOWN])
    yield table(
        ("condition", "measure", ">mean", ">95% interval", ">sd", ">seeds"),
        ((*names, f"{n.mean:.4g}", interval(n.low, n.high), f"{n.sd:.3g}", n.count) for *names, n in means),
    )
    if len(outcome.conditions) > ROWS_SHOWN:
        yield line(f"and {len(outcome.conditions) - ROWS_SHOWN:,} rows more: {out / OUTCOME}", "dim")
    if outcome.predictions is not None:
        yield from ("", *predictions_parts(outcome.predictions))
    if outcome.comparisons:
        yield from ("", *_comparisons(outcome, made))
    if outcome.effects:
        found = [
            (
                each.measure,
                each.factor,
                each.level or each.kind.replace("_", " "),
                each.value,
                interval(each.low, each.high),
            )
            for each in outcome.effects[:EFFECTS_SHOWN]
        ]
        yield from ("", table(("measure", "factor", "effect", ">value", ">95% interval"), found))
    yield from twins(made)
    for judged in outcome.thresholds:
        yield line(threshold_said(judged), "green" if judged.is_met else "red")
    for remark in outcome.remarks:
        yield line(f"! {remark}", "bold yellow")
    for note in [*outcome.notes, *(outcome.predictions.notes if outcome.predictions else ())]:
        yield line(f"! {note}", "yellow")
    if outcome.model is not None:
        yield line(_use(outcome.model))
    if outcome.missing:
        lost = (f"{name}, seeds {', '.join(map(str, seeds))}" for name, seeds in outcome.missing.items())
        yield line(f"without a result: {'; '.join(lost)}", "yellow")
    yield line(f"table: {out / RESULTS}; outcome: {out / OUTCOME}; plan {made.hash[:16]}", "dim")
    yield line(f"as a page: {page_command(out)}, or prism view {shlex.quote(str(out))}", "dim")


def threshold_said(judged: Judged) -> str:
    """Return a threshold in words, with the mean that it limits."""
    said = "met" if judged.is_met else "missed"
    return f"threshold {judged.threshold}: {judged.mean:.4g} ({judged.condition}): {said}"


def _comparisons(outcome: Outcome, made: Plan) -> Iterator[RenderableType]:
    """Yield the hypotheses as lines, each with its effect size, and a table with a row for each."""
    found = {each.hypothesis.with_test: each for each in outcome.comparisons}
    rows = []
    for number, hypothesis in enumerate(made.experiment.hypotheses, start=1):
        each = found.get(hypothesis.with_test)
        if each is None:  # not tested: a note says so
            continue
        is_exploratory = hypothesis.with_test in outcome.exploratory
        note = ", exploratory: not planned before the first result" if is_exploratory else ""
        yield line(f"H{number}  {hypothesis.with_test}{note}")
        value = NONE if each.effect_value is None else f"{each.effect_value:.2f}"
        ends = interval(each.effect_low, each.effect_high, ".2f")
        yield line(f"    {each.effect} {value}{'' if ends == NONE else f' ({ends})'}, {each.counted}")
        between = (f"{each.difference.mean:.4g}", interval(each.difference.low, each.difference.high))
        rows.append((f"H{number}", *between, f"{each.p:.3g}", f"{each.p_holm:.3g}", "yes" if each.supported else "no"))
    yield table(("", ">difference", ">95% interval", ">p", ">p (Holm)", "supported"), rows)
    yield line("an interval is for its difference alone; supported follows from p (Holm)", "dim")


def predictions_parts(found: PredictionScores) -> Iterator[RenderableType]:
    """Yield the predictions beside their outcomes, with what their scores mean."""
    first, *others = SCORE_COLUMNS
    rows = map(score_cells, found.scores[:ROWS_SHOWN])
    yield table((first, *(f">{name}" for name in others)), rows)
    yield line(f"{SCORES_SAID}.", "dim")


def twins(made: Plan) -> Iterator[Text]:
    """Yield a line for conditions that are the same runs: a comparison of them says nothing.

    A sampled design may have points that differ by less than a level, so only their number is shown there.
    """
    if made.experiment.design.kind in SAMPLED:
        firsts = made.cells[:: len(made.experiment.seeds)]
        distinct = len({cell.key for cell in firsts})
        if distinct < len(firsts):
            said = f"! {distinct:,} of {len(firsts):,} points are distinct: equal ones are the same runs, done once"
            yield line(said, "bold yellow")
        return
    alike: dict[str, list[str]] = {}
    for cell in made.cells[:: len(made.experiment.seeds)]:
        alike.setdefault(cell.key, []).append(cell.condition)
    for names in alike.values():
        if len(names) > 1:
            yield line(f"! {', '.join(names)}: the same runs, because their settings are equal", "bold yellow")


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
