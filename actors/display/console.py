"""Consoles of the command line."""

from __future__ import annotations

from rich.console import Console

UNWRAPPED = 10_000
"""The width of a console that wraps nothing."""


def unwrapped_console() -> Console:
    """Return a console on the standard output, which wraps lines on a terminal alone: a file has no width."""
    console = Console()
    return console if console.is_terminal else Console(width=UNWRAPPED)
