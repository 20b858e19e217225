"""`prism verify`: whether a run's files are whole."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from actors.cli.options import RUN
from actors.disk import RealDisk
from actors.reopening import read_resolved
from actors.run_directory import CONFIG, SUMMARY, RunDirectory
from actors.verification import Finding
from actors.verification import verify as verified
from prism.errors import ConfigError

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
    found = (
        verified(RealDisk(path))
        if summary is None
        else verified(RealDisk(path), str(summary.get("digest")), summary.get("ticks"))
    )
    findings = [*found.findings, *_texts(directory)]
    for finding in findings:
        click.echo(f"{path / finding.file}: {'ok' if finding.is_good else 'BAD'}: {finding.what}")
    if not all(finding.is_good for finding in findings):
        sys.exit(EXIT_DAMAGED)


def _texts(directory: RunDirectory) -> Iterator[Finding]:
    """What is wrong with the files that bear no checksum."""
    try:
        read_resolved(directory.path / CONFIG)
    except ConfigError as error:
        yield Finding(CONFIG, False, error.problem)
    if (directory.path / SUMMARY).exists() and directory.summary() is None:
        yield Finding(SUMMARY, False, "cannot be read")
