"""`prism chart`: draws the chart of a configuration or of a run, and checks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from actors.cli.command import EXIT_THRESHOLD, command, flag, option, path_option
from actors.cli.options import PACKED, TRUST, require, with_settings
from actors.cli.render import print_json, show
from actors.core.errors import RunDirectoryError
from actors.core.files import write_file
from actors.display.console import echo_file
from actors.factory.config_file import read_config
from actors.factory.domains import chart_of, chart_text
from actors.logs.output import output
from actors.runs.summary import covered_rows
from actors.store.course import Course, read_course
from actors.store.manifest import CONFIG as RESOLVED
from actors.store.manifest import read_manifest
from actors.store.run import read_resolved
from prism.config import Config, load_config
from prism.social.no_effect import long_delays
from prism.statechart import Behaviour, FindingKind, Outline, Statechart, lint, mermaid, outline, rendered
from prism.wording import counted

YAML = "yaml"
SUFFIXES = {".mmd": "mermaid", ".svg": "svg", ".yaml": YAML}


def _svg(chart: Outline) -> str:
    require(["altair", "vl_convert"], "prism chart draws pictures with altair", "plots")
    from actors.plots import render, statechart  # noqa: PLC0415  # altair is an optional package
    from actors.plots.render import plain  # noqa: PLC0415

    return plain(render(statechart(chart, chart.definition.name), has_title=bool(chart.definition.name)))


FORMATS: dict[str, Callable[[Outline], str]] = {"mermaid": mermaid, "svg": _svg}


@command()
@with_settings
@option("--format", "shape", type=click.Choice([*FORMATS, YAML]), help="Format.  [default: mermaid]")
@path_option("--out", help="Write it to FILE.")
@option("--run", "drawn_run", type=PACKED, metavar="RUN", help="Draw what this run did: counts and dwell times.")
@TRUST
@flag(
    "--lint",
    "lints",
    without=["--format", "--out", "--coverage"],
    help="Check the chart; exit code 4 if there is a fault.",
)
@option(
    "--coverage",
    without=["--format", "--out", "--run"],
    type=PACKED,
    metavar="RUN",
    help="List the rows, with how often this run took each.",
)
def chart(  # an argument for each option
    config: Path | None,
    overrides: Sequence[str],
    *,
    shape: str | None,
    out: Path | None,
    drawn_run: Path | None,
    coverage: Path | None,
    lints: bool,
) -> None:
    """Draw or check the statechart of a configuration or a run.

    Without CONFIG the chart is that of the run; without both, the default one of people on a feed. The drawing goes to
    standard output, or to FILE, whose extension says the format (.mmd, .svg). The format yaml is the chart's own file,
    to be changed and named in statechart.file. A question mark behind a trigger says that the row is put to the oracle.

    --lint finds states that nobody can reach or leave, rows that are never taken, values for which no row holds or two
    do, and delays that never end anything. A gap, values for which no row holds, is a notice: nothing happens then.
    """
    run = coverage or drawn_run
    if config is not None:
        settings = read_config(config, overrides)
    elif run is None:
        settings = load_config(overrides=overrides)
    else:
        read_manifest(run)  # it says what is no run's directory
        settings = read_resolved(run / RESOLVED, overrides)
    behaviour = chart_of(settings)
    if lints:
        _print_findings(settings, behaviour)
        return
    if coverage is not None:
        _print_coverage(coverage, behaviour)
        return
    done = None if drawn_run is None else _activity(drawn_run, behaviour)
    form = shape or ("mermaid" if out is None else SUFFIXES.get(out.suffix))
    if form is None:
        raise click.UsageError(f"{out}: expected a name that ends in one of {', '.join(SUFFIXES)}, or --format")
    if form == YAML:
        text = chart_text(settings)
    else:
        text = FORMATS[form](outline(behaviour, None if done is None else done.activity))
    if out is not None:
        write_file(out, text.encode(), follows=True)
        show({"file": out, "format": form}, lambda: [f"{out}: written"], brief=str(out))
    elif output.as_json:
        print_json({"format": form, "chart": text})
    else:
        echo_file(text)


def _activity(run: Path, behaviour: Behaviour[Any] | Statechart[Any]) -> Course:
    flat = behaviour.chart if isinstance(behaviour, Behaviour) else behaviour
    done = read_course(run, "updates", initial=flat.initial.value)
    strange = sorted({state for step in done.steps for state in (step.before, step.after)} - set(flat.states))
    if strange:
        problem = f"its agents were in states that this chart does not have: {', '.join(strange)}"
        raise RunDirectoryError(f"{run}: {problem}; draw the chart of the run's own configuration")
    return done


def _print_findings(config: Config, behaviour: Behaviour[Any] | Statechart[Any]) -> None:
    """Print what the linter finds. A gap is no fault: rows may wait for a guard on purpose."""
    if isinstance(behaviour, Behaviour):
        delays = {state: delay.trigger for state, delay in behaviour.delays.items()}
        found = [*lint(behaviour.chart, assume=behaviour.assumed, delays=delays), *long_delays(config, behaviour)]
    else:
        found = lint(behaviour)
    notices = sum(each.kind is FindingKind.GAP for each in found)
    faults = counted(len(found) - notices, "fault")
    show(found, lambda: [f"{rendered(found)}{faults}, {counted(notices, 'notice')}"])
    if len(found) > notices:
        raise SystemExit(EXIT_THRESHOLD)


def _print_coverage(run: Path, behaviour: Behaviour[Any] | Statechart[Any]) -> None:
    rows = covered_rows(behaviour, _activity(run, behaviour).steps)
    width, never = max(len(f"{row.times:,}") for row in rows), sum(not row.times for row in rows)

    def view() -> Iterator[str]:
        for row in rows:
            shared = "  (counted together with the other rows that go this way)" if row.is_shared else ""
            yield f"{row.times:>{width},}  {row.name}{shared}"
        yield f"{len(rows) - never} of {len(rows)} rows taken, {never} never"

    show(rows, view)
