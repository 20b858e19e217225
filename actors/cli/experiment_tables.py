"""The plan and the outcome of an experiment for the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from msgspec.structs import replace
from rich.console import RenderableType
from rich.text import Text

from actors.cli.render import NONE, interval, line, table
from actors.display.words import duration, usd
from actors.runs.forecast import Forecast, forecast
from actors.studies.experiments.cells import cells_to_do, count_done
from actors.studies.experiments.outcome import OUTCOME, RESULTS, Judged, Outcome
from actors.studies.experiments.plan import Plan, promised_so_far
from actors.studies.experiments.shared_oracle import Asking, ModelUse, asking_of, asks_model, limits_of, used_so_far
from prism.config import Config
from prism.experiment.design import SAMPLED
from prism.experiment.experiment_file import Experiment
from prism.experiment.hypothesis_tests import UNPAIRED, Hypothesis, effect_found, smallest_p
from prism.experiment.predictions import SHARES, PredictionScores
from prism.quoting import printable

ROWS_SHOWN, EFFECTS_SHOWN, ANSWERS_SHOWN = 60, 60, 12
"""The most rows, groups and answers that are shown; the files have all."""


def outcome_parts(outcome: Outcome, made: Plan, out: Path) -> Iterator[RenderableType]:
    yield line(outcome.question, "bold")
    # The answers in sentences, each with the number of its hypothesis if there are several, and their limits.
    numbers = {each.with_test: place for place, each in enumerate(made.experiment.hypotheses, start=1)}
    for answer in outcome.answers[:ANSWERS_SHOWN]:
        yield line(f"{answer.text} [H{numbers[answer.hypothesis]}]" if len(numbers) > 1 else answer.text)
    if len(outcome.answers) > ANSWERS_SHOWN:
        yield line(f"and {len(outcome.answers) - ANSWERS_SHOWN:,} answers more: {OUTCOME}", "dim")
    yield line(" ".join([*outcome.caveats, str(outcome.made_of)]), "dim")
    yield ""
    means = ((row.condition, row.measure, row.over_seeds) for row in outcome.conditions[:ROWS_SHOWN])
    yield table(
        ("condition", "measure", ">mean", ">95% interval", ">sd", ">seeds"),
        ((*names, f"{n.mean:.4g}", interval(n.low, n.high), f"{n.sd:.3g}", n.count) for *names, n in means),
    )
    if len(outcome.conditions) > ROWS_SHOWN:
        yield line(f"and {len(outcome.conditions) - ROWS_SHOWN:,} rows more: {out / OUTCOME}", "dim")
    if outcome.comparisons:
        yield from ("", *_comparisons(outcome, made))
    if outcome.effects:
        found = [
            (one.measure, one.factor, one.level or one.kind.replace("_", " "), one.value, interval(one.low, one.high))
            for one in outcome.effects[:EFFECTS_SHOWN]
        ]
        yield from ("", table(("measure", "factor", "effect", ">value", ">95% interval"), found))
    yield from twins(made)
    for judged in outcome.thresholds:
        yield line(threshold_said(judged), "green" if judged.is_met else "red")
    for remark in outcome.remarks:
        yield line(f"! {remark}", "bold yellow")
    for note in outcome.notes:
        yield line(f"! {note}", "yellow")
    if outcome.model is not None:
        yield line(_use(outcome.model))
    if outcome.missing:
        lost = (f"{name}, seeds {', '.join(map(str, seeds))}" for name, seeds in outcome.missing.items())
        yield line(f"without a result: {'; '.join(lost)}", "yellow")
    yield line(f"table: {out / RESULTS}; outcome: {out / OUTCOME}; plan {made.hash[:16]}", "dim")
    name = shlex.quote(str(out))
    page = f"prism report {name} --out {shlex.quote(f'{out.name}.html')} --force"
    yield line(f"as a page: {page}, or prism view {name}", "dim")


def threshold_said(judged: Judged) -> str:
    said = "met" if judged.is_met else "missed"
    return f"threshold {judged.threshold}: {judged.mean:.4g} ({judged.condition}): {said}"


def _comparisons(outcome: Outcome, made: Plan) -> Iterator[RenderableType]:
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
    columns = ("predicted", *(f">{share:.0%} interval" for share in SHARES), ">came out", ">within", ">CRPS")
    rows = []
    for each in found.scores[:ROWS_SHOWN]:
        if (score := each.score) is None or each.observed is None:
            rows.append([each.outcome, *[NONE] * (len(columns) - 1)])
            continue
        intervals = [f"{low:.4g} to {high:.4g}" for low, high in score.intervals]
        within = next((f"{share:.0%}" for share, holds in zip(SHARES, score.holds, strict=True) if holds), "neither")
        rows.append([each.outcome, *intervals, f"{each.observed:.4g}", within, f"{score.crps:.3g}"])
    yield table(columns, rows)
    yield line("A lower CRPS is better; it is in the unit of the measure.", "dim")


def twins(made: Plan) -> Iterator[Text]:
    """Yield a line for conditions that are the same runs: a comparison of them says nothing.

    A sampled design may have points that differ by less than a level, so only their number is shown there.
    """
    alike: dict[str, list[str]] = {}
    firsts = made.cells[:: len(made.experiment.seeds)]
    for cell in firsts:
        alike.setdefault(cell.key, []).append(cell.condition)
    why = "the same runs, because their settings are equal"
    said = [f"{', '.join(names)}: {why}" for names in alike.values() if len(names) > 1]
    if said and made.experiment.design.kind in SAMPLED:
        said = [f"{len(alike):,} of {len(firsts):,} points are distinct: equal ones are the same runs, done once"]
    for each in said:
        yield line(f"! {each}", "bold yellow")


def _use(model: ModelUse) -> str:
    cost = "cost unknown: set llm.prices" if model.usd is None else usd(model.usd)
    failed = f" ({model.failed:,} failed)" if model.failed else ""
    each = ((one.condition, one.fallbacks, one.answered + one.fallbacks) for one in model.conditions)
    lost = [f"{name} {count:,} of {choices:,}" for name, count, choices in each if count]
    return (
        f"model: {model.calls:,} calls{failed}, {model.prompt_tokens:,} tokens in, {model.completion_tokens:,} out, "
        f"{cost}; this time {model.from_tape:,} answers from the tape, {model.shared:,} shared; "
        f"fallbacks: {', '.join(lost) or 'none'}"
    )


START_S, CELL_S = 1.5, 0.1
"""Seconds until a process of the experiment can take its first cell, and those that a cell takes beside its run."""

REHEARSED_MAX = 12
"""The most conditions that are rehearsed: each takes about a second."""
NAMES_SHOWN = 30
"""The most conditions that are listed by name."""


def plan_parts(made: Plan, out: Path, jobs: int) -> tuple[list[tuple[str, str]], list[Text]]:
    """Return what the plan would run, as names and texts, and lines on what it could find."""
    experiment, begun = made.experiment, perf_counter()
    # The forecast of each condition. Of many conditions only some are rehearsed; the next ones share theirs.
    firsts = made.cells[:: len(made.experiment.seeds)]
    stride = -(-len(firsts) // REHEARSED_MAX)
    rehearsed = [forecast(cell.config) for cell in firsts[::stride]]
    forecasts = {cell.condition: rehearsed[place // stride] for place, cell in enumerate(firsts)}
    left = cells_to_do(made, out)
    asking = [forecasts[cell.condition] for cell in left if asks_model(cell.config)]
    asked = asked_together(asking_of(made), out, asking)
    # The processes start first, and then run `jobs` cells at once.
    runs_s = START_S + sum(CELL_S + run_s(forecasts[cell.condition], cell.config) for cell in left) / jobs
    total, time = len({cell.key for cell in made.cells}), duration(max(asked.least_s, runs_s if left else 0.0))
    rows = [
        ("question", experiment.question),
        ("conditions", f"{len(experiment.conditions):,}: {_named(experiment)}"),
        ("seeds", f"{len(experiment.seeds):,}, the same for every condition"),
        ("cells", f"{total:,}, {len(left):,} of them to do, {jobs:,} at once"),
        ("time", f"about {time} (a rehearsal of {duration(perf_counter() - begun)})"),
    ]
    rows += [*asked.rows, ("directory", str(out)), ("plan", made.hash[:16])]
    return rows, [*_power(made, _together(made, out)), *twins(made)]


def _named(experiment: Experiment) -> str:
    names = [printable(each.name) for each in experiment.conditions]
    if len(names) <= NAMES_SHOWN:
        return ", ".join(names)
    design = experiment.design
    about = f" ({design.kind} of {', '.join(map(printable, design.factors))})" if design.factors else ""
    return f"{', '.join(names[:2])} to {names[-1]}{about}"


def _together(made: Plan, out: Path) -> list[int]:
    """Return the number of tests in each correction: planned ones among themselves, exploratory ones among all."""
    hypotheses = made.experiment.hypotheses
    if not count_done(out):
        return [len(hypotheses)] * len(hypotheses)
    planned = promised_so_far(out, made).planned
    return [len(planned) if each in planned else len(hypotheses) for each in hypotheses]


def _power(made: Plan, together: Sequence[int]) -> Iterator[Text]:
    """Yield the effect that each kind of test finds, and a warning for each test that can find nothing.

    Args:
        together: the number of hypotheses that each one is corrected for.
    """
    experiment, said = made.experiment, set[str]()
    seeds = len(experiment.seeds)
    for each, tests in zip(experiment.hypotheses, together, strict=True):
        if min(1.0, tests * smallest_p(each, seeds)) > experiment.alpha:
            yield line(_never(each, seeds, experiment, tests), "bold yellow")
            continue
        size = effect_found(each, seeds, experiment.alpha / tests)
        what = "equality within" if each.test == "equivalence" else "an effect of"
        unit = "deviations of the values" if each.test in UNPAIRED else "deviations of the paired differences"
        effect = "no effect" if size is None else f"{what} {size:.2g} standard {unit}"
        sides = ", two-sided," if each.alternative == "two-sided" and each.test != "equivalence" else ""
        among = "" if tests == 1 else f", among {tests:,} hypotheses"
        limit = f"(p <= {experiment.alpha:g}{among})"
        text = f"{each.test}{sides} with {seeds:,} seeds finds {effect} in four of five experiments {limit}."
        if text not in said:
            said.add(text)
            yield line(text)


SEEDS_TRIED = 200
"""The seeds up to which a plan looks for the least number that can reach significance."""


def _never(hypothesis: Hypothesis, seeds: int, experiment: Experiment, tests: int) -> str:
    """Return a line on a test that finds nothing with so many seeds, and the seeds with which it would."""
    among = "1 hypothesis" if tests == 1 else f"{tests:,} hypotheses"
    directed = hypothesis.alternative != "two-sided"
    one_sided = tests * smallest_p(replace(hypothesis, alternative="less"), seeds)
    other = "" if directed or one_sided > experiment.alpha else ", or name the direction now"
    counts = (n for n in range(seeds + 1, SEEDS_TRIED) if tests * smallest_p(hypothesis, n) <= experiment.alpha)
    found = next(counts, None)
    enough, what = (
        "more" if found is None else f"at least {found:,}",
        "seeds" if hypothesis.test in UNPAIRED else "pairs",
    )
    return (
        f"! {printable(str(hypothesis))}: {seeds:,} {what} can never reach p <= {experiment.alpha:g} with the test "
        f"{hypothesis.test}{'' if directed else ', two-sided'}, among {among}: its smallest p is "
        f"{min(1.0, tests * smallest_p(hypothesis, seeds)):.3g}. Take {enough} seeds{other}."
    )


class Asked(NamedTuple):
    """The calls that cells will make to a model together.

    Args:
        rows: `(name, text)` on calls and budget; none without a model.
        least_s: the time that the calls take, within the limits over all cells.
    """

    rows: list[tuple[str, str]]
    least_s: float


def asked_together(asking: Asking, out: Path, forecasts: Sequence[Forecast]) -> Asked:
    if not forecasts:
        return Asked([], 0.0)
    limits, used = limits_of(asking), used_so_far(out)
    calls, costs = sum(each.calls for each in forecasts), [each.usd for each in forecasts]
    amount = None if None in costs else sum(each or 0.0 for each in costs)
    shown = "cost unknown: set llm.prices" if amount is None else usd(amount)
    about = "at most about" if limits.ask_once else "about"
    why = ", fewer as equal questions are asked once" if limits.ask_once else ""
    text = f"{about} {calls:,} to a model, {shown}{why}"
    rows = [("calls", f"{text}; {limits.max_concurrency:,} at once over all cells")]
    tokens = sum(each.prompt_tokens + each.completion_tokens for each in forecasts)
    budgets = [
        _budget("calls", limits.max_calls, used.calls, calls),
        _budget("tokens", limits.max_tokens, used.prompt_tokens + used.completion_tokens, tokens),
        _budget("usd", limits.max_usd, used.usd, amount or 0.0),
    ]
    rows += [("budget", text) for text in budgets if text]
    rate = limits.rate_per_s
    called_s = sum(each.calls * each.latency_s for each in forecasts) / limits.max_concurrency
    return Asked(rows, max(called_s, 0.0 if rate is None else calls / rate))


def run_s(forecast: Forecast, config: Config) -> float:
    """Return the seconds that a run takes: the time of its ticks, or of its model calls if these take longer."""
    hours = forecast.hours if config.oracle.backend != "choice" else 0.0
    return max(forecast.tick_s * config.simulation.length, hours * 3600)


def _budget(name: str, most: float | None, used: float, needed: float) -> str:
    if most is None:
        return ""
    amounts = [usd(each) if name == "usd" else f"{round(each):,}" for each in (most, used)]
    unit = "" if name == "usd" else f" {name}"
    said = "enough" if used + needed <= most else f"not enough: cells stop there; raise oracle.max_{name}"
    return f"{amounts[0]}{unit} for all cells, {amounts[1]} used so far; {said}"
