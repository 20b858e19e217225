"""`prism view`: serves a local page on which runs can be looked at, live and afterwards."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path

import click

from actors.cli.command import command
from actors.cli.options import PackedOrDirectory, shown
from actors.cli.render import show
from actors.core.errors import RunDirectoryError
from actors.store.listing import run_paths
from actors.store.manifest import refuse_others
from actors.studies.experiments.record import is_experiment

HOST, PORT = "127.0.0.1", 8480
TOKEN = "PRISM_VIEW_TOKEN"  # noqa: S105  # the name of the variable, not its value


@command()
@click.argument("root", metavar="[RUN_OR_DIR]", default="runs", type=PackedOrDirectory())
@click.option(
    "--host", default=HOST, show_default=True, help="Address to listen on; others than this machine need a token."
)
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 for a free one.")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
def view(root: Path, host: str, port: int, *, opens: bool) -> None:
    """Serve a local web page that shows runs and experiments.

    RUN_OR_DIR is a directory with runs (default: runs), one run, or an experiment.

    The page shows the list of runs; of a run its states over time, its people and their ties, its cascades, every agent
    with its questions, the oracle, and the council of an economy; two runs side by side; and it follows runs that are
    under way. It only reads, so it is never in a run's way, and runs no code that you have not run here before. Ctrl-C
    ends it.

    An address that others can reach demands a token: that in PRISM_VIEW_TOKEN, or a random one, which is printed.
    """
    from actors.view.app import Site  # noqa: PLC0415  # it takes a second to import, and no other command needs it
    from actors.view.explainer import EXPLAIN  # noqa: PLC0415
    from actors.view.server import serve  # noqa: PLC0415

    if not is_experiment(root):
        refuse_others(root)
    try:
        run_paths(root)
    except OSError as error:
        raise RunDirectoryError(f"{root}: cannot be listed: {error.strerror}") from None

    def ready(address: str) -> None:
        show({"address": address}, lambda: [f"prism view: {address}  (Ctrl-C ends it)"], brief=address)
        if opens:
            webbrowser.open(address)

    try:
        site = Site(root, EXPLAIN, shown)
        serve(site, host, port, os.environ.get(TOKEN, ""), ready)
    except KeyboardInterrupt:
        return
