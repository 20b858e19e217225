"""Requests to the local page without a socket: the application is called in this process."""

import shutil
from pathlib import Path
from typing import Any

import anyio
import httpx
from starlette.types import ASGIApp

from actors.view.app import Site
from actors.view.run_list import RunLine, lines_of
from actors.view.server import Guard
from actors.view.viewed_run import ViewedRun

HOST = "http://127.0.0.1:8480"


def get(app: ASGIApp, path: str, method: str = "GET", **headers: str) -> httpx.Response:
    """Return the answer to one request."""

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOST) as client:
            return await client.request(method, path, headers=headers)

    return anyio.run(ask)


class Asked:
    """The page of one directory, whose runs are read before it is asked for numbers.

    Args:
        root: the directory.
        names: the runs that are read.
    """

    def __init__(self, root: Path, *names: str) -> None:
        self.site = Site(root)
        self.guard = Guard(self.site.app(), host="127.0.0.1", port=8480)
        for name in names:
            self.read(name)

    def read(self, name: str) -> ViewedRun:
        """Read a run as far as it goes."""
        run = self.site._of_name(name)
        run.follow()
        if run._reader is not None:
            run._reader.join()
        return run

    def get(self, path: str) -> httpx.Response:
        """Return the answer to one request."""
        return get(self.guard, path)

    def json(self, path: str) -> Any:
        """Return the numbers at an address."""
        answer = self.get(f"/api/{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def part(self, path: str) -> str:
        """Return a part of the page, as HTML."""
        answer = self.get(f"/part/{path}")
        assert answer.status_code == 200, answer.text
        return answer.text

    def lines(self) -> list[RunLine]:
        """Return the runs that the page lists."""
        return lines_of(self.site._root)


def copied(run: Path, directory: Path, name: str) -> Path:
    """Return a copy of a run."""
    return Path(shutil.copytree(run, directory / name))
