"""The directory of a cell as a parcel: one file that is sent in pieces, and unpacked whole or not at all."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from actors.core.files import sha256_of
from actors.record.lock import LOCK, locked

PIECE_BYTES = 4 * 1024**2  # the most bytes that are sent at once. Most cells are smaller.


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    size: int  # its bytes
    sha256: str  # of its bytes
    first: bytes  # its first piece

    @property
    def pieces(self) -> int:
        return max(1, -(-self.size // PIECE_BYTES))


def pack(directory: Path, to: Path) -> Parcel:
    """Pack the files of a cell's directory, without its lock, and return the parcel."""
    with tarfile.open(to, "w:gz", compresslevel=1) as archive:
        for path in sorted(directory.rglob("*")):
            if path.is_file() and path.name != LOCK:
                archive.add(path, str(path.relative_to(directory)), recursive=False)
    return Parcel(size=to.stat().st_size, sha256=sha256_of(to), first=piece(to, 0))


def piece(parcel: Path, number: int) -> bytes:
    """Return a piece of a packed parcel, counted from 0."""
    with parcel.open("rb") as file:
        file.seek(number * PIECE_BYTES)
        return file.read(PIECE_BYTES)


class Arrival:
    """A parcel that arrives piece by piece, in order, in a file beside the directory that it becomes."""

    def __init__(self, parcel: Parcel, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._parcel, self._path = parcel, path
        self._hash = sha256()
        self._got = 0
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115  # `close` does
        self.add(parcel.first)

    @property
    def wanted(self) -> int | None:
        """The number of the next piece; None if all have arrived."""
        return self._got if self._got < self._parcel.pieces else None

    def add(self, content: bytes) -> None:
        self._file.write(content)
        self._hash.update(content)
        self._got += 1

    def settle(self) -> bool:
        """Put the directory in its place, and replace an old one; return False if the parcel was damaged on its way."""
        if self._hash.hexdigest() != self._parcel.sha256:
            return False
        self._file.seek(0)
        draft = Path(tempfile.mkdtemp(prefix=".", suffix=".tmp", dir=self._path.parent))
        try:
            try:
                with tarfile.open(fileobj=self._file, mode="r:gz") as archive:
                    _unpack(archive, draft)
            except tarfile.TarError as error:
                raise OSError(f"the files of the cell cannot be unpacked: {error}") from None
            draft.chmod(0o755)
            if self._path.exists():
                with locked(self._path):
                    shutil.rmtree(self._path)
            draft.rename(self._path)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return True

    def close(self) -> None:
        self._file.close()


def _unpack(archive: tarfile.TarFile, directory: Path) -> None:
    """Write the files of an archive into a directory. `extractall` has a filter only from Python 3.11.4 on."""
    for member in archive:
        place = PurePosixPath(member.name)
        content = archive.extractfile(member) if member.isreg() else None
        if content is None or place.is_absolute() or ".." in place.parts:
            raise tarfile.TarError(f"{member.name!r} is no file of a cell")
        target = directory / place
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("xb") as file:
            shutil.copyfileobj(content, file)
