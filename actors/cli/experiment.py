"""`prism experiment`: runs conditions under many seeds, and compares them."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import click
from msgspec.structs import asdict, replace
from rich.console import RenderableType
from rich.text import Text

from actors.cli.command import EXIT_THRESHOLD, Group, count_option, flag, option, path_option
from actors.cli.options import TRUST, out_option, require, run_name
from actors.cli.render import NONE, interval, line, show, table
from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import write_json
from actors.core.machine import processors
from actors.display.progress import Standing, live_console, progress_shown
from actors.display.words import duration, usd
from actors.factory.file_kinds import PREDICTIONS, telling_kind
from actors.logs.output import output, say
from actors.runs.forecast import Forecast, forecast
from actors.runs.signals import ended_by_signals
from actors.store.lock import locked
from actors.studies.experiments import cells, seals, shared_oracle
from actors.studies.experiments.outcome import (
    OUTCOME,
    RESULTS,
    Judged,
    Outcome,
    Values,
    outcome_of,
    read_values,
    write_outcome,
)
from actors.studies.experiments.plan import Cell, Plan, make_plan, parts_of, promised_so_far, record_plan, text_of
from actors.studies.experiments.record import has_results_of, read_experiment_record
from actors.studies.experiments.run_measures import keep_own, measured
from prism.config import Config
from prism.experiment.design import SAMPLED
from prism.experiment.experiment_file import Experiment
from prism.experiment.hypothesis_tests import UNPAIRED, Hypothesis, effect_found, smallest_p
from prism.experiment.predictions import SHARES, PredictionScores, read_predictions
from prism.quoting import printable
from prism.wording import counted


class FileGroup(Group):
    """A group whose first word may be a file: then it is run."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        first = args[0]
        if first in self.commands:
            return super().resolve_command(ctx, args)
        words = [word for word in args[1:] if not word.startswith("-")]
        if not first.startswith("-") and not Path(first).exists() and any(Path(word).is_file() for word in words):
            known = ", ".join(sorted(self.commands))
            raise click.UsageError(f"{first!r} is no file and no command; expected a file, or one of: {known}", ctx)
        return super().resolve_command(ctx, ["run", *args])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options that a run takes, too: most often no command is named."""
        options = [option for option in self.commands["run"].params if isinstance(option, click.Option)]
        with formatter.section("Options of a run"):
            formatter.write_dl([record for option in options if (record := option.get_help_record(ctx)) is not None])
        super().format_options(ctx, formatter)


FILE = click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
JOBS = count_option("--jobs", help="Cells at once.  [default: one for each processor]")
ON = option(
    "--on",
    default=cells.PROCESSES,
    metavar="PLACE",
    help="Where cells are run: processes, ray, ray://HOST:PORT or HOST:PORT. docs/experiments.md.",
)


def make_directory(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise run_directory_error(error, f"{place}: cannot be created") from None


EXPERIMENTS = Path("experiments")
KEPT = "What is done is kept, and what is under way goes on where its files end: run the same command again"
"""What a signal says."""
STUDY_DIRECTORY = "Directory of the study; what is done there already is not done again."
EXPERIMENT_OUT = out_option(STUDY_DIRECTORY, f"{EXPERIMENTS}/NAME")
PACKAGES = ("scipy", "statsmodels", "SALib")


def refuse_without_packages() -> None:
    require(PACKAGES, f"experiments need {' and '.join(PACKAGES)}")


PROBLEMS_SHOWN = 5


@click.group(cls=FileGroup, options_metavar="", subcommand_metavar="[plan|seal|run|score] FILE [OPTIONS]")
def experiment() -> None:
    """Run several conditions under the same seeds, and compare them.

    \b
      prism experiment plan feed.yaml     what would be run, and what it could find
      prism experiment seal feed.yaml guess.yaml            seal predictions of it
      prism experiment feed.yaml          run it, or go on with it where it was interrupted
      prism experiment score feed.yaml guess.sealed.json    score the predictions

    FILE says what the conditions and the seeds are; docs/experiments.md has its keys. `prism init --example
    experiments/feed` writes one to start from. A cell is one condition under one seed: a changed or interrupted
    experiment does again only what is new.

    Exit code 4 says that a threshold was missed, 2 that some cells have no result, or wrong usage.
    """


@experiment.command()
@FILE
@EXPERIMENT_OUT
@JOBS
@TRUST
def plan(path: Path, out: Path | None, jobs: int | None) -> None:
    """Say what the experiment in FILE would run and what it could find, and run nothing."""
    refuse_without_packages()
    made = make_plan(path)
    place = out or EXPERIMENTS / run_name(path)
    rows, power = plan_parts(made, place, jobs or processors())
    show({**dict(rows), "power": list(map(str, power))}, lambda: [table(("", ""), rows), *power])


@experiment.command()
@FILE
@EXPERIMENT_OUT
@JOBS
@ON
@path_option(
    "--tape",
    metavar="TAPE",
    help="Take all answers of models from the tape of an experiment, or of its directory, and ask no server.",
)
@TRUST
def run(path: Path, out: Path | None, jobs: int | None, on: str, tape: Path | None) -> None:
    """Run the experiment in FILE, or go on with it."""
    refuse_without_packages()
    made = make_plan(path)
    place = out or EXPERIMENTS / run_name(path)
    done = execute(made, place, cells.Where(on=on, jobs=jobs), tape=tape)
    outcome = done.outcome
    show({"directory": place, **asdict(outcome)}, lambda: outcome_parts(outcome, done.plan, place))
    refuse_lost(done, place)
    if missed := [threshold_said(each) for each in outcome.thresholds if not each.is_met]:
        if output.is_quiet:
            say("; ".join(missed), level="warning")
        sys.exit(EXIT_THRESHOLD)


class Executed(NamedTuple):
    """An experiment that has been run, with `{cell: problem}` of the cells without a result."""

    plan: Plan
    outcome: Outcome
    values: Values
    problems: dict[str, str]


def refuse_lost(done: Executed, place: Path) -> None:
    """Print the problems of the first cells without a result, and raise an error if there are any."""
    for cell, problem in list(done.problems.items())[:PROBLEMS_SHOWN]:
        say(
            f"{place / cells.CELLS / cell}: {problem.replace(str(place / cells.CELLS / cell), '').lstrip(': /')}",
            level="error",
        )
    if done.problems:
        lost = f"{len(done.problems):,} of {len(done.plan.cells):,} cells have no result; {OUTCOME} names each"
        raise RunDirectoryError(f"{place}: {lost}; fix what is named above and run it again: finished cells are kept")


def execute(
    made: Plan, out: Path, where: cells.Where, *, tape: Path | None = None, notes: Sequence[str] = ()
) -> Executed:
    """Run the cells that are not done, in the experiment's directory, and write the outcome."""
    make_directory(out)
    with locked(out), ended_by_signals(KEPT):
        left = cells.cells_to_do(made, out)
        keep_own(out, [made.experiment.measures[name] for name in made.own])
        promised = record_plan(out, made, cells.count_done(out))
        known = len({cell.key for cell in made.cells}) - len(left)
        is_first = iter([True])

        with ExitStack() as stack:
            gateway = stack.enter_context(
                shared_oracle.gateway_of(shared_oracle.asking_of(made), [cell.config for cell in left], out, tape)
            )
            executor = stack.enter_context(cells.opened(replace(where, gateway=gateway and gateway.place)))

            def shown() -> Standing:
                now = executor.standing
                ended, total = now.done + now.failed + known, now.total + known
                parts = [f"{ended:,} of {total:,} cells", f"{now.running:,} running", f"{now.failed:,} failed"]
                parts += [f"{reason} {times:,} times" for reason, times in now.losses.items()]
                return Standing(", ".join(parts), ended, total)

            def on_done(cell: Cell, done: cells.Done) -> None:
                if not done.problem and next(is_first, False):  # a misspelt measure is found now, not after all others
                    measured(cells.cell_path(out, cell), made.experiment.measures, made.own)
                if live_console() is not None:
                    return
                now = executor.standing
                place = f"{known + now.done + now.failed:,} of {now.total + known:,}"
                say(f"{place}: {cell.condition}, seed {cell.seed}: {done.problem or duration(done.wall_s)}")

            stack.enter_context(progress_shown(shown, has_lines=False))

            failed = executor.run(cells.cells_to_do(made, out), out, on_done)
            values, unread = read_values(made, out, failed)
            problems = {**failed, **unread}
            counted = gateway and gateway.statistics()
        outcome = outcome_of(made, values, promised, out)
        use = shared_oracle.use_of_model(made, out, counted, is_replay=tape is not None)
        outcome = replace(outcome, model=use, notes=[*notes, *outcome.notes])
        write_outcome(out, made, values, outcome)
        return Executed(made, outcome, values, problems)


