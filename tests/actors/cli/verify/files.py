"""A run's files: what is said of them, and how they are spoilt."""

from __future__ import annotations

from pathlib import Path


def lines(out: str) -> dict[str, str]:
    """`{file: what is said of it}`."""
    return dict(line.removeprefix("run/").split(": ", 1) for line in out.splitlines())


def flip(path: Path, byte: int) -> None:
    data = bytearray(path.read_bytes())
    data[byte] ^= 4
    path.write_bytes(data)


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
