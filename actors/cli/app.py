"""The `prism` command, and how its errors become exit codes."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version

import click

from actors.cli.backtest import backtest_command
from actors.cli.doctor import doctor
from actors.cli.fork import fork
from actors.cli.init import init
from actors.cli.replay import replay
from actors.cli.resume import resume
from actors.cli.run import run
from actors.cli.run_command import EXIT_SPENT
from actors.cli.runs import runs
from actors.cli.validate import validate
from actors.cli.verify import verify
from actors.cli.watch import watch
from actors.core.errors import MetricsAddressError, RunDirectoryError
from prism.errors import ConfigError, OracleFailedError, OracleUnavailableError, PrismError

EXIT_FAILED, EXIT_USAGE, EXIT_CONFIG, EXIT_ORACLE = 1, 2, 3, 5

EPILOG = """\b
Exit codes:
  0    done
  1    the run failed
  2    wrong usage, or a directory, a file or an address that cannot be used
  3    a configuration or input file that cannot be run
  4    stopped at the spend cap
  5    the oracle's backend cannot be reached
  130  stopped by SIGINT, 143 by SIGTERM, after the tick was finished
"""


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version("prism-sim"), "-V", "--version", prog_name="prism")
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


cli.add_command(run)
cli.add_command(resume)
cli.add_command(runs)
cli.add_command(replay)
cli.add_command(verify)
cli.add_command(watch)
cli.add_command(fork)
cli.add_command(validate)
cli.add_command(init)
cli.add_command(doctor)
cli.add_command(backtest_command)


def main() -> None:
    """Run the command line, and turn every expected error into one clear line and its exit code."""
    try:
        code = cli.main(standalone_mode=False)
    except click.Abort:
        code = 130
    except click.ClickException as error:
        error.show()
        code = EXIT_USAGE
    except PrismError as error:
        _complain(str(error))
        code = exit_code(error)
    except OSError as error:
        _complain(f"{error.filename or 'standard output'}: {error.strerror}")
        code = EXIT_FAILED
    sys.exit(code)


def _complain(problem: str) -> None:
    click.secho(f"prism: {problem}", fg=None if os.environ.get("NO_COLOR") else "red", err=True)


def exit_code(error: PrismError) -> int:
    """The exit code that an error stands for."""
    if isinstance(error, ConfigError):
        return EXIT_CONFIG
    if isinstance(error, RunDirectoryError | MetricsAddressError):
        return EXIT_USAGE
    if isinstance(error, OracleFailedError) and error.failure == "spent":
        return EXIT_SPENT
    if isinstance(error, OracleUnavailableError):
        return EXIT_ORACLE
    return EXIT_FAILED