SUFFIX = ".sealed.json"


@experiment.command()
@click.argument("path", metavar="EXPERIMENT", type=click.Path(path_type=Path))
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@EXPERIMENT_OUT
@path_option(
    "--to",
    metavar="SEALED",
    help=f"The sealed file; must be new.  [default: FILE with {SUFFIX} in place of its extension]",
)
@flag("--seen", help="Seal although the experiment has runs, and mark the predictions as late.")
@TRUST
def seal(path: Path, file: Path, out: Path | None, to: Path | None, *, seen: bool) -> None:
    """Seal the predictions in FILE for the plan of EXPERIMENT, before it is run.

    A sealed file has the hashes of the predictions and of the plan, so a later change of either is found and named.
    docs/experiments.md says what a prediction is.
    """
    refuse_without_packages()
    plan, place, target = make_plan(path), out or EXPERIMENTS / run_name(path), to or file.with_suffix(SUFFIX)
    with telling_kind(file, PREDICTIONS):
        text = text_of(file, "a YAML file with predictions", "docs/experiments.md")
        predictions = read_predictions(text, str(file), plan.experiment)
    begun = len(cells.cells_begun(place))
    if begun and not seen:
        problem = f"{place}: has {counted(begun, 'run')} of the experiment already, so it is too late to predict"
        raise RunDirectoryError(f"{problem}; --seen seals the predictions all the same, and marks them")
    if target.exists():
        raise RunDirectoryError(f"{target}: exists already and was left as it is; name another file with --to")
    sealed = seals.sealed_now(plan.hash, parts_of(plan), predictions, begun)
    write_json(target, sealed)
    seals.register(place, sealed)
    count, files = (
        counted(len(predictions.predictions), "prediction"),
        [shlex.quote(str(each)) for each in (path, target)],
    )
    them = "it" if begun == 1 else "they"
    lines = [
        f"{target}: {count} by {predictions.by}, sealed {sealed.at}",
        f"plan {sealed.plan[:16]}; seal {sealed.seal}",
        f"{place} has {counted(begun, 'run')} already: every score will say that {them} may have been seen"
        if begun
        else "give the seal to others now, and they can check later that nothing was changed",
        f"next: prism experiment {files[0]}, and then prism experiment score {' '.join(files)}",
    ]
    show({"file": target, **asdict(sealed)}, lambda: lines, brief=str(target))


