"""`prism fork`: runs another future of a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from actors.cli.command import command, count_option, path_option
from actors.cli.options import DETAILS, NEW_RUN, PACKED_RUN, PREPARE, TICKS, out_option, set_option, with_log_options
from actors.cli.run_command import branch_and_report
from actors.cli.trust import TRUST, ask_to_run_code
from actors.runs.directory import RunDirectory
from actors.runs.fork import fork as branch_off
from actors.store.manifest import read_manifest


@command()
@PACKED_RUN
@count_option("--at", "tick", required=True, metavar="TICK", help="Ticks in common.")
@set_option("feed.algorithm=chronological")
@path_option("--intervene", help="Add the interventions in this YAML file, none of them before TICK.")
@TICKS
@out_option(NEW_RUN, "the next free runs/PARENT-at-TICK-001")
@PREPARE
@TRUST
@DETAILS
@with_log_options
def fork(  # one for each option
    path: Path,
    tick: int,
    overrides: Sequence[str],
    intervene: Path | None,
    ticks: int | None,
    out: Path | None,
    *,
    prepare: bool,
    details: bool,
) -> None:
    """Run another future of a run: the same past, then other settings.

    What if the feed had been chronological from tick 500?

    \b
      prism fork runs/default-001 --at 500 --set feed.algorithm=chronological --out runs/chronological
      prism fork runs/default-001 --at 500 --intervene news.yaml

    RUN is the run's directory, and TICK the number of ticks in common. The past is replayed and compared with the
    journal, and copied into the new directory, which stands on its own. Its manifest names the parent and the digest
    they have in common. People and time cannot be changed in a fork.
    """
    parent = RunDirectory(path)
    read_manifest(path)
    ask_to_run_code(path, overrides)
    child = RunDirectory.create(out, f"{path.resolve().name}-at-{tick}")
    branching = partial(branch_off, parent, child, tick, overrides, ticks, added=intervene)
    branch_and_report(child, branching, prepare=prepare, details=details)
