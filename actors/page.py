"""A page of the HTTP endpoint: what a path answers with, and who makes it."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple

TEXT = "text/plain; charset=utf-8"


class Page(NamedTuple):
    """What a path answers with."""

    status: HTTPStatus
    body: bytes
    kind: str = TEXT


Render = Callable[[str], Page]
"""A page, from the Accept header."""


def plain(status: HTTPStatus, line: str) -> Page:
    """A page of one line."""
    return Page(status, f"{line}\n".encode())
