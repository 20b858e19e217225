"""The option --trust, and the question that is asked before unknown code is run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from actors.cli.command import flag
from actors.display.console import echo
from actors.logs.output import output, say
from prism.quoting import printable

if TYPE_CHECKING:
    from actors.factory.own_code import OwnCode


def _choose_trust(context: click.Context, _: click.Parameter, value: bool) -> None:
    if not value:
        return
    from actors.factory.own_code import known_code  # noqa: PLC0415  # it takes a quarter of a second to import

    def choose(trusts: bool) -> None:
        known_code.trusts = trusts

    choose(value)
    context.call_on_close(lambda: choose(False))


TRUST = flag(
    "--trust",
    expose_value=False,
    callback=_choose_trust,
    help="Run the code of the run's chart or domain, also if you have not run it here before: read it first.",
)


def ask_to_run_code(path: Path, overrides: Sequence[str] = ()) -> None:
    """Ensure that the code which a run names may be run: it is known, or --trust or the user's answer allows it."""
    from actors.factory.own_code import allow, known_code, untrusted  # noqa: PLC0415  # as above
    from actors.runs.compatibility import unknown_code_of  # noqa: PLC0415

    unknown = unknown_code_of(path, overrides)
    if not unknown:
        return
    if known_code.trusts:
        say(f"{path}: runs code as --trust says: {', '.join(_lines(unknown))}", level="warning")
    elif can_ask():
        told = f"{printable(str(path))}: this command runs Python code that you have not run here before:"
        for line in (told, *(f"  {each}" for each in _lines(unknown))):
            echo(line, err=True)
        echo("It could do anything that you can do on this machine. Read it first.", err=True)
    if not known_code.trusts and not (can_ask() and click.confirm("Run it?", default=False, err=True)):
        raise untrusted(unknown)
    allow(unknown)


def can_ask() -> bool:
    """Return whether a question would be seen and answered: on a terminal, beside no log lines in JSON."""
    return not output.is_json and sys.stdin.isatty() and sys.stderr.isatty()


def _lines(unknown: Sequence[OwnCode]) -> list[str]:
    """Return each file with its hash."""
    sources = {file: sha256 for code in unknown for file, sha256 in code.sources.items()}
    return [f"{printable(str(file))} (sha256 {sha256})" for file, sha256 in sources.items()]