@experiment.command()
@click.argument("path", metavar="EXPERIMENT", type=click.Path(path_type=Path))
@click.argument("file", metavar="SEALED", type=click.Path(path_type=Path))
@EXPERIMENT_OUT
@path_option("--data", help="Score with measured figures: CSV with the columns condition, measure and value.")
@option(
    "--model",
    without=["--data"],
    metavar="NAME",
    help="Run the experiment with this model in place of the sealed one, all else as sealed, and score that.",
)
@TRUST
def score(path: Path, file: Path, out: Path | None, data: Path | None, model: str | None) -> None:
    """Score the predictions in SEALED with the results of EXPERIMENT, or with measured figures.

    With --model the experiment is run on another model, in a directory of its own, and nothing else may differ from
    what was sealed: a result that holds there was not picked for one model.
    """
    refuse_without_packages()
    plan, sealed = make_plan(path, model), seals.read_sealed(file)
    name = run_name(path) if model is None else f"{run_name(path)}-{re.sub('[^A-Za-z0-9.]+', '-', model)}"
    place = out or EXPERIMENTS / name
    notes = seals.notes_on_plan(file, sealed, plan.hash, parts_of(plan), model or "")
    answers = list[str]()
    if model is not None:
        done = execute(plan, place, cells.Where(), notes=notes)
        refuse_lost(done, place)
        answers = [each.text for each in done.outcome.answers]
    seals.register(place, sealed)
    if data is not None:
        found = seals.scores_of_data(data, sealed, place, notes)
    else:
        record = read_experiment_record(place)
        if not (record.is_final and has_results_of(record, plan)):
            raise RunDirectoryError(f"{place}: has no results of this plan yet: run `prism experiment {plan.path}`")
        seeds = record.plan.experiment.seeds
        found = seals.scores_of_runs(sealed, seeds, record.values, place, notes)
    notes_said = [line(f"! {note}", "yellow") for note in found.notes]
    said = [*map(line, answers), line(found.text), "", *predictions_parts(found), *notes_said]
    show(found, lambda: said)


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


def _use(model: shared_oracle.ModelUse) -> str:
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
    left = cells.cells_to_do(made, out)
    asking = [forecasts[cell.condition] for cell in left if shared_oracle.asks_model(cell.config)]
    asked = asked_together(shared_oracle.asking_of(made), out, asking)
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
    if not cells.count_done(out):
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


def asked_together(asking: shared_oracle.Asking, out: Path, forecasts: Sequence[Forecast]) -> Asked:
    if not forecasts:
        return Asked([], 0.0)
    limits, used = shared_oracle.limits_of(asking), shared_oracle.used_so_far(out)
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
