"""Turns worked out again for the page, in another process: it takes as long as a replay, and may take its memory.

One turn is worked out at a time, and none for longer than a limit. So neither the page nor a run under way waits.
"""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import Any

import msgspec

from actors.explain.tree import Node
from actors.pages.explanation import explanation

LIMIT_S = 180.0
"""The longest time for one turn."""
KEPT_MAX = 32
"""Explanations that are kept."""

Key = tuple[Path, int, int]
"""A run, an agent and a tick."""

EXPLAIN = (sys.executable, "-P", "-m", "actors.cli", "explain")
"""The command that works out a turn. With `-P` Python imports nothing from the current directory, which may hold other
people's runs."""


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """An explanation, as far as it is there."""

    state: str  # `waiting`, `working`, `done` or `failed`
    seconds: float = 0.0  # how long it has been worked on
    problem: str = ""
    parts: Any = None  # the explanation as an element of the page


class _Failed(msgspec.Struct):
    """The part of the last line of a command that has failed."""

    error: str


class Explainer:
    """A worker that explains turns, one after the other.

    `command`: the beginning of the command that does: a run, an agent and a tick follow.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._lock = Lock()
        self._done: OrderedDict[Key, Explained] = OrderedDict()
        self._current: Key | None = None
        self._began_s = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    def get(self, path: Path, agent: int, tick: int) -> Explained:
        """Return the explanation of an agent's turns in a tick, and begin it unless another is being worked out."""
        key = (path, agent, tick)
        with self._lock:
            if key in self._done:
                self._done.move_to_end(key)
                return self._done[key]
            if not self._command:
                return Explained(state="failed", problem="turns are not worked out here")
            if self._current not in (None, key):
                return Explained(state="waiting")  # the page asks again
            if self._current is None:
                self._current, self._began_s = key, monotonic()
                Thread(target=self._work, args=(key,), name="explain", daemon=True).start()
            return Explained(state="working", seconds=monotonic() - self._began_s)

    def close(self) -> None:
        """End what is being worked out."""
        with self._lock:
            if self._process is not None:
                self._process.kill()

    def _work(self, key: Key) -> None:
        try:
            found = self._explained(*key)
        except (OSError, ValueError) as error:
            found = Explained(state="failed", problem=f"the command cannot be begun: {error}")
        with self._lock:
            self._current = None
            self._done[key] = found
            if len(self._done) > KEPT_MAX:
                self._done.popitem(last=False)

    def _explained(self, path: Path, agent: int, tick: int) -> Explained:
        arguments = ("--agent", str(agent), "--tick", str(tick), "--json", "--log-format", "json")
        command = (*self._command, str(path.resolve()), *arguments)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603  # our own
            self._process = process
            try:
                out, err = process.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                problem = f"it takes more than {LIMIT_S:g} s: ask `prism explain {path} --agent {agent} --tick {tick}`"
                return Explained(state="failed", problem=problem)
            finally:
                self._process = None
        if process.returncode:
            return Explained(state="failed", problem=_error_in(err))
        return Explained(state="done", parts=explanation(msgspec.json.decode(out, type=Node)))


def _error_in(err: bytes) -> str:
    for line in reversed(err.splitlines()):
        try:
            return msgspec.json.decode(line, type=_Failed).error
        except msgspec.MsgspecError:
            continue
    return "it could not be worked out"
