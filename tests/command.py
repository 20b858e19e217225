"""The real command line, run in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import NamedTuple

import pytest

from actors.cli import main


class Ended(NamedTuple):
    """The end of a command: its exit code and its output."""

    code: int
    out: str
    err: str


Prism = Callable[..., Ended]


def run_prism(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> Ended:
    """Return the end of `prism` with these arguments."""
    monkeypatch.setattr(sys, "argv", ["prism", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    code = ended.value.code
    return Ended(code if isinstance(code, int) else 0, printed.out, printed.err)


def prism_alone(*arguments: str) -> Ended:
    """Return the end of `prism` with these arguments, for a fixture that outlives a test: without a test's `capsys`."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["prism", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    code = ended.value.code
    return Ended(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())
