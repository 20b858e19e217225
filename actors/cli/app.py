"""The `prism` command: its commands, its errors and their exit codes."""

from __future__ import annotations

import os
import sys
from traceback import format_exc

import click

from actors.cli.exit_codes import EXIT_CONFIG, EXIT_FAILED, EXIT_ORACLE, EXIT_SPENT, EXIT_USAGE
from actors.cli.lazy_group import LazyGroup, Named
from actors.core.errors import InterruptedRunError, MetricsAddressError, PlaceError, RunDirectoryError, ViewAddressError
from actors.logs.output import output, say_json
from actors.logs.standard_streams import open_missing, protect_standard_error
from actors.runs.signals import EXIT_BASE, StopOnSignal, end
from prism.errors import ConfigError, OracleFailedError, OracleUnavailableError, PrismError

EPILOG = """\b
Exit codes:
  0    done
  1    the run failed
  2    wrong usage, or a directory, a file or an address that cannot be used;
       cells of an experiment have no result
  3    a configuration or input file that cannot be run
  4    stopped at the spend cap, or because too many choices are fallbacks;
       an experiment misses a threshold, or a calibration reports no fit
  5    the oracle's backend cannot be used, or stayed away
  130  stopped by SIGINT, 143 by SIGTERM, 129 by SIGHUP, after a whole tick
"""

FAILED, CRASHED = "command_failed", "command_crashed"
"""The names of the JSON objects that end a command which does not succeed."""

COMMANDS = {
    "init": Named(
        "actors.cli.init:init", "Write DIR/prism.yaml: every setting with its value, its range and what it means."
    ),
    "validate": Named(
        "actors.cli.validate:validate", "Check CONFIG and every file it names, and say what would be run."
    ),
    "run": Named("actors.cli.run:run", "Run the simulation that CONFIG describes."),
    "resume": Named("actors.cli.resume:resume", "Resume the run in the directory RUN where its files end."),
    "chart": Named(
        "actors.cli.chart:chart",
        "Draw the chart of CONFIG, or of a run: as Mermaid text, for Graphviz, as an SVG picture, or as SCXML.",
    ),
    "runs": Named(
        "actors.cli.runs:runs",
        "List the runs in DIR (default: runs), or the one run that DIR is; or show a question that one of them asked.",
    ),
    "view": Named(
        "actors.cli.view:view",
        "Serve a page on which the runs in a directory (default: runs), one run, or an experiment can be looked at.",
    ),
    "watch": Named("actors.cli.watch:watch", "Show runs that other processes execute, by their metrics."),
    "replay": Named(
        "actors.cli.replay:replay",
        "Run the run in the directory RUN again, without a model, and compare it with its journal tick by tick.",
    ),
    "explain": Named(
        "actors.cli.explain:explain", "Explain a decision of the run in the directory RUN, and what led to it."
    ),
    "verify": Named(
        "actors.cli.verify:verify",
        "Check every file in the directory RUN: its CRCs and hashes, and that the files agree.",
    ),
    "fork": Named(
        "actors.cli.fork:fork",
        "Run another future of the run in the directory RUN: the same first TICK ticks, then other settings.",
    ),
    "repair": Named(
        "actors.cli.repair:repair",
        "Run the run in the directory RUN again from the first answer that it has lost, and ask only what failed.",
    ),
    "shadow": Named(
        "actors.cli.shadow:shadow_command",
        "Ask an oracle about turns of the run in the directory RUN that rules settled, and compare the two.",
    ),
    "distil": Named(
        "actors.cli.distil:distil_command",
        "Fit an embedded oracle to the judgements of a model in the run in the directory RUN, and write it to a file.",
    ),
    "export": Named(
        "actors.cli.export:export_command",
        "Write what happened in the runs in the directories RUN as tables: CSV, Parquet or SQLite.",
    ),
    "backtest": Named(
        "actors.cli.backtest:backtest_command", "Compare the policy rule of CONFIG with the interest rates of history."
    ),
    "validate-world": Named(
        "actors.cli.validate_world:validate_world",
        "Compare the runs in the directories RUN with stylised facts of the real world.",
    ),
    "report": Named(
        "actors.cli.report_page:report",
        "Write one HTML file about the runs in the directories RUN: pictures, tables, and how to make them again.",
    ),
    "experiment": Named(
        "actors.cli.experiment:experiment",
        "Run the conditions of the experiment in FILE under every seed, and compare them.",
    ),
    "calibrate": Named(
        "actors.cli.calibrate:calibrate",
        "Fit parameters of a configuration to data, as FILE says, and find out what the fit is worth.",
    ),
    "doctor": Named(
        "actors.cli.doctor:doctor", "Show what is installed, what this machine has, and whether the oracle answers."
    ),
    "testing": Named(
        "actors.cli.testing:testing",
        "Try a configuration without a model: a server that answers, waits and fails as told.",
    ),
}
"""The commands in the order in which the help lists them."""


