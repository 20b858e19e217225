"""`prism verify`: checks that a run's files are whole."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from actors.cli.options import RUN
from actors.runs.directory import RunDirectory
from actors.runs.verify import verify_run

EXIT_DAMAGED = 1


@click.command()
@RUN
def verify(path: Path) -> None:
    """Check the CRCs and the chain of hashes of every file in the directory RUN, and that the files agree.

    Prints one line for each file, and for each input file that the run was made of. The exit code is 1 if the content
    of any is not what was written. A torn end, as a crash leaves it, counts as damage here; `prism resume` cuts it off.
    Runs nothing and changes nothing.
    """
    checked = verify_run(RunDirectory(path))
    for finding in checked.findings:
        file = finding.file if finding.is_input else path / finding.file
        click.echo(f"{file}: {'ok' if finding.is_good else 'BAD'}: {finding.detail}")
    if not checked.is_good:
        sys.exit(EXIT_DAMAGED)
