"""The options of commands that serve a local page, and the serving."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from actors.cli.command import count_option, flag, option
from actors.cli.render import show

if TYPE_CHECKING:
    from actors.view.app import Site

HOST: Final = "127.0.0.1"
TOKEN: Final = "PRISM_VIEW_TOKEN"  # noqa: S105  # the name of the variable, not its value
F = TypeVar("F", bound=Callable[..., Any])


def with_address(port: int) -> Callable[[F], F]:
    """Return a decorator that gives a command the options for the address of its page: `host`, `port`, `opens`."""
    options = (
        option("--host", default=HOST, help="Address to listen on; others than this machine need a token."),
        count_option("--port", least=0, most=65_535, metavar=None, default=port, help="Port; 0 for a free one."),
        flag("--open", "opens", help="Open the page in the browser."),
    )

    def decorated(command: F) -> F:
        for each in reversed(options):
            command = each(command)
        return command

    return decorated


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
