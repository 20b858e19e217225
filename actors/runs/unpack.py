"""The unpacking of a `.prism` file: every length, hash and name is checked before anything is in its place.

A pack may come from anybody. Only its `pack.json` says where to write, and its names must stay inside the directory. No
file gets more bytes than `pack.json` states, and names, lengths and written bytes must be in proportion to the pack.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, mkdtemp
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812  # its own name says nothing

from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import CHUNK_BYTES, JSON_BYTES_MAX, hold, json_value, opened, opened_as_it_is, remove_abandoned
from actors.persistence.journal import JOURNAL
from actors.runs.inputs import link_or_copy
from actors.runs.pack import (
    CONTENTS,
    FORMAT,
    SUFFIX,
    Contents,
    Packed,
    bytes_max_of,
    is_shared,
    misnamed,
    out_of_proportion,
    written_bytes,
)

_SHA256 = re.compile(r"[0-9a-f]{64}")
_DAMAGED = (BadZipFile, ZlibError, EOFError, NotImplementedError, RuntimeError, ValueError, KeyError)
"""The errors of the library for a file that is no whole zip file, or of a kind that PRISM does not write."""


def unpack(file: Path, out: Path | None = None) -> tuple[Path, Contents]:
    """Unpack a file into a new directory, whole or not at all; return the directory and the contents of the file.

    Args:
        out: the directory; by default one of the packed name, in the current directory.

    Raises:
        RunDirectoryError: the file is no whole pack, or the directory exists or cannot be made.
        DiskFailedError: the disk is full or broken.
    """
    with _opened(file) as (archive, contents):
        target = Path(contents.name) if out is None else out
        if target.exists() or target.is_symlink():
            raise RunDirectoryError(f"{target}: exists already; name another directory with --out")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            remove_abandoned(target)
            draft = Path(mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
            try:
                with opened_as_it_is(draft) as descriptor:
                    hold(descriptor)
                    _extract(file, archive, contents, draft)
                draft.chmod(0o755)
                draft.rename(target)
            except BaseException:
                shutil.rmtree(draft, ignore_errors=True)
                raise
        except OSError as error:
            raise run_directory_error(error, f"{target}: cannot be unpacked") from None
    return target, contents


@contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """Yield a directory with the contents of a file; the directory is removed at the end of the block.

    Raises:
        RunDirectoryError: the file is no whole pack, or there is no place for it.
        DiskFailedError: the disk is full or broken.
    """
    with TemporaryDirectory(prefix="prism-") as place:
        name = file.name.removesuffix(SUFFIX)
        yield unpack(file, Path(place, name))[0]


@contextmanager
def _opened(file: Path) -> Iterator[tuple[ZipFile, Contents]]:
    """Open a pack, and check its `pack.json`."""
    try:
        with opened(file) as descriptor, os.fdopen(os.dup(descriptor), "rb") as stream:
            try:
                with ZipFile(stream) as archive:
                    yield archive, _contents(file, archive, os.fstat(descriptor).st_size)
            except _DAMAGED as error:
                if file.name == JOURNAL:
                    raise _refusal(file, f"is the journal of a run; name its directory, {file.parent}") from None
                raise _refusal(file, f"is damaged or cut off: {' '.join(str(error).split())}") from None
    except OSError as error:
        raise run_directory_error(error, f"{file}: cannot be read") from None


def _contents(file: Path, archive: ZipFile, size: int) -> Contents:
    if not {member.compress_type for member in archive.infolist()} <= {ZIP_STORED, ZIP_DEFLATED}:
        # The library decompresses the other kinds without a limit, into any amount of memory.
        raise _refusal(file, "is compressed in a way that `prism pack` does not use")
    members = [member.filename for member in archive.infolist()]
    if CONTENTS not in members:
        raise _refusal(file, f"has no {CONTENTS}, so it is not what `prism pack` writes")
    with archive.open(CONTENTS) as member:
        content = member.read(JSON_BYTES_MAX + 1)
    if len(content) > JSON_BYTES_MAX:
        raise BadZipFile(f"{CONTENTS} is longer than {JSON_BYTES_MAX:,} bytes")
    try:
        contents: Contents = json_value(content, Contents)
    except ValueError as error:
        raise _refusal(file, f"{CONTENTS}: {error}") from None
    if contents.format != FORMAT:
        raise _refusal(file, f"has format {contents.format}, and this version of PRISM reads {FORMAT}")
    if strange := misnamed(contents) or _strange(contents, members) or out_of_proportion(contents, size):
        raise _refusal(file, strange)
    return contents


def _strange(contents: Contents, members: list[str]) -> str | None:
    """Return the contradiction in a pack: a name twice, a file below a file, content without a file, or the reverse."""
    lengths: dict[str, int] = {}
    for name, packed in contents.files.items():
        if packed.bytes < 0 or not _SHA256.fullmatch(packed.sha256):
            return f"{name}: has no length or no SHA-256"
        if lengths.setdefault(packed.sha256, packed.bytes) != packed.bytes:
            return f"{name}: has another length than a file with the same SHA-256"
        if any(str(above) in contents.files for above in PurePosixPath(name).parents):
            return f"{name}: is inside of a file"
    if len(members) != len({*members}):
        return "has two members of one name"
    expected = {CONTENTS, *(packed.sha256 for packed in contents.files.values())}
    if different := sorted(expected.symmetric_difference(members)):
        return f"{different[0]}: is in the pack or in its {CONTENTS}, but not in both"
    return None


def _extract(file: Path, archive: ZipFile, contents: Contents, out: Path) -> None:
    free, total = shutil.disk_usage(out).free, written_bytes(contents)
    if total > free:
        raise _refusal(file, f"unpacks to {total:,} bytes, and {out.parent} has {free:,} left")
    kept: dict[str, Path] = {}
    written, bytes_max = 0, bytes_max_of(file.stat().st_size)
    for name, packed in contents.files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_shared(name) and packed.sha256 in kept:
            link_or_copy(kept[packed.sha256], path)
            if path.samefile(kept[packed.sha256]):
                continue
        else:
            _extract_one(file, archive, name, packed, path)
        if is_shared(name):  # a copy, too: a file may have only so many names, and the next links are to the copy
            path.chmod(0o444)
            kept[packed.sha256] = path
        written += packed.bytes
        if written > bytes_max:
            raise _refusal(file, f"unpacks to more than {bytes_max:,} bytes here, where equal files are not shared")


def _extract_one(file: Path, archive: ZipFile, name: str, packed: Packed, path: Path) -> None:
    digest, size = sha256(), 0
    with archive.open(packed.sha256) as member, path.open("xb") as target:
        while chunk := member.read(min(CHUNK_BYTES, packed.bytes - size + 1)):
            size += len(chunk)
            if size > packed.bytes:
                break
            digest.update(chunk)
            target.write(chunk)
    if (size, digest.hexdigest()) != (packed.bytes, packed.sha256):
        raise _refusal(file, f"{name}: is not what was packed: its length or its SHA-256 is another")


def _refusal(file: Path, problem: str) -> RunDirectoryError:
    return RunDirectoryError(f"{file}: {problem}; nothing was unpacked")
