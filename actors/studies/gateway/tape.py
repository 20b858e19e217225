"""The tape of an experiment: every reply of a server is on it before a cell gets it, and the total of all calls.

It is a file of the kind in which a run keeps the answers of its model. The latest reply to a request stands under the
request's key, so a failure stays until an answer takes its place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from actors.core.files import refuse_link
from prism.llm.gateway import Replied
from prism.llm.tape import HEADER_KEY, TapeError, TapeFile

TOTALS_KEY = b"totals"


class Totals(msgspec.Struct, kw_only=True):
    """The calls on a tape and what they cost, failed ones included."""

    calls: int = 0  # that have reached a server
    failed: int = 0  # those of them without an answer
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0

    def plus(self, other: Totals) -> Totals:
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Totals(**dict(zip(self.__struct_fields__, map(sum, pairs), strict=True)))


_replies = msgspec.json.Decoder(Replied)
_totals = msgspec.json.Decoder(Totals)


class ExperimentTape(TapeFile):
    """The replies of servers in a file.

    Args:
        path: the file. In mode `record` it is made if it does not exist; the caller holds the lock of its directory.
        mode: `record` to read and append, `replay` to read, `look` to read what another process appends to.

    Raises:
        TapeError: there is no such tape, or the file is no tape.
    """

    def __init__(self, path: Path, mode: Literal["record", "replay", "look"]) -> None:
        if mode == "record":
            try:
                for end in ("", "-wal", "-shm", "-journal"):  # SQLite opens these by itself
                    refuse_link(path.with_name(f"{path.name}{end}"))
            except OSError as error:
                raise TapeError(path, f"cannot be opened: {error.strerror}") from None
        super().__init__(path, mode)
        try:
            if self._row(HEADER_KEY) is not None:
                raise TapeError(self.path, "is the tape of a run, and not of an experiment")
            row = self._row(TOTALS_KEY)
            self.totals = Totals() if row is None else self._decode(row, _totals)
        except TapeError:
            self.close()
            raise

    def read(self, key: bytes) -> Replied | None:
        """Return the latest reply to a request, or None."""
        row = self._row(key)
        return None if row is None else self._decode(row, _replies)

    def write(self, key: bytes, reply: Replied, question: str, added: Totals) -> None:
        """Write a reply, and add to the totals, or do neither. One thread at a time may call it."""
        totals = self.totals.plus(added)
        self._execute(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?), (?, '', ?)",
            *(key, question, msgspec.json.encode(reply), TOTALS_KEY, msgspec.json.encode(totals)),
        )
        self.totals = totals
