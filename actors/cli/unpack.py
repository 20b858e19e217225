"""`prism unpack`: checks a file of `prism pack`, and makes the directory again."""

from __future__ import annotations

from pathlib import Path

import click

from actors.cli.command import command
from actors.cli.options import Directory
from actors.cli.render import show
from actors.runs.pack import unpack
from prism.wording import counted


@command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=Directory(),
    metavar="DIR",
    help="Make this directory, which must not exist.  [default: the packed name, in the current directory]",
)
def unpack_command(file: Path, out: Path | None) -> None:
    """Check a file of `prism pack`, and unpack it.

    Every length and hash is checked before the directory is in its place. A file that is cut off, changed, out of
    proportion or not of `prism pack` is refused in one line, and so is one that names a place outside of the directory.
    Nothing of a run's own code is executed.
    """
    directory, contents = unpack(file, out)
    line = f"{directory}: {counted(len(contents.files), 'file')}, each as it was packed by PRISM {contents.prism}"
    record = {"directory": directory, "files": len(contents.files), "prism": contents.prism}
    show(record, lambda: [line], brief=str(directory))
