"""One file of a run, an experiment or a calibration, to send or to archive: a `.prism` file.

It is a tar file, compressed with gzip, of one directory with all that another machine needs, without settings for one
machine alone. Inputs that cells share are hard links of the first. Symbolic links are refused: they could lead to any
file of the user who packs. Equal runs make equal packs.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from fnmatch import fnmatch
from gzip import GzipFile
from hashlib import sha256
from io import BytesIO
from mmap import ACCESS_READ, mmap
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final, NamedTuple
from zlib import error as ZlibError  # noqa: N812  # its own name says nothing

import msgspec
import yaml

from actors.core.errors import JournalError, RunDirectoryError, RunLockedError, run_directory_error
from actors.core.files import drafted_directory, drafted_file, opened
from actors.factory.input_files import INPUTS
from actors.runs.inputs import link_or_copy
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL
from actors.store.lock import holder_of
from actors.store.manifest import CONFIG, MANIFEST, encode_manifest, read_manifest
from actors.store.run import read_resolved
from actors.store.segments import SEGMENT_SUFFIX, segment_columns
from prism.credentials import VARIABLE, is_secret_name
from prism.rows import Heap

SUFFIX: Final = ".prism"
CELLS: Final = "cells"

OF_A_RUN = (
    *(CONFIG, "config-until-*.yaml", MANIFEST, JOURNAL, "journal-*.seg", "checkpoint-*.bin", "oracle.log"),
    *("rounds.csv", "summary.json", "tape.sqlite", "tape.sqlite-wal", "causes/*.json", "audit/*", f"{INPUTS}/*/**/*"),
)
"""The files of a run that are packed."""
OF_A_STUDY = (
    *("plans/*.json", "seals/*.json", "results.csv", "outcome.json", "tape.sqlite", "tape.sqlite-wal"),
    *("calibrated.yaml", "calibration.json", "audit/*", f"{INPUTS}/*/*.py"),
)
"""The files of an experiment or a calibration that are packed, besides its cells."""
RATIO_MAX: Final = 200
"""The most times that the content of a pack may be longer than the pack. Journals reach 10 to 30."""
FREE_BYTES: Final = 64 * 1024**2  # bytes that a pack may have at any ratio
DEPTH_MAX: Final = 32  # the most parts of a name, so that no name makes many directories
SECRET_LENGTH_MIN: Final = 8
"""The fewest characters of a secret that is looked for: a shorter text occurs anywhere by chance."""
Secrets = Mapping[str, frozenset[bytes]]  # `{environment variable: its value, in each form in which it is looked for}`
_DAMAGED = (tarfile.TarError, ZlibError, EOFError, ValueError, RecursionError)
"""The errors of the libraries for a file that is no whole tar file. Some go one call deeper with each header."""


class Written(NamedTuple):
    """A pack that was written."""

    files: int  # in it
    bytes: int  # of these
    packed_bytes: int  # of the pack


def pack(path: Path, out: Path) -> Written:
    """Write a run, an experiment or a calibration into one file, whole or not at all.

    It is a RunDirectoryError if there is nothing to pack, a process works on it, a secret is in it, or a file is in the
    way.
    """
    files = _files_of(path)
    if out.exists() or out.is_symlink():
        raise RunDirectoryError(f"{out}: exists already; name another file with --out")
    name = path.resolve().name.lstrip(".")
    for each in files:
        if problem := _misnamed(f"{name}/{each}"):
            raise RunDirectoryError(f"{path}: cannot be packed: its pack {problem}; give it another name")
    # The values of secrets. A setting names the variable of a secret, or the variable has a secret's name.
    names = {name for name in os.environ if is_secret_name(name)}
    for each in files:
        if not fnmatch(each.rpartition("/")[2], "config*.yaml"):
            continue
        llm = read_resolved(path / each).llm
        names.add(llm.api_key_env)
        for text in [*llm.request.headers.values(), *llm.request.query.values()]:
            names |= {found[1] or found[2] for found in VARIABLE.finditer(text)}
    values = {name: os.environ.get(name, "") for name in sorted(names)}
    secrets = {name: _forms_of(value) for name, value in values.items() if len(value) >= SECRET_LENGTH_MIN}
    runs = [each.removesuffix(MANIFEST) for each in files if each.endswith(MANIFEST)]
    replaced = {run + each: content for run in runs for each, content in _unplaced(path / run).items()}
    try:
        with (
            drafted_file(out) as file,
            GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            size = _write(archive, path, name, {each: replaced.get(each) for each in files}, secrets)
    except OSError as error:
        raise run_directory_error(error, f"{error.filename or out}: cannot be packed") from None
    return Written(len(files), size, out.stat().st_size)


def _write(archive: tarfile.TarFile, path: Path, name: str, files: Mapping[str, bytes | None], secrets: Secrets) -> int:
    """Write files of a directory, each with its own or with another content, and return their bytes."""
    total, shared = 0, dict[str, str]()
    for file, content in files.items():
        place, member = path / file, tarfile.TarInfo(f"{name}/{file}")
        _, is_input, kept = f"/{file}".partition(f"/{INPUTS}/")
        with opened(place) as descriptor, os.fdopen(os.dup(descriptor), "rb") as stream:
            member.size = os.fstat(descriptor).st_size if content is None else len(content)
            total += member.size
            if is_input and shared.setdefault(kept, member.name) != member.name:  # its name has its hash
                member.type, member.linkname, member.size = tarfile.LNKTYPE, shared[kept], 0
            elif content is not None:
                _refuse_secrets(place, content, secrets)
            elif secrets and member.size:
                with mmap(descriptor, 0, access=ACCESS_READ) as whole:
                    _refuse_secrets(place, whole, secrets)
                if fnmatch(file, f"*{SEGMENT_SUFFIX}"):
                    # Secrets are looked for in what it has compressed, too. In a damaged segment they cannot be found.
                    with closing(RealDisk(place.parent)) as disk, suppress(JournalError):
                        for table in segment_columns(disk, place.name, None)[1].values():
                            for values in (each for each in table.columns.values() if isinstance(each, Heap)):
                                _refuse_secrets(place, values.data.tobytes(), secrets)
            archive.addfile(member, stream if content is None else BytesIO(content))
    return total


def is_pack(path: Path) -> bool:
    return path.suffix == SUFFIX and path.name != JOURNAL and path.is_file()


def _misnamed(name: str) -> str:
    """Return the problem with a name in a pack, `DIRECTORY/FILE`; empty without one.

    It is checked when a pack is written, too: what packs must unpack. Terminals show names, so they are printable.
    """
    if name.startswith((".", "/")) or not 2 <= name.count("/") + 1 <= DEPTH_MAX or ".." in name.split("/"):
        return f"names {name!r}; expected a file in a directory"
    return "" if name.isprintable() else f"names {name!r}; expected UTF-8 without control characters"


def _files_of(path: Path) -> list[str]:
    """Return the names of the files to be packed, in order. Work that goes on and symbolic links are refused."""
    is_run = (path / MANIFEST).exists()
    runs = [path] if is_run else sorted((path / CELLS).glob("*"))
    if not runs:
        problem = f"is no run, no experiment and no calibration: it has no {MANIFEST}, no {CELLS}"
        raise RunDirectoryError(f"{path}: {problem if path.is_dir() else 'no such directory'}")
    for busy in (path, *runs):
        if (holder := holder_of(busy)) is not None:
            raise RunLockedError(busy, holder)
    found = [] if is_run else [(path, pattern) for pattern in OF_A_STUDY]
    found += [(run, pattern) for run in runs if (run / MANIFEST).exists() for pattern in OF_A_RUN]
    names = dict[str, None]()
    for directory, pattern in found:
        for file in sorted(directory.glob(pattern)):
            inner = file.relative_to(path)
            if file.is_file() and not any(part.startswith((".", "__pycache__")) for part in inner.parts):
                names[inner.as_posix()] = None
    for each in map(PurePosixPath, names):
        if link := next((path / place for place in (each, *each.parents[:-1]) if (path / place).is_symlink()), None):
            problem = "is a symbolic link, so it is not packed; put the file itself there, or remove it"
            raise RunDirectoryError(f"{link}: {problem}")
    return [*names]


def _unplaced(directory: Path) -> dict[str, bytes]:
    """Return `{file: content}` of a run's files that name places of this machine, with those places removed."""
    manifest, replaced, replace = read_manifest(directory), dict[str, bytes](), msgspec.structs.replace
    for file in manifest.configs:
        # Certificates, logins and recorded tapes are files of one machine.
        config = read_resolved(directory / file)
        tape = None if config.oracle.tape == "record" else config.oracle.tape_path
        unplaced = replace(
            config,
            metrics=replace(config.metrics, tls_cert=None, tls_key=None, username=None),
            oracle=replace(config.oracle, tape_path=tape),
            llm=replace(config.llm, ca_file=None),
        )
        if unplaced != config:
            text = yaml.safe_dump(msgspec.to_builtins(unplaced), sort_keys=False, allow_unicode=True)
            replaced[file] = text.encode()
    if not replaced:
        return {}
    sealed = {name: sha256(content).hexdigest() for name, content in replaced.items()}
    resealed = replace(manifest, sealed={**manifest.sealed, **sealed})
    return {**replaced, MANIFEST: encode_manifest(resealed)}


