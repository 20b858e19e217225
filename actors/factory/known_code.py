"""The code that this user has run on this machine: a record of hashes, outside of every run's directory.

A run's directory can say anything of itself, so it is not asked. Code gets into the record when its user names a
configuration on the command line or in Python, or allows it with --trust.

    ~/.local/state/prism/code, or $XDG_STATE_HOME/prism/code:
    4f0c... bar:BarDomain
    4f0c... bar
    a81b... helpers
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from actors.core.files import open_own, opened_as_it_is, read_descriptor

RECORD_BYTES_MAX = 1 << 24
"""The most bytes of the record that are read: more than 100,000 lines."""


class KnownCode:
    """The code that may be run here: keys, each a hash and the name that the code has in Python."""

    def __init__(self) -> None:
        self.trusts = False
        """True if this process was started with --trust: the code that it runs is allowed, and known from then on."""
        self._here: set[str] = set()
        """The keys that this process has added: the record may be on a disk that cannot be written."""

    def has(self, keys: Iterable[str]) -> bool:
        """Return whether all keys are known."""
        unknown = set(keys) - self._here
        return not unknown or unknown <= _read()

    def has_other(self, name: str) -> bool:
        """Return whether other code of this name is known."""
        return any(key.partition(" ")[2] == name for key in self._here | _read())

    def add(self, keys: Iterable[str]) -> None:
        """Add keys, for this process and, if the record can be written, for later ones."""
        new = [key for key in dict.fromkeys(keys) if key not in self._here]
        if new:
            self._here.update(new)
            known = _read()
            _append([key for key in new if key not in known])


known_code = KnownCode()


def record_path() -> Path | None:
    """Return the file of the record; None if this user has no directory for it."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if state.is_absolute():
        return state / "prism" / "code"
    try:
        return Path.home() / ".local" / "state" / "prism" / "code"
    except RuntimeError:
        return None


def _read() -> set[str]:
    """Return the keys of the record; none if others could have written it."""
    path = record_path()
    if path is None:
        return set()
    with suppress(OSError), opened_as_it_is(path) as descriptor:
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            return set(read_descriptor(descriptor, RECORD_BYTES_MAX).decode(errors="replace").splitlines())
    return set()


def _append(keys: list[str]) -> None:
    """Append to the record, in one write, so that processes that do so at once do not mix their lines."""
    path = record_path()
    if path is None or not keys:
        return
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = open_own(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, "".join(f"{key}\n" for key in keys).encode())
        finally:
            os.close(descriptor)
