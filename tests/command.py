"""The real command line, run in this process."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from actors.cli import main
from tests.paths import ROOT
from tests.patience import HANG_S


class Ended(NamedTuple):
    code: int
    out: str
    err: str


Prism = Callable[..., Ended]


def without_settings() -> dict[str, str]:
    """Return the variables of this process without the settings of a run; kernels stay plain or compiled, as here."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PRISM_") or name == "PRISM_JIT"}


def run_prism(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> Ended:
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


def begin(*words: str | Path, cwd: Path = ROOT, env: Mapping[str, str] = {}, **streams: Any) -> subprocess.Popen[str]:
    """Begin `prism` in a process of its own, with this source. Its streams are pipes unless others are given."""
    command = [sys.executable, "-m", "actors.cli", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **env}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.Popen(command, cwd=cwd, text=True, env=environment, **pipes)


def end(process: subprocess.Popen[str], code: int = 0) -> Ended:
    """Wait for the end of a process, which must be this one."""
    out, err = process.communicate(timeout=2 * HANG_S)
    assert process.returncode == code, (process.args, process.returncode, out, err)
    return Ended(process.returncode, out, err)


def short_of_room(most_bytes: int, *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Return the end of `prism` with these arguments, in a process that may make no file longer than this.

    It compiles no module for good: Python would keep a file that is cut off, and later processes would fail by it.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    command = [sys.executable, "-m", "actors.cli", *arguments]
    source = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=cwd, env=source, capture_output=True, text=True, preexec_fn=limit, check=False)
