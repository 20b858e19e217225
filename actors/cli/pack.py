"""`prism pack`: makes one file of a run, an experiment or a calibration."""

from __future__ import annotations

from pathlib import Path

from actors.cli.command import command, path_option
from actors.cli.options import RUN
from actors.cli.render import show
from actors.logs.output import say
from actors.runs.pack import SUFFIX, pack
from prism.wording import counted


@command()
@RUN
@path_option("--out", help=f"Write it to FILE.  [default: the name of RUN with {SUFFIX}, in the current directory]")
def pack_command(path: Path, out: Path | None) -> None:
    """Make one file of a run or an experiment.

    RUN is the directory of a run, an experiment or a calibration, which no process may work on. The file
    has all that another machine needs: settings, inputs, the journal, answers, results. Logs are left out, and so are
    settings of one machine: certificates, logins, tapes that are recorded elsewhere. A run never keeps a key; if the
    value of a variable that its settings name for one is in a file all the same, nothing is packed.

    \b
      prism pack runs/default-001            writes default-001.prism
      prism replay default-001.prism         reads it as it is, on any machine
      prism unpack default-001.prism         makes the directory again
    """
    file = out or Path(f"{path.resolve().name}{SUFFIX}")
    written = pack(path, file)
    for each in written.paths:
        say(f"names a place of this machine: {each}")
    size = f"{counted(written.files, 'file')}, {written.bytes:,} bytes, packed to {written.packed_bytes:,}"
    show({"file": file, **written._asdict()}, lambda: [f"{file}: {size}"], brief=str(file))
