"""Read files under a limit, and write them whole: a pipe blocks no reader, and no file is left half written.

All files of a run, an experiment or a cache are opened for writing here. They may come from a stranger, and a link
among them would lead the writing to any file of the user's.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp, mkstemp
from typing import Any, BinaryIO, TypeVar, overload

from actors.core.errors import run_directory_error

CHUNK_BYTES = 1 << 24
"""The most bytes of one read, so that no read takes much more memory than the file has."""

TWIN = "a file with another name elsewhere"

JSON_BYTES_MAX = 1 << 26
"""The most bytes of a record in JSON: thousands of times what PRISM writes."""
JSON_DEPTH_MAX = 64
"""The deepest nesting in a record: whoever shows it goes into it level by level, and Python's stack is limited."""

ABANDONED_AFTER_S = 86_400.0
"""The seconds without a change after which a draft is abandoned: its process was killed."""

_KINDS: dict[str, Callable[[int], bool]] = {
    "directory": stat.S_ISDIR,
    "named pipe": stat.S_ISFIFO,
    "socket": stat.S_ISSOCK,
    "device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
}


class NotRegularError(OSError):
    """A path that leads to a "directory", "named pipe", "socket" or "device" (its `kind`). It was not opened."""

    def __init__(self, path: Path, mode: int) -> None:
        self.kind = next((kind for kind, is_kind in _KINDS.items() if is_kind(mode)), "special file")
        super().__init__(None, f"is a {self.kind}, and not a regular file", str(path))


class LinkedError(OSError):
    """A file or directory to be written that is a link, or has another name: what it leads to is not PRISM's."""

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(None, f"is {kind}, and PRISM writes through no link; put the file itself there", str(path))


class TooLargeError(OSError):
    """A file that is larger than its limit. PRISM has read no more of it than the limit."""

    def __init__(self, path: Path, bytes_max: int) -> None:
        super().__init__(None, f"is larger than the {bytes_max:,} bytes that it may have", str(path))


class NotJsonError(OSError):
    """A file that holds no record of the expected kind in JSON."""

    def __init__(self, path: Path, problem: str) -> None:
        self.problem = problem
        super().__init__(None, f"is not what PRISM writes: {problem}", str(path))


T = TypeVar("T")


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Open a regular file, or a symbolic link to one, for reading; yield its descriptor.

    Of something else it raises NotRegularError: to open a pipe would wait for its writer, and a device may do anything.
    """
    if not stat.S_ISREG(mode := path.stat().st_mode):
        raise NotRegularError(path, mode)
    # It may have been replaced by a pipe meanwhile: without O_NONBLOCK this would wait.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(mode := os.fstat(descriptor).st_mode):
            raise NotRegularError(path, mode)
        yield descriptor
    finally:
        os.close(descriptor)


def open_own(path: Path, flags: int, mode: int = 0o644) -> int:
    """Open a file of a run, an experiment or a cache for writing, and return its descriptor.

    Raises:
        LinkedError: it is a link, or a file with a second name.
        NotRegularError: it is no regular file.
    """
    refuse_link(path)
    # O_NONBLOCK: a named pipe would wait for a reader.
    descriptor = os.open(path, (flags & ~os.O_TRUNC) | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    try:
        found = os.fstat(descriptor)
        _refuse_unwritable(path, found.st_mode)
        if found.st_nlink > 1:
            raise LinkedError(path, TWIN)
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def refuse_link(path: Path) -> None:
    """Raise `LinkedError` if a path is a symbolic link, and `NotRegularError` if no file can be written there."""
    with suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise LinkedError(path, "a symbolic link")
        _refuse_unwritable(path, mode)


def _refuse_unwritable(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):  # only an administrator makes one; tests use /dev/full
        raise NotRegularError(path, mode)


def refuse_links(directory: Path) -> None:
    """Raise a LinkedError if the directory of a run or an experiment has a link, or a writable file with a second name.

    Of an experiment's runs only the directories count: each is looked at by itself.
    """
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise LinkedError(Path(entry), "a symbolic link")
            found = entry.stat()
            if entry.is_dir():
                if directory.name != "cells":
                    refuse_links(Path(entry))
            elif found.st_nlink > 1 and found.st_mode & 0o222:  # inputs are shared with other runs, and read-only
                raise LinkedError(Path(entry), TWIN)


def read_regular(path: Path, bytes_max: int) -> bytes:
    """Return the content of a regular file, or raise the errors of `opened`, or TooLargeError beyond `bytes_max`."""
    with opened(path) as descriptor:
        # The length is not trusted: files of /proc have no length, and a file may grow while it is read.
        is_large = os.fstat(descriptor).st_size > bytes_max
        if is_large or len(content := read_descriptor(descriptor, bytes_max)) > bytes_max:
            raise TooLargeError(path, bytes_max)
        return content


@overload
def read_json(path: Path) -> Any: ...
@overload
def read_json(path: Path, kind: type[T], *, strict: bool = True) -> T: ...
def read_json(path: Path, kind: Any = Any, *, strict: bool = True) -> Any:
    """Return the record in a JSON file, which a stranger may have written. It raises the errors of `read_regular`, too.

    Raises:
        NotJsonError: it is no JSON, is nested too deeply, or is another record.
    """
    content = read_regular(path, JSON_BYTES_MAX)
    try:
        return json_value(content, kind, strict=strict)
    except ValueError as error:
        raise NotJsonError(path, str(error)) from None


def json_value(content: bytes | str, kind: Any = Any, *, strict: bool = True) -> Any:
    """Return a value of JSON that a stranger may have written, or raise a ValueError."""
    import msgspec  # noqa: PLC0415  # the help of commands loads this module, and has to be quick

    try:
        value = msgspec.json.decode(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    refuse_deep(value)
    return value if kind is Any else msgspec.convert(value, kind, strict=strict, str_keys=True)


def refuse_deep(value: object) -> None:
    """Raise a ValueError if a value of dictionaries and lists is nested too deeply."""
    level = [value]
    for _ in range(JSON_DEPTH_MAX):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise ValueError("it is nested too deeply")


def read_descriptor(descriptor: int, bytes_max: int) -> bytes:
    chunks, left = list[bytes](), bytes_max + 1
    while left and (chunk := os.read(descriptor, min(left, CHUNK_BYTES))):
        chunks.append(chunk)
        left -= len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def chunks_of(path: Path) -> Iterator[bytes]:
    """Yield the content of a regular file in pieces. It raises the errors of `opened`."""
    with opened(path) as descriptor:
        while chunk := os.read(descriptor, CHUNK_BYTES):
            yield chunk


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a regular file, hexadecimal. It raises the errors of `opened`."""
    digest = sha256()
    for chunk in chunks_of(path):
        digest.update(chunk)
    return digest.hexdigest()


