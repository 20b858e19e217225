"""`prism verify`: checks that a run's files are what was written."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import anyio

from actors.cli.command import EXIT_FAILED, command, flag
from actors.cli.options import PACKED_RUN, TRUST, ask_to_run_code, shown
from actors.cli.render import show
from actors.cli.run_command import with_progress
from actors.runs.directory import RunDirectory
from actors.runs.verify import recompute, verify_run, without_replay


@command()
@PACKED_RUN
@flag("--quick", help="Check CRCs and hashes only, and run nothing again.")
@TRUST
def verify(path: Path, *, quick: bool) -> None:
    """Check every file of a run, and that the files agree.

    RUN is the run's directory. First the CRCs and hashes in its files are checked. Then the run is done again without a
    model, as `prism replay` does, to compare each row of rounds.csv and the counts in summary.json.

    The exit code is 1 if the content of any file is not what was written; --quiet prints the lines of these alone. A
    torn end, as a crash leaves it, counts as damage here; `prism resume` cuts it off. Changes nothing.
    """
    directory = RunDirectory(path)
    checked = verify_run(directory)
    if quick:
        checked = without_replay(checked, "its numbers were not worked out again (--quick)")
    else:
        ask_to_run_code(path)
        checked = anyio.run(partial(with_progress, partial(recompute, directory, checked)))
    lines = [f"{shown(path) / finding.file}: {finding.word}: {finding.detail}" for finding in checked.findings]
    damaged = "\n".join(line for line, finding in zip(lines, checked.findings, strict=True) if not finding.is_good)
    show({"run": shown(path), "is_good": checked.is_good, "findings": checked.findings}, lambda: lines, brief=damaged)
    if not checked.is_good:
        sys.exit(EXIT_FAILED)
