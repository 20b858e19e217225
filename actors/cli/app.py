"""The `prism` command: its commands, its errors and their exit codes."""

from __future__ import annotations

import os
import signal
import sys
from traceback import format_exc

import click
from click.exceptions import NoArgsIsHelpError

from actors.cli.command import EXIT_CONFIG, EXIT_FAILED, EXIT_ORACLE, EXIT_SPENT, EXIT_USAGE, LazyGroup
from actors.core.errors import AddressError, InterruptedRunError, PlaceError, RunDirectoryError, UntrustedCodeError
from actors.core.machine import safe_path
from actors.logs.output import (
    escape_unencodable,
    name_standard_output,
    open_missing,
    output,
    protect_standard_error,
    say_json,
)
from actors.runs.signals import EXIT_BASE, leave
from prism.errors import ConfigError, OracleSpentError, OracleUnavailableError, PrismError
from prism.quoting import printable_lines

FAILED, CRASHED = "command_failed", "command_crashed"
"""The names of the JSON objects with which a failed command ends."""

SECTIONS = {
    "Run and look": {
        "init": "Write a configuration to start from: DIR/prism.yaml.",
        "run": "Run the simulation that CONFIG describes.",
        "resume": "Continue a run that ended early, or make a run longer.",
        "play": "Change a setting on a local page, and see the whole world answer.",
        "view": "Serve a local web page that shows runs and experiments.",
        "report": "Write one HTML file about runs: pictures and tables.",
        "explain": "Explain a decision of a run, and what led to it.",
        "export": "Write what happened in runs as CSV or Parquet tables.",
    },
    "Study": {
        "experiment": "Run several conditions under the same seeds, and compare them.",
        "replicate": "Replicate a published study, and compare its figures with the runs.",
        "fork": "Run another future of a run: the same past, then other settings.",
        "cause": "Tell which people, ties and decisions made an outcome of a run.",
        "calibrate": "Fit settings to data, and say what the fit is worth.",
        "validate-world": "Compare runs with figures of the real world.",
        "audit": "Ask a study's recorded questions again in other ways, and tell whether its claims survive.",
        "ask": "Put a questionnaire to people of a run, as they were at a moment of it.",
    },
    "Care": {
        "runs": "List the runs in a directory, the newest first, with their state.",
        "doctor": "Show what is installed, and whether the oracle answers.",
        "verify": "Check every file of a run, and that the files agree.",
        "pack": "Make one file of a run or an experiment.",
        "unpack": "Check a file of `prism pack`, and unpack it.",
        "replay": "Do a run again without a model, and compare every tick.",
    },
    "More": {
        "validate": "Check a configuration and its files, and say what would be run.",
        "chart": "Draw or check the statechart of a configuration or a run.",
        "testing": "Serve a stand-in for a language model, to try a run with.",
    },
}
"""The commands, in the sections and the order in which the help lists them."""
MODULES = {
    "resume": "run",
    "fork": "run",
    "replay": "run",
    "verify": "run",
    "unpack": "pack",
    "play": "view",
    "doctor": "validate",
}
"""The commands that are in the module of another one."""


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    modules=MODULES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(None, "-V", "--version", package_name="prism-sim", prog_name="prism")
def cli() -> None:
    """Simulate populations of agents that choose like people.

    Agents follow rules, drawn as a statechart. Only an ambiguous choice is put to an oracle: a formula, or a language
    model. The same configuration and seed give the same run.

    \b
    Start here:
      prism init my-study               write a configuration
      prism run my-study/prism.yaml     run it
      prism view                        look at it

    `prism COMMAND --help` explains a command, with its options; `prism --help --json` explains all of them to programs.
    """


def main() -> None:
    """Run the command line, and turn every expected error into one clear line and its exit code."""
    open_missing()
    escape_unencodable()
    name_standard_output()
    protect_standard_error()
    code: int
    try:
        with safe_path():
            code = cli.main(prog_name="prism", standalone_mode=False)
    except click.Abort:
        code = 130
    except click.ClickException as error:
        code = EXIT_USAGE
        _print_usage_error(error)
    except Exception as error:  # noqa: BLE001  # an error that nobody raised on purpose is printed as Python would
        code = exit_code(error) if isinstance(error, PrismError) else EXIT_FAILED
        if (problem := _problem(error)) is not None:
            _print_error(problem, code)
        elif output.is_json:
            say_json("error", CRASHED, exception=format_exc(), exit_code=code)
        else:
            click.echo(printable_lines(format_exc()), file=sys.stderr, nl=False)
    finally:
        output.reset()
    leave(code)


def _problem(error: Exception) -> str | None:
    """Return the message of an expected error; None for any other."""
    if isinstance(error, MemoryError) or str(error) == "can't start new thread":  # what Python raises without memory
        return "this process may use no more memory: take fewer people or a smaller file, or allow it more"
    if isinstance(error, UnicodeEncodeError) and error.encoding != "utf-8":  # streams escape: it is a file's name
        return f"{error.object}: {error.encoding}, the locale's encoding, has no such file name: set LC_ALL=C.UTF-8"
    if not isinstance(error, PrismError | OSError):
        return None
    from actors.cli.options import of_packs  # noqa: PLC0415  # the help of commands need not load it

    if isinstance(error, PrismError):
        return of_packs(str(error))
    return of_packs(f"{error.filename or type(error).__name__}: {error.strerror or error}")


def _print_usage_error(error: click.ClickException) -> None:
    # A wrong option may stand before --log-format, so click has not read the format.
    given = " ".join(sys.argv[1:]).replace("--log-format=", "--log-format ")
    form = given.partition("--log-format ")[2] or os.environ.get("PRISM_LOG_FORMAT", "")
    if output.is_json or form.startswith("json"):
        say_json("error", FAILED, error=error.format_message(), exit_code=EXIT_USAGE)
        return
    if isinstance(error, NoArgsIsHelpError):
        click.echo(error.format_message(), file=sys.stderr)
        return
    if isinstance(error, click.UsageError) and error.ctx is not None:
        usage = f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n"
        click.echo(usage, file=sys.stderr)
    _print_error(error.format_message().replace("\n\t", " "), EXIT_USAGE)


def _print_error(problem: str, code: int) -> None:
    if output.is_json:
        say_json("error", FAILED, error=problem, exit_code=code)
    else:
        told = "\n".join(f"prism: {line}" for line in problem.split("\n"))
        color = None if os.environ.get("NO_COLOR") else "red"
        click.secho(printable_lines(told), file=sys.stderr, fg=color)


EXITS: dict[tuple[type[PrismError], ...], int] = {
    (ConfigError,): EXIT_CONFIG,
    (AddressError, PlaceError, RunDirectoryError, UntrustedCodeError): EXIT_USAGE,
    (OracleSpentError,): EXIT_SPENT,
    (OracleUnavailableError,): EXIT_ORACLE,
}


def exit_code(error: PrismError) -> int:
    if isinstance(error, InterruptedRunError):
        return EXIT_BASE + signal.Signals[error.signal]
    return next((code for kinds, code in EXITS.items() if isinstance(error, kinds)), EXIT_FAILED)
