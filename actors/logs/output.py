"""The log level and format of a process, and its messages on standard error: text, or a JSON object a line.

Standard error is all text or all JSON. So `say` prints everything that a command writes there beside its log.
Standard output has the result of a command alone: for a person, or as JSON.
"""

from __future__ import annotations

import io
import json
import logging
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

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
    from actors.logs.setup import Redaction  # noqa: PLC0415  # `prism --help` has no use for structlog

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


STANDARD_DESCRIPTORS = (0, 1, 2)
NAMES = {1: "standard output", 2: "standard error"}


class _Descriptor(io.RawIOBase):
    """A descriptor that is written until that fails. Then it is ignored, or, without `mutes`, the error names it."""

    def __init__(self, number: int, mode: str = "w", *, mutes: bool = True) -> None:
        self.name = NAMES[number]
        self.mode = mode
        self._number = number
        self._mutes = mutes
        self.is_muted = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number

    def isatty(self) -> bool:
        return os.isatty(self._number)

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest and not self.is_muted:
            try:
                rest = rest[os.write(self._number, rest) :]
            except BlockingIOError:  # another process with the same terminal has made it non-blocking
                select.select([], [self._number], [])
            except OSError as error:
                if not self._mutes:
                    error.filename = self.name
                    raise
                self.is_muted = True
        return size


def open_missing() -> None:
    """Open the null device in place of standard streams that are closed.

    Otherwise the next opened file gets the number of standard error, and text for the terminal would be written into
    it.
    """
    for number in STANDARD_DESCRIPTORS:
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the null device gets the lowest free number, which is this descriptor


def escape_unencodable() -> None:
    """Write what the encoding of a standard stream cannot hold with backslashes, so that no text ends a command.

    The encoding is of the locale, or of PYTHONIOENCODING. A way to write such characters that was set there stays.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in {"strict", "surrogateescape"}:
            stream.reconfigure(errors="backslashreplace")


def name_standard_output() -> None:
    """Let errors of standard output name it: Python's name no stream. One of a test stays."""
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _protected(1, sys.stdout, mutes=False)


def protect_standard_error() -> None:
    """Let no later write to standard error fail. A stream that is not the process's own, as in a test, stays."""
    if sys.stderr is sys.__stderr__:
        sys.stderr = _protected(2, sys.stderr)


@contextmanager
def standard_error_protected() -> Iterator[None]:
    """Let no write to standard error fail in the block, as `protect_standard_error` does."""
    before = sys.stderr
    protect_standard_error()
    protected = sys.stderr
    try:
        yield
    finally:
        if sys.stderr is protected:  # else somebody has replaced it in between
            sys.stderr = before


def protect_standard_output() -> None:
    """Let no later write to standard output fail. A stream that is not the process's own, as in a test, stays."""
    if sys.stdout is sys.__stdout__ or isinstance(getattr(sys.stdout, "buffer", None), _Descriptor):
        sys.stdout = _protected(1, sys.stdout)


def _protected(number: int, before: TextIO | None, *, mutes: bool = True) -> TextIO:
    descriptor = _Descriptor(number, mutes=mutes)
    if not isinstance(before, io.TextIOWrapper):  # Python has no stream for a descriptor that was closed at the start
        descriptor.is_muted = True
        return io.TextIOWrapper(descriptor, encoding="utf-8", errors="replace", line_buffering=True)
    return io.TextIOWrapper(
        descriptor,
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=before.line_buffering,
        write_through=before.write_through,
    )
