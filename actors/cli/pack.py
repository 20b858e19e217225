"""`prism pack` and `prism unpack`: make one file of a run or a study, and its directory again."""

from __future__ import annotations

from pathlib import Path

import click

from actors.cli.command import command, path_option
from actors.cli.options import RUN, out_option
from actors.cli.render import show
from actors.runs import pack as packs
from prism.wording import counted


@command()
@RUN
@path_option("--out", help=f"Write it to FILE.  [default: the name of RUN with {packs.SUFFIX}, in this directory]")
def pack(path: Path, out: Path | None) -> None:
    """Make one file of a run or an experiment.

    RUN is the directory of a run, an experiment or a calibration, which no process may work on. The file has all that
    another machine needs: settings, inputs, the journal, answers, results. Logs are left out, and so are settings of
    one machine: certificates, logins, tapes that are recorded elsewhere. A run never keeps a key; if the value of a
    variable that its settings name for one is in a file all the same, nothing is packed.

    Commands that only read a run read such a file as it is; `prism unpack` makes the directory again.
    """
    file = out or Path(f"{path.resolve().name}{packs.SUFFIX}")
    written = packs.pack(path, file)
    size = f"{counted(written.files, 'file')}, {written.bytes:,} bytes, packed to {written.packed_bytes:,}"
    show({"file": file, **written._asdict()}, lambda: [f"{file}: {size}"], brief=str(file))


@command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@out_option("Make this directory, which must not exist.", "the packed name, in the current directory")
def unpack(file: Path, out: Path | None) -> None:
    """Check a file of `prism pack`, and unpack it.

    A file that is cut off, changed, out of proportion or not of `prism pack` is refused in one line, and so is one that
    names a place outside of the directory; nothing is left of it. Nothing of a run's own code is executed.
    """
    directory, files = packs.unpack(file, out)
    found = {"directory": directory, "files": files}
    show(found, lambda: [f"{directory}: {counted(files, 'file')}"], brief=str(directory))
