"""`prism view`: serves a local page on which runs can be looked at, live and afterwards."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from actors.cli.command import command
from actors.cli.local_page import serve_page, with_address
from actors.cli.options import PackedOrDirectory
from actors.core.errors import RunDirectoryError
from actors.store.listing import run_paths
from actors.store.manifest import refuse_others
from actors.studies.experiments.record import is_experiment


@command()
@click.argument("root", metavar="[RUN_OR_DIR]", default="runs", type=PackedOrDirectory("run or directory"))
@with_address(8480)
def view(root: Path, host: str, port: int, *, opens: bool) -> None:
    """Serve a local web page that shows runs and experiments.

    RUN_OR_DIR is a directory with runs (default: runs), one run, or an experiment. The page also follows runs that are
    under way. It only reads, so it is never in a run's way, and runs no code that you have not run here before. Ctrl-C
    ends it.

    An address that others can reach demands a token: that in PRISM_VIEW_TOKEN, or a random one, which is printed.
    """
    from actors.view.app import Site  # noqa: PLC0415  # it takes a second to import, and no other command needs it
    from actors.view.explainer import EXPLAIN  # noqa: PLC0415

    if not is_experiment(root):
        refuse_others(root)
    try:
        run_paths(root)
    except OSError as error:
        raise RunDirectoryError(f"{root}: cannot be listed: {error.strerror}") from None

    with suppress(KeyboardInterrupt):
        serve_page(Site(root, EXPLAIN), host, port, opens=opens)
