"""`actors.play`: the page of `prism play` in a cell of a notebook, and the run that was kept there."""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack
from html import escape
from pathlib import Path

from actors.factory.config_file import read_config
from actors.factory.domains import entrust, settled
from actors.playground.app import PlaySite
from actors.playground.place import begun
from actors.results.result import RunResult, read_result
from actors.view.server import served
from prism.config import Config

HEIGHT = 820
NOTEBOOKS = "http://localhost:* http://127.0.0.1:* vscode-webview:"
"""The pages that may show this one: notebooks that are served from this machine."""


class Playing:
    """A page that is served until `close`, or until this process ends. A notebook shows it in its cell."""

    def __init__(self, config: Config, name: str) -> None:
        self._served = ExitStack()
        self._site = PlaySite(config, name, self._served.enter_context(begun()), NOTEBOOKS)
        self.address = self._served.enter_context(served(self._site, "127.0.0.1", 0, ""))
        self.close = self._served.close
        """Ends the page and its processes. What was kept stays."""
        atexit.register(self.close)

    @property
    def run(self) -> RunResult | None:
        """The run that was kept last; None before the first."""
        return None if self._site.kept is None else read_result(self._site.kept)

    def __repr__(self) -> str:
        return f"prism play: {self.address}"

    def _repr_html_(self) -> str:
        address = escape(self.address)
        frame = f'<iframe src="{address}" title="PRISM play" width="100%" height="{HEIGHT}"></iframe>'
        return f'{frame}<p><a href="{address}" target="_blank">{address}</a></p>'


def play(config: Config | str | os.PathLike[str] | None = None) -> Playing:
    """Serve the page of `prism play` for a configuration or a YAML file: let the call be the last line of a cell."""
    if isinstance(config, str | os.PathLike):
        return Playing(read_config(config), Path(config).stem)
    given = Config() if config is None else config
    entrust(given)
    return Playing(settled(given), "play")