@click.group(
    cls=LazyGroup,
    named=COMMANDS,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(None, "-V", "--version", package_name="prism-sim", prog_name="prism")
def cli() -> None:
    """Simulate populations of agents that choose like people.

    Every agent follows a statechart by rule; only a genuinely ambiguous choice is put to an oracle. The same
    configuration and seed give the same run, whatever the machine does meanwhile.

    \b
    Start here:
      prism init my-study             write a commented configuration
      prism validate my-study/prism.yaml
      prism run my-study/prism.yaml
    """


def main() -> None:
    """Run the command line, and turn every expected error into one clear line and its exit code."""
    open_missing()
    protect_standard_error()
    try:
        code = _code()
    finally:
        output.reset()
    end.leave(code)


def _code() -> int:
    """Run the command line, and return its exit code."""
    code: int
    try:
        code = cli.main(standalone_mode=False)
    except click.Abort:
        code = 130
    except click.ClickException as error:
        code = EXIT_USAGE
        _print_usage_error(error)
    except PrismError as error:
        code = exit_code(error)
        _print_error(str(error), code)
    except OSError as error:
        code = EXIT_FAILED
        _print_error(f"{error.filename or 'standard output'}: {error.strerror}", code)
    except Exception as error:
        code = EXIT_FAILED
        if not _is_reported(error):
            raise
    return code


def _is_reported(error: Exception) -> bool:
    """Report an error that PRISM has not raised on purpose, and return True; False if Python is to print it."""
    if _is_lack_of_memory(error):
        problem = "this process may use no more memory: take fewer people or a smaller file, or allow it more"
        _print_error(problem, EXIT_FAILED)
    elif output.is_json:
        say_json("error", CRASHED, exception=format_exc(), exit_code=EXIT_FAILED)
    else:
        return False
    return True


def _is_lack_of_memory(error: Exception) -> bool:
    """Return whether an error means that the process may use no more memory: Python has two for it."""
    is_thread = isinstance(error, RuntimeError) and str(error) == "can't start new thread"
    return isinstance(error, MemoryError) or is_thread


def _print_usage_error(error: click.ClickException) -> None:
    if output.is_json or (output.format is None and _asks_for_json()):
        say_json("error", FAILED, error=error.format_message(), exit_code=EXIT_USAGE)
    else:
        error.show()


def _asks_for_json() -> bool:
    """Return whether JSON is asked for by words that were not read, because an option before them is wrong."""
    given = " ".join(sys.argv[1:]).replace("--log-format=", "--log-format ")
    return "--log-format json" in given or os.environ.get("PRISM_LOG_FORMAT") == "json"


def _print_error(problem: str, code: int) -> None:
    if output.is_json:
        say_json("error", FAILED, error=problem, exit_code=code)
    else:
        told = "\n".join(f"prism: {line}" for line in problem.split("\n"))
        click.secho(told, fg=None if os.environ.get("NO_COLOR") else "red", err=True)


def exit_code(error: PrismError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, ConfigError):
        return EXIT_CONFIG
    if isinstance(error, RunDirectoryError | MetricsAddressError | PlaceError | ViewAddressError):
        return EXIT_USAGE
    if isinstance(error, OracleFailedError) and error.failure == "spent":
        return EXIT_SPENT
    if isinstance(error, OracleUnavailableError):
        return EXIT_ORACLE
    if isinstance(error, InterruptedRunError):
        return EXIT_BASE + StopOnSignal.number(error.signal)
    return EXIT_FAILED
