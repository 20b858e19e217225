"""`prism verify`: whether a run's files are whole."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from actors.cli.options import RUN
from actors.disk import RealDisk
from actors.run_directory import RunDirectory
from actors.verification import verify as verified

EXIT_DAMAGED = 1


@click.command()
@RUN
def verify(path: Path) -> None:
    """Check the CRCs and the chain of hashes of every file in the directory RUN. Runs nothing and changes nothing.

    One line for each file. The exit code is 1 if any is not what was written. A torn end, as a crash leaves it, counts
    as damage here; `prism resume` cuts it off.
    """
    directory = RunDirectory(path)
    directory.manifest()
    summary = directory.summary()
    found = verified(RealDisk(path), None if summary is None else str(summary.get("digest")))
    for finding in found.findings:
        click.echo(f"{path / finding.file}: {'ok' if finding.is_good else 'BAD'}: {finding.what}")
    if not found.is_good:
        sys.exit(EXIT_DAMAGED)