def write_file(path: Path, content: bytes, *, follows: bool = False) -> None:
    """Write a file whole or not at all; an existing file is replaced, and keeps its permissions.

    Args:
        follows: for a file that the user has named: a symbolic link stays a link, and other kinds of files, such as
            `/dev/stdout` or a named pipe, are written to directly. Otherwise these are refused.

    Raises:
        RunDirectoryError: it cannot be written.
        DiskFailedError: the disk is full or has failed.
    """
    try:
        if not follows:
            refuse_link(path)
        target = path.resolve()
        os.umask(mask := os.umask(0o022))  # the only way to read the mask is to set it
        mode = target.stat().st_mode if target.exists() else stat.S_IFREG | 0o666 & ~mask
        if stat.S_ISREG(mode):
            with drafted_file(target, stat.S_IMODE(mode)) as file:
                file.write(content)
        else:
            path.write_bytes(content)
    except OSError as error:
        raise run_directory_error(error, f"{path}: cannot be written") from None


def content_hash(value: object) -> str:
    """Return the SHA-256 of a value as JSON with its keys in order, hexadecimal: equal content has one hash."""
    import msgspec  # noqa: PLC0415  # the help of commands loads this module, and has to be quick

    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()


def write_json(path: Path, record: object) -> None:
    """Write a record to a JSON file that a person can read, as `write_file` does."""
    import msgspec  # noqa: PLC0415  # the help of commands loads this module, and has to be quick

    write_file(path, msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")


def remove_abandoned(path: Path) -> None:
    """Remove the drafts of a file or a directory, `.NAME.*.tmp` beside it, whose processes were killed."""
    for draft in path.parent.glob(f".{escape(path.name)}.*.tmp"):
        with suppress(OSError):
            if time.time() - draft.lstat().st_mtime > ABANDONED_AFTER_S and not draft.is_symlink():
                shutil.rmtree(draft) if draft.is_dir() else draft.unlink()


@contextmanager
def opened_as_it_is(path: Path) -> Iterator[int]:
    """Open a file or a directory, but follow no symbolic link; yield its descriptor."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def drafted_file(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Yield a draft of a file, which replaces the file at the end of the block, or is removed on an error."""
    remove_abandoned(path)
    descriptor, name = mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        draft.chmod(mode)
        draft.replace(path)
    except BaseException:  # also Ctrl-C: on a full disk the space of a draft is needed
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def drafted_directory(path: Path) -> Iterator[Path]:
    """Yield an empty directory, which takes its name, in place of any other, once the block has ended well."""
    remove_abandoned(path)
    draft = Path(mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        yield draft
        draft.chmod(0o755)
        if path.exists():
            path.replace(Path(mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent)))
        draft.replace(path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    for old in path.parent.glob(f".{escape(path.name)}.*.old"):
        shutil.rmtree(old, ignore_errors=True)
