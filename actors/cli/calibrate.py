"""`prism calibrate`: fits parameters to data, and says what the fit is worth."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec.structs import asdict
from rich.console import RenderableType

from actors.cli.command import EXIT_THRESHOLD
from actors.cli.experiment import (
    FILE,
    JOBS,
    KEPT,
    ON,
    STUDY_DIRECTORY,
    FileGroup,
    asked_together,
    make_directory,
    run_s,
)
from actors.cli.options import TRUST, out_option, require, run_name
from actors.cli.render import NONE, interval, line, show, table
from actors.core.machine import processors
from actors.display.progress import Standing, progress_shown
from actors.display.words import duration
from actors.logs.output import output, say
from actors.runs.forecast import forecast
from actors.runs.signals import ended_by_signals
from actors.store.lock import locked
from actors.studies.calibration import (
    CONFIGURATION,
    RESULT,
    CalibrationPlan,
    asking_of_calibration,
    cell_of,
    make_calibration_plan,
    run_calibration,
    write_result,
)
from actors.studies.experiments.cells import Where, count_done, opened
from actors.studies.experiments.run_measures import keep_own
from actors.studies.experiments.shared_oracle import gateway_of
from prism.calibration.calibration_file import point_at
from prism.calibration.procedure import Result, planned_runs, reasons, required_steps

OUT = Path("calibrations")
OUT_OPTION = out_option(STUDY_DIRECTORY, f"{OUT}/NAME")


@click.group(cls=FileGroup, options_metavar="", subcommand_metavar="[plan|run] FILE [OPTIONS]")
def calibrate() -> None:
    """Fit settings to data, and say what the fit is worth.

    \b
      prism calibrate plan fit.yaml     what would be run, and how long it takes
      prism calibrate fit.yaml          run it, or go on with it where it was interrupted

    FILE says which settings are fitted, and to what; docs/experiments.md has its keys, and what is written.

    Exit code 4 says that no fit is reported, because a step was left out.
    """


@calibrate.command()
@FILE
@OUT_OPTION
@JOBS
@TRUST
def plan(path: Path, out: Path | None, jobs: int | None) -> None:
    """Say what the calibration in FILE would run and how long it takes, and run nothing."""
    made, place = make_calibration_plan(path), out or OUT / run_name(path)
    asked = made.calibration
    budget, planned = asked.budget, planned_runs(asked)
    middle = point_at(asked.parameters, [0.5] * len(asked.parameters), 1)
    estimate = forecast(cell_of(made, "plan", middle).config)
    done, lacks = count_done(place), reasons(required_steps(made.calibration, made.real))
    runs, at_once = sum(planned.values()), jobs or processors()
    of_budget = "" if runs == budget.runs else f" of a budget of {budget.runs:,}"
    left = max(0, runs - done)
    asking = asking_of_calibration(made)
    model = asked_together(asking, place, [estimate] * left if asking.configs else [])
    least_s = max(model.least_s, run_s(estimate, made.config) * left / at_once)
    rows = [
        ("question", asked.question or "-"),
        ("base", str(made.base)),
        ("parameters", ", ".join(f"{name} {each.low:g} to {each.high:g}" for name, each in asked.parameters.items())),
        ("targets", ", ".join(asked.targets)),
        ("checks", ", ".join(asked.checks) or "none"),
        *(
            []
            if asked.data is None
            else [("cascades", f"{len(made.real.fitted):,} fitted, {len(made.real.holdout):,} held out")]
        ),
        ("runs", f"{runs:,}{of_budget}: " + ", ".join(f"{name} {count:,}" for name, count in planned.items())),
        *(("no fit can be reported" if place == 0 else "", lack) for place, lack in enumerate(lacks)),
        ("done", f"{done:,} in {place}"),
        ("time", f"about {duration(least_s)}, {at_once:,} at once"),
        *model.rows,
        ("plan", made.hash[:16]),
    ]
    show({name: text for name, text in rows if name}, lambda: [table(("", ""), rows)])


@calibrate.command()
@FILE
@OUT_OPTION
@JOBS
@ON
@TRUST
def run(path: Path, out: Path | None, jobs: int | None, on: str) -> None:
    """Run the calibration in FILE, or go on with it."""
    require(["scipy", "sklearn"], "calibrations need scikit-learn", "calibrate")
    made = make_calibration_plan(path)
    place = out or OUT / run_name(path)
    make_directory(place)
    if lacks := reasons(required_steps(made.calibration, made.real)):
        say(f"{path}: no fit can be reported, whatever the runs find: {'; '.join(lacks)}")
    asking, total = asking_of_calibration(made), sum(planned_runs(made.calibration).values())
    done, step_now = 0, "begins"

    def on_runs(step: str, count: int) -> None:
        nonlocal done, step_now
        done, step_now = done + count, step

    with (
        locked(place),
        ended_by_signals(KEPT),
        gateway_of(asking, asking.configs, place) as gateway,
        progress_shown(lambda: Standing(f"{step_now}: run {done:,} of {total:,}", done, total)),
        opened(Where(on=on, jobs=jobs, gateway=gateway and gateway.place)) as executor,
    ):
        keep_own(place, made.own)
        result = run_calibration(made, place, executor, on_runs)
        write_result(made, place, result)
    named = [CONFIGURATION, RESULT] if result.is_reported else [RESULT]
    said = f"written to {place}: {', '.join(named)}"
    show({"directory": place, **asdict(result)}, lambda: [*result_parts(made, result), said])
    if not result.is_reported:
        why = f": {'; '.join(reasons(result.steps))}" if output.is_quiet else "; what it lacks stands above"
        say(f"{path}: no fit is reported{why}", level="warning")
        sys.exit(EXIT_THRESHOLD)


EXPLAINED = """
width: of the interval, as a share of the one that the range alone has; goes with: the largest correlation
real: in the unit of the measure; off by: the simulated value minus the real one, in tolerances, so that 1 is just
within; of a shape the distance, without a sign; predicted: under draws of the posterior, in the unit of the measure
truths: runs of the design were taken for the data, one after the other, and the posterior of each was made without it.
If the intervals are right, 90% of them hold their truth, and the ranks of truths among draws are uniform: p is how
likely ranks as far from that would be (simulation-based calibration)
"""


def result_parts(made: CalibrationPlan, result: Result) -> Iterator[RenderableType]:
    asked = made.calibration
    yield line(f"calibration of {made.base.name}{asked.question and ': '}{asked.question}", "bold")
    if not result.is_reported:
        yield line("No fit is reported. What it lacks:", "bold yellow")
        yield from (line(f"- {each}") for each in reasons(result.steps))
    else:
        if result.doubts:
            yield line(f"This fit is doubtful: {'; '.join(result.doubts)}.", "bold yellow")
        held = sum(each.is_fitted and each.holdout is not None for each in result.compared)
        fit, base, holdout, floor = map(_number, (result.fit, result.base, result.holdout, result.floor))
        yield line(
            f"The fit is {fit} from the data, the base {base}, in tolerances (root mean square over the targets). On "
            f"the holdout it is {holdout} ({held:,} of {len(asked.targets):,} targets). Two single runs of the fit are "
            f"{floor} apart; the fit is that of all its runs together."
        )
    yield from (line(f"! {each}", "yellow") for each in result.warnings)
    if result.is_reported:
        yield ""
        estimates = [
            (
                *(each.parameter, each.base, each.best, interval(each.low, each.high), each.width, each.is_identified),
                NONE if each.with_other is None else f"{each.with_other[0]} ({each.with_other[1]:.2f})",
            )
            for each in result.estimates
        ]
        yield table(("", ">base", ">fit", "90% interval", ">width", "identified", "goes with"), estimates, "parameters")
        targets = [
            (
                *(each.target, each.is_fitted, each.real, each.base, each.fit, each.holdout),
                *(interval(each.low, each.high, ".3g"), each.agrees),
            )
            for each in result.compared
        ]
        columns = ("", "fitted", ">real", ">base off by", ">fit off by", ">holdout off by", "predicted (90%)", "agrees")
        yield table(columns, targets, "targets and checks")
        ranks = [
            (
                *(each.parameter, each.truths, f"{each.coverage:.2f} +- {each.coverage_error:.2f}"),
                f"{'yes' if each.is_uniform else 'no'} ({each.likelihood:.2g})",
            )
            for each in result.ranks
        ]
        yield table(("", ">truths", "in 90% intervals", "uniform (p)"), ranks, "ranks of known truths")
        yield from (line(each, "dim") for each in EXPLAINED.strip().splitlines())
    rows = [("runs", ", ".join(f"{name} {count:,}" for name, count in result.runs.items()))]
    if asked.data is not None:
        fitted, out, compared = result.cascades
        rows.append(("cascades", f"{fitted:,} fitted, {out:,} held out, {compared:,} of the fit compared"))
        rows.append(("data", f"SHA-256 {made.data_hash}"))
    if result.effective is not None:
        rows.append(("draws that count", f"{result.effective:,.0f}, of the posterior"))
    if result.incomparable:
        rows.append(("no shapes", f"{result.incomparable:,} runs of the design: too few cascades of the real sizes"))
    rows += [(name, target.source) for name, target in asked.compared.items() if target.source]
    yield table(("", ""), [*rows, ("seed", f"{asked.seed}"), ("plan", made.hash)])


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3g}"