def _forms_of(value: str) -> frozenset[bytes]:
    """Return a text as it stands in a file: as it is, in JSON, and in JSON that is a text in JSON."""
    found = {value}
    for _ in range(2):
        found |= {json.dumps(each, ensure_ascii=escapes)[1:-1] for each in found for escapes in (True, False)}
    return frozenset(each.encode(errors="surrogateescape") for each in found)


def _refuse_secrets(path: Path, content: bytes | mmap, secrets: Secrets) -> None:
    for variable, forms in secrets.items():
        if any(content.find(form) >= 0 for form in forms):
            problem = f"has the value of ${variable} in it, so it is not packed"
            raise RunDirectoryError(f"{path}: {problem}; if it is no secret, unset ${variable}")


def unpack(file: Path, out: Path | None = None) -> tuple[Path, int]:
    """Unpack a file into a new directory, whole or not at all; return the directory and how many files it has.

    By default the directory is one of the packed name, in the current one. It is a RunDirectoryError if the file is no
    whole pack, or the directory exists or cannot be made.
    """
    try:
        with (
            opened(file) as descriptor,
            os.fdopen(os.dup(descriptor), "rb") as stream,
            _Limited(stream, max(FREE_BYTES, RATIO_MAX * os.fstat(descriptor).st_size)) as limited,
            tarfile.open(fileobj=limited, mode="r:") as archive,
        ):
            first = archive.next()
            if first is None:
                raise ValueError("it is empty")
            name = first.name.partition("/")[0]
            target = Path(name) if out is None else out
            if target.exists() or target.is_symlink():
                raise RunDirectoryError(f"{target}: exists already; name another directory with --out")
            target.parent.mkdir(parents=True, exist_ok=True)
            names = set[str]()
            with drafted_directory(target) as draft:
                for member in archive:
                    if problem := _misnamed(member.name):
                        raise ValueError(problem)
                    inner = member.name.removeprefix(f"{name}/")
                    place = draft / inner
                    place.parent.mkdir(parents=True, exist_ok=True)
                    if member.islnk() and member.linkname in names:
                        link_or_copy(draft / member.linkname.removeprefix(f"{name}/"), place)
                    # A sparse file may be longer than any disk: its holes take no bytes of the pack.
                    elif inner == member.name or not member.isfile() or member.issparse():
                        raise ValueError(f"{member.name} is no plain file in {name}")
                    else:
                        with archive.extractfile(member) or BytesIO() as content, place.open("xb") as copy:
                            shutil.copyfileobj(content, copy)
                    if INPUTS in place.relative_to(draft).parts:  # runs share them
                        place.chmod(0o444)
                    names.add(member.name)
            return target, len(names)
    except _DAMAGED as error:
        if file.name == JOURNAL:
            raise RunDirectoryError(f"{file}: is the journal of a run; name its directory, {file.parent}") from None
        problem = f"is damaged, or no file of `prism pack`: {' '.join(str(error).split())}"
        raise RunDirectoryError(f"{file}: {problem}; nothing was unpacked") from None
    except OSError as error:
        raise run_directory_error(error, f"{file}: cannot be unpacked") from None


class _Limited(GzipFile):
    """A gzip file that is read up to a limit."""

    def __init__(self, stream: BinaryIO, bytes_max: int) -> None:
        super().__init__(fileobj=stream, mode="rb")
        self._bytes_max = bytes_max

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0 or self.tell() + size > self._bytes_max:
            raise ValueError(f"it unpacks to more than {self._bytes_max:,} bytes")
        return super().read(size)


@contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """Yield a directory with the contents of a file; the directory is removed at the end of the block."""
    with TemporaryDirectory(prefix="prism-") as place:
        yield unpack(file, Path(place, file.name.removesuffix(SUFFIX)))[0]
