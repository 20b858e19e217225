"""The log level and format of a process, and its messages on standard error: text, or a JSON object a line.

Standard error is all text or all JSON. So `say` prints everything that a command writes there beside its log.
Standard output has the result of a command alone: for a person, or as JSON.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any, Literal

from prism.quoting import printable_lines

Format = Literal["text", "json"]
FORMATS: tuple[Format, ...] = ("text", "json")
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class Output:
    """The looks of everything that a process prints. There is one for the process: `output`.

    None of it is a setting of a run, because equal runs may be looked at in different ways.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Return to the defaults, for another command in the same process."""
        self.level = logging.INFO
        self.format: Format = "text"
        self.show_results()

    def show_results(self) -> None:
        """Return to results for a person, with progress."""
        self.is_quiet = False
        """True if no progress and no message below a warning is shown: with `--quiet`, and with `--json`."""
        self.as_json = False
        """True if the result is JSON: with `--json`."""

    @property
    def is_json(self) -> bool:
        return self.format == "json"


output = Output()


def say(message: str, *, level: str = "info") -> None:
    """Print a message to the user on standard error: a line of text after `prism: `, or the JSON object `message`.

    Text shows messages of every level: they are about the command, and `--quiet` leaves out those of level info.
    """
    if output.is_quiet and level == "info":
        return
    if output.is_json:
        say_json(level, "message", message=message)
    else:
        write_error(f"prism: {printable_lines(message)}\n")


def say_json(level: str, event: str, **facts: Any) -> None:
    """Print an event on standard error, unless it is below the chosen level."""
    from actors.logs.redaction import Redaction  # noqa: PLC0415  # `prism --help` has no use for structlog

    if LEVELS[level] >= output.level:
        fields = {
            "event": event,
            **facts,
            "level": level,
            "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        }
        clean = Redaction(os.environ)(None, level, fields)
        write_error(f"{json.dumps(clean, default=str)}\n")


def is_shown() -> bool:
    """Return whether a person sees standard error at once: on a terminal, or below a notebook's cell."""
    return (sys.stderr is not None and sys.stderr.isatty()) or in_notebook()


def write_error(text: str) -> None:
    """Print on the standard error of the moment: a live display replaces `sys.stderr` while it runs."""
    if sys.stderr is not None:  # a process without a console has no standard error
        sys.stderr.write(text)
        sys.stderr.flush()


def in_notebook() -> bool:
    """Return whether this process is a notebook's kernel. It imports nothing: a kernel has IPython already."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")
