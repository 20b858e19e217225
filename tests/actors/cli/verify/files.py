"""A run's files: the report of `prism verify` on them, and ways to damage them."""

from __future__ import annotations

from pathlib import Path


def lines(out: str) -> dict[str, str]:
    """Return `{file: the report on it}`."""
    return dict(line.removeprefix("run/").split(": ", 1) for line in out.splitlines())


def flip(path: Path, byte: int) -> None:
    data = bytearray(path.read_bytes())
    data[byte] ^= 4
    path.write_bytes(data)


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
