"""`prism unpack`: checks a file of `prism pack`, and makes the directory again."""

from __future__ import annotations

from pathlib import Path

import click

from actors.cli.command import command
from actors.cli.options import out_option
from actors.cli.render import show
from actors.runs.pack import unpack
from prism.wording import counted


@command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@out_option("Make this directory, which must not exist.", "the packed name, in the current directory")
def unpack_command(file: Path, out: Path | None) -> None:
    """Check a file of `prism pack`, and unpack it.

    A file that is cut off, changed, out of proportion or not of `prism pack` is refused in one line, and so is one that
    names a place outside of the directory; nothing is left of it. Nothing of a run's own code is executed.
    """
    directory, files = unpack(file, out)
    show(
        {"directory": directory, "files": files},
        lambda: [f"{directory}: {counted(files, 'file')}"],
        brief=str(directory),
    )
