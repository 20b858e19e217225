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
    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOST) as client:
            return await client.request(method, path, headers=headers)

    return anyio.run(ask)


class Asked:
    """The page of one directory, of which the named runs are read before it is asked for numbers."""

    def __init__(self, root: Path, *names: str) -> None:
        self.site = Site(root)
        self.guard = Guard(self.site.app(), host="127.0.0.1", port=8480)
        for name in names:
            self.read(name)

    def read(self, name: str) -> ViewedRun:
        run = self.site._of_name(name)
        run.follow()
        if run._reader is not None:
            run._reader.join()
        return run

    def get(self, path: str) -> httpx.Response:
        return get(self.guard, path)

    def json(self, path: str) -> Any:
        answer = self.get(f"/api/{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def part(self, path: str) -> str:
        answer = self.get(f"/part/{path}")
        assert answer.status_code == 200, answer.text
        return answer.text

    def lines(self) -> list[RunLine]:
        return lines_of(self.site._root)


def copied(run: Path, directory: Path, name: str) -> Path:
    return Path(shutil.copytree(run, directory / name))
