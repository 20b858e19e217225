"""`prism view`: serves a local page on which runs can be looked at, live and afterwards; and what `play` shares."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from actors.cli.command import command, count_option, flag, option
from actors.cli.options import PackedOrDirectory
from actors.cli.render import show
from actors.core.errors import RunDirectoryError

if TYPE_CHECKING:
    from actors.view.app import Site

HOST: Final = "127.0.0.1"
TOKEN: Final = "PRISM_VIEW_TOKEN"  # noqa: S105  # the name of the variable, not its value
F = TypeVar("F", bound=Callable[..., Any])


def with_address(port: int) -> Callable[[F], F]:
    """Return a decorator that gives a command the options for the address of its page: `host`, `port`, `opens`."""
    host = option("--host", default=HOST, help="Address to listen on; others than this machine need a token.")
    ports = count_option("--port", least=0, most=65_535, metavar=None, default=port, help="Port; 0 for a free one.")
    opens = flag("--open", "opens", help="Open the page in the browser.")
    return lambda command: host(ports(opens(command)))


def serve_page(site: Site, host: str, port: int, *, opens: bool, then: Callable[[], object] = lambda: None) -> None:
    """Serve a page until a signal ends it, and print its address once it is ready.

    Args:
        then: called after the address is printed.
    """
    from actors.view.server import serve  # noqa: PLC0415  # it takes long to import, and no other command needs it

    def ready(address: str) -> None:
        show({"address": address}, lambda: [f"prism {site.name}: {address}  (Ctrl-C ends it)"], brief=address)
        if opens:
            webbrowser.open(address)
        then()

    serve(site, host, port, os.environ.get(TOKEN, ""), ready)


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
    from actors.store.manifest import refuse_others  # noqa: PLC0415
    from actors.store.run import run_paths  # noqa: PLC0415  # `play` has no use for them
    from actors.studies.experiments.record import is_experiment  # noqa: PLC0415
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
