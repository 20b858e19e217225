"""Turns worked out again for the page, in another process: it takes as long as a replay, and may take its memory.

One turn is worked out at a time, and none for longer than a limit. So neither the page nor a run under way waits.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

import msgspec

from actors.core.errors import RunDirectoryError
from actors.explain.tree import Node
from actors.pages.explanation import explanation
from actors.pages.html import Element

LIMIT_S = 180.0
"""The longest time for one turn."""
EXPLAIN = (sys.executable, "-P", "-m", "actors.cli", "explain")
"""The command that works out a turn. With `-P` Python imports nothing from the current directory, which may hold other
people's runs."""


class Explainer:
    """A worker that explains turns. A later question ends an earlier one that is being worked out.

    `command`: the beginning of the command that does: a run, an agent and a tick follow.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End what is being worked out."""
        if (process := self._process) is not None:
            process.kill()

    def get(self, path: Path, agent: int, tick: int) -> Element:
        """Return the explanation of an agent's turns in a tick as a part of the page. It blocks.

        Raises:
            RunDirectoryError: it cannot be worked out; the error says why.
        """
        if not self._command:
            raise RunDirectoryError("turns are not worked out here")
        arguments = ("--agent", str(agent), "--tick", str(tick))
        command = (*self._command, str(path.resolve()), *arguments, "--json", "--log-format", "json")
        self.close()
        with self._lock:
            try:
                with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603  # our own
                    self._process = process
                    try:
                        out, err = process.communicate(timeout=LIMIT_S)
                    except subprocess.TimeoutExpired:
                        process.kill()
                        asked = f"ask `prism explain {path} {' '.join(arguments)}`"
                        raise RunDirectoryError(f"it takes more than {LIMIT_S:g} s: {asked}") from None
                    finally:
                        self._process = None
            except (OSError, ValueError) as error:
                raise RunDirectoryError(f"the command cannot be begun: {error}") from error
        if process.returncode:
            problem = "it could not be worked out, or another turn was asked for"
            for line in err.splitlines():
                with suppress(msgspec.MsgspecError):
                    problem = str(msgspec.json.decode(line, type=dict[str, object]).get("error", problem))
            raise RunDirectoryError(problem)
        return explanation(msgspec.json.decode(out, type=Node))
