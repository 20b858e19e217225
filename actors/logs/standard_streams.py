"""Standard output and standard error of a process that goes on when one of them cannot be written any more.

A terminal is closed, a `tee` ends, the disk of a log is full: such an event must not end a run of a week. Text that
cannot be written is discarded.
"""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

STANDARD_DESCRIPTORS = (0, 1, 2)
NAMES = {1: "standard output", 2: "standard error"}


class _Descriptor(io.RawIOBase):
    """A descriptor that is written until that fails. Then it is ignored, or the error names it.

    Args:
        mutes: False lets errors through.
    """

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
        """Write all of it, or discard it."""
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
