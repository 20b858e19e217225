"""The plan of an experiment as text for the terminal: what it would run, what that costs, and what it could find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from msgspec.structs import replace
from rich.text import Text

from actors.cli.experiment_tables import twins
from actors.cli.render import facts, line, show
from actors.display.words import duration, usd
from actors.runs.forecast import Forecast, forecast
from actors.studies.experiments.cells import count_done
from actors.studies.experiments.plan import Plan
from actors.studies.experiments.plan_record import promised_so_far
from actors.studies.experiments.processes import cells_to_do
from actors.studies.experiments.shared_oracle import Asking, asking_of, asks_model, limits_of, used_so_far
from prism.config import Config
from prism.experiment import UNPAIRED, Experiment, Hypothesis, effect_found, smallest_p
from prism.quoting import printable

START_S, CELL_S = 1.5, 0.1
"""Seconds until a process of the experiment can take its first cell, and those that a cell takes beside its run."""

REHEARSED_MAX = 12
"""The most conditions that are rehearsed: each takes about a second."""
NAMES_SHOWN = 30
"""The most conditions that are listed by name."""


def show_plan(made: Plan, out: Path, jobs: int) -> None:
    """Show what the plan would run, and what it could find."""
    experiment, begun = made.experiment, perf_counter()
    # The forecast of each condition. Of many conditions only some are rehearsed; the next ones share theirs.
    firsts = made.cells[:: len(made.experiment.seeds)]
    stride = -(-len(firsts) // REHEARSED_MAX)
    rehearsed = [forecast(cell.config) for cell in firsts[::stride]]
    forecasts = {cell.condition: rehearsed[place // stride] for place, cell in enumerate(firsts)}
    left = cells_to_do(made, out)
    asked = asked_together(
        asking_of(made), out, [forecasts[cell.condition] for cell in left if asks_model(cell.config)]
    )
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
    rows += asked.rows
    if made.sealed is not None:
        rows.append(("predictions", str(made.sealed)))
    rows.append(("directory", str(out)))
    rows.append(("plan", made.hash[:16]))
    power = [*_power(made, _together(made, out)), *twins(made)]
    show({**dict(rows), "power": list(map(str, power))}, lambda: [facts(rows), *power])


def _named(experiment: Experiment) -> str:
    """Return the names of the conditions, or the factors of a design with many."""
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
    planned, lost, _ = promised_so_far(out, made)
    every = len(hypotheses) + sum(each not in hypotheses for each in lost)
    return [len(planned) + len(lost) if each in planned else every for each in hypotheses]


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
    """Return a line on a test that finds nothing with so many seeds, and whether one with a direction would."""
    what = "seeds" if hypothesis.test in UNPAIRED else "pairs"
    among = "1 hypothesis" if tests == 1 else f"{tests:,} hypotheses"
    is_two_sided = hypothesis.alternative == "two-sided"
    least = min(1.0, tests * smallest_p(hypothesis, seeds))
    one_sided = min(1.0, tests * smallest_p(replace(hypothesis, alternative="less"), seeds))
    directed = is_two_sided and one_sided <= experiment.alpha
    other = f", or name the direction now: with an alternative it is {one_sided:.3g}" if directed else ""
    counts = (n for n in range(seeds + 1, SEEDS_TRIED) if tests * smallest_p(hypothesis, n) <= experiment.alpha)
    found = next(counts, None)
    enough = "more seeds" if found is None else f"at least {found:,} seeds"
    return (
        f"! {printable(str(hypothesis))}: {seeds:,} {what} can never reach p <= {experiment.alpha:g} with the "
        f"test {hypothesis.test}{', two-sided' if is_two_sided else ''}, among {among}: its smallest p is {least:.3g}. "
        f"Take {enough}{other}."
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
    """Return the calls that cells will make to a model together, and whether the budget is enough for them."""
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
