"""One file of a run, an experiment or a calibration, to send or to archive: a `.prism` file.

It is a zip file with `pack.json`, which names every file with its length and SHA-256, and one member for each content,
called by its SHA-256. So content that many cells share is stored once, and no name in the archive is a path to write
to: only `pack.json` has paths, and they are checked. Logs, locks, drafts and unknown files are left out, and so are
settings for one machine alone. Symbolic links are refused: they could lead to any file of the user who packs. Equal
runs make equal packs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from fnmatch import fnmatch
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, mkdtemp, mkstemp
from typing import Any, Final, NamedTuple
from unicodedata import category
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError  # noqa: N812  # its own name says nothing

import msgspec
import yaml

from actors.core.errors import JournalError, RunDirectoryError, RunLockedError, run_directory_error
from actors.core.files import (
    CHUNK_BYTES,
    JSON_BYTES_MAX,
    chunks_of,
    hold,
    json_value,
    opened,
    opened_as_it_is,
    remove_abandoned,
    sha256_of,
)
from actors.factory.input_files import INPUTS, kept_inputs
from actors.runs.code import OWN_PACKAGE
from actors.runs.inputs import link_or_copy
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL
from actors.store.lock import holder_of
from actors.store.manifest import CONFIG, MANIFEST, encode_manifest, read_manifest
from actors.store.run import read_resolved
from actors.store.segments import SEGMENT_SUFFIX, texts_of
from prism.config import Config
from prism.credentials import VARIABLE, is_secret_name

SUFFIX: Final = ".prism"
CONTENTS: Final = "pack.json"
FORMAT: Final = 1
CELLS: Final = "cells"

OF_A_RUN = (
    *(CONFIG, "config-until-*.yaml", MANIFEST, JOURNAL, "journal-*.seg", "checkpoint-*.bin", "oracle.log"),
    *("rounds.csv", "summary.json", "tape.sqlite", "tape.sqlite-wal", "causes/*.json", "audit/*"),
)
"""The files of a run that are packed, besides its inputs."""
OF_A_STUDY = (
    *(
        "plans/*.json",
        "seals/*.json",
        "results.csv",
        "outcome.json",
        "tape.sqlite",
        "tape.sqlite-wal",
    ),
    *("calibrated.yaml", "calibration.json", "calibration.md", "inputs/*/*.py"),
)
"""The files of an experiment or a calibration that are packed, besides its cells."""
RATIO_MAX: Final = 200
"""The most times that the files of a pack may be longer than the pack. Journals reach 10 to 30."""
FREE_BYTES: Final = 64 * 1024**2
"""Bytes that a pack may have at any ratio."""
FREE_NAMES, NAMES_PER_CONTENT = 1_000, 200
"""The names that a pack may have for any content, and for each content: cells share inputs, but have own journals."""
DEPTH_MAX: Final = 32
"""The most directories in a name, so that no name makes many of them."""
SECRET_LENGTH_MIN: Final = 8
"""The fewest characters of a secret that is looked for: a shorter text occurs anywhere by chance."""
Secrets = Mapping[str, frozenset[bytes]]
"""`{environment variable: its value, in each form in which it is looked for}`."""
_TEXTS = (".yaml", ".json", ".csv", ".md")
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of every member, the earliest that a zip file can say: so equal contents make equal files."""


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """One file in a pack: the length and the SHA-256 of its content."""

    bytes: int
    sha256: str


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a pack, as its `pack.json` says.

    Args:
        kind: a run, or a study, which has runs as its cells.
        name: the name of the directory that was packed.
        files: `{name from that directory, with slashes: its content}`.
    """

    format: int = FORMAT
    prism: str
    kind: str
    name: str
    files: dict[str, Packed]


class Written(NamedTuple):
    """A pack that was written.

    Args:
        files: in it; `bytes`: of these; `packed_bytes`: of the pack.
        paths: `file: text` of each text in it that looks like a path of this machine.
    """

    files: int
    bytes: int
    packed_bytes: int
    paths: tuple[str, ...]


def pack(path: Path, out: Path) -> Written:
    """Write a run, an experiment or a calibration into one file, whole or not at all.

    Raises:
        RunDirectoryError: there is nothing to pack, a process works on it, a secret is in it, or a file is in the way.
        DiskFailedError: the disk is full or broken.
    """
    files, kind = _files_of(path)
    if out.exists() or out.is_symlink():
        raise RunDirectoryError(f"{out}: exists already; name another file with --out")
    secrets = _secrets_of(path, files)
    replaced: dict[str, bytes] = {}
    for directory in [name.removesuffix(MANIFEST) for name in files if name.endswith(MANIFEST)]:
        replaced |= {directory + name: content for name, content in _unplaced(path / directory).items()}
    try:
        remove_abandoned(out)
        descriptor, draft = mkstemp(prefix=f".{out.name}.", suffix=".tmp", dir=out.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                hold(descriptor)
                contents = _write(file, path, kind, {name: replaced.get(name) for name in files}, secrets)
                file.flush()
                os.fsync(file.fileno())
                if problem := out_of_proportion(contents, os.fstat(descriptor).st_size):
                    raise RunDirectoryError(f"{path}: cannot be packed: its pack {problem}, so nobody could unpack it")
            Path(draft).chmod(0o644)
            _put(Path(draft), out)
        finally:
            Path(draft).unlink(missing_ok=True)
    except OSError as error:
        raise run_directory_error(error, f"{error.filename or out}: cannot be packed") from None
    paths = tuple(_paths_in(path, files, replaced))
    packed = contents.files.values()
    return Written(len(packed), sum(each.bytes for each in packed), out.stat().st_size, paths)


def is_pack(path: Path) -> bool:
    return path.suffix == SUFFIX and path.name != JOURNAL and path.is_file()


def is_packed_name(kind: str, name: str) -> bool:
    if kind == "study":
        cell, _, inner = name.removeprefix(f"{CELLS}/").partition("/")
        return _is_one_of(name, OF_A_STUDY) or (name.startswith(f"{CELLS}/{cell}/") and _is_of_a_run(inner))
    return kind == "run" and _is_of_a_run(name)


def _is_of_a_run(name: str) -> bool:
    return _is_one_of(name, OF_A_RUN) or re.fullmatch(rf"{INPUTS}/[0-9a-f]{{64}}/.+", name) is not None


def _is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name.count("/") == each.count("/") and PurePosixPath(name).match(each) for each in patterns)


def misnamed(contents: Contents) -> str:
    """Return the problem with a name that leads out of the directory, or is no file's of a run; empty without one.

    It is checked when a pack is written, too: what packs must unpack.
    """
    name = contents.name
    if not _is_inside(name) or "/" in name or name.startswith("."):
        return (
            f"names {name!r} as its directory; expected a name without a slash, and without a dot before it, "
            "in UTF-8 and without line ends, other control characters and backslashes"
        )
    for name in contents.files:
        if not _is_inside(name):
            return f"names {name!r}, which is no file inside of its directory"
        if not is_packed_name(contents.kind, name):
            return f"names {name!r}, which is no file of a run, an experiment or a calibration"
    return ""


def _is_inside(name: str) -> bool:
    """Return whether a name is one of a file inside of a directory that every system with PRISM can have.

    Control characters would speak to the terminal that shows the name, and a backslash is a slash elsewhere.
    """
    path = PurePosixPath(name)
    return (
        name == str(path)
        and bool(path.parts)
        and not path.is_absolute()
        and not {"..", "."} & {*path.parts}
        and len(path.parts) <= DEPTH_MAX
        and not any(each == "\\" or category(each) in ("Cc", "Cs", "Zl", "Zp") for each in name)
        and all(len(part.encode()) <= 255 for part in path.parts)
    )


def out_of_proportion(contents: Contents, size: int) -> str:
    """Return in which way a pack of a size would unpack to too much; empty if it would not."""
    total, names = written_bytes(contents), len(contents.files)
    if total > bytes_max_of(size):
        return f"unpacks to {total:,} bytes, more than {RATIO_MAX} times its own {size:,}"
    names_max = FREE_NAMES + NAMES_PER_CONTENT * len({packed.sha256 for packed in contents.files.values()})
    return f"has {names:,} names, more than the {names_max:,} for its contents" if names > names_max else ""


def bytes_max_of(size: int) -> int:
    return max(FREE_BYTES, RATIO_MAX * size)


def written_bytes(contents: Contents) -> int:
    """Return the bytes to which a pack unpacks where equal inputs are one file."""
    kept = {packed.sha256: packed.bytes for name, packed in contents.files.items() if is_shared(name)}
    return sum(kept.values()) + sum(each.bytes for name, each in contents.files.items() if not is_shared(name))


def is_shared(name: str) -> bool:
    """Return whether a file is an input that a run keeps: only the first of equal inputs takes space."""
    return INPUTS in PurePosixPath(name).parts[:-1]


def _put(draft: Path, out: Path) -> None:
    """Give a written file its name, unless another file has got that name meanwhile."""
    try:
        try:
            os.link(draft, out)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            with draft.open("rb") as whole, out.open("xb") as copy:
                try:
                    shutil.copyfileobj(whole, copy)
                    copy.flush()
                    os.fsync(copy.fileno())
                except OSError:
                    out.unlink(missing_ok=True)
                    raise
    except FileExistsError:
        raise RunDirectoryError(f"{out}: exists already; name another file with --out") from None


def _files_of(path: Path) -> tuple[list[str], str]:
    """Return the names of the files to be packed, in order, and the kind of the pack.

    Raises:
        RunDirectoryError: there is nothing to pack, a process works on it, or one of them is behind a symbolic link.
    """
    if not path.is_dir():
        raise RunDirectoryError(f"{path}: no such directory")
    if (holder := holder_of(path)) is not None:
        raise RunLockedError(path, holder)
    if (path / MANIFEST).exists():
        names, kind = [*_names(path, OF_A_RUN), *_kept_in(path)], "run"
    else:
        cells = sorted((path / CELLS).glob("*")) if (path / CELLS).is_dir() else []
        if not cells:
            problem = f"is no run, no experiment and no calibration: it has no {MANIFEST}, no {CELLS}"
            raise RunDirectoryError(f"{path}: {problem}")
        names, kind = _names(path, OF_A_STUDY), "study"
        for cell in cells:
            if (holder := holder_of(cell)) is not None:
                raise RunLockedError(cell, holder)
            if (cell / MANIFEST).exists():
                of_cell = [*_names(cell, OF_A_RUN), *_kept_in(cell)]
                names += [f"{CELLS}/{cell.name}/{name}" for name in of_cell]
    for name in names:
        for place in (PurePosixPath(name), *PurePosixPath(name).parents[:-1]):
            if (path / place).is_symlink():
                problem = "is a symbolic link, so it is not packed; put the file itself there, or remove it"
                raise RunDirectoryError(f"{path / place}: {problem}")
    return names, kind


def _names(directory: Path, patterns: tuple[str, ...]) -> list[str]:
    found = (path for pattern in patterns for path in directory.glob(pattern))
    return sorted(
        path.relative_to(directory).as_posix() for path in found if path.is_file() and not path.name.startswith(".")
    )


def _kept_in(directory: Path) -> list[str]:
    """Return the names of the inputs that a run keeps, files and code, without other files beside them."""
    manifest, found = read_manifest(directory), dict[str, None]()
    for file in manifest.configs:
        for name in kept_inputs(read_resolved(directory / file)):
            place = directory / name
            sources = [*place.rglob("*.py"), *place.rglob("*.yaml")] if place.is_dir() else [place]
            found |= dict.fromkeys(each.relative_to(directory).as_posix() for each in sorted(sources))
    return [*found]


def _unplaced(directory: Path) -> dict[str, bytes]:
    """Return `{file: content}` of a run's files that name places of this machine, with those places removed."""
    manifest, replaced = read_manifest(directory), {}
    for file in manifest.configs:
        config = read_resolved(directory / file)
        if (unplaced := _without_places(config)) != config:
            text = yaml.safe_dump(msgspec.to_builtins(unplaced), sort_keys=False, allow_unicode=True)
            replaced[file] = text.encode()
    if not replaced:
        return {}
    sealed = {name: sha256(content).hexdigest() for name, content in replaced.items()}
    resealed = msgspec.structs.replace(manifest, sealed={**manifest.sealed, **sealed})
    return {**replaced, MANIFEST: encode_manifest(resealed)}


def _without_places(config: Config) -> Config:
    """Return a configuration without certificates, logins and recorded tapes, which are files of one machine."""
    replace = msgspec.structs.replace
    metrics = replace(config.metrics, tls_cert=None, tls_key=None, username=None)
    oracle = config.oracle
    if oracle.tape == "record":
        oracle = replace(oracle, tape_path=None)
    return replace(config, metrics=metrics, oracle=oracle, llm=replace(config.llm, ca_file=None))


def _secrets_of(path: Path, files: list[str]) -> Secrets:
    """Return the values of secrets: their variables are named by settings, or have a secret's name."""
    names = {name for name in os.environ if is_secret_name(name)}
    for file in files:
        if not fnmatch(file.rpartition("/")[2], "config*.yaml"):
            continue
        llm = read_resolved(path / file).llm
        names.add(llm.api_key_env)
        for text in [*llm.request.headers.values(), *llm.request.query.values()]:
            names |= {found[1] or found[2] for found in VARIABLE.finditer(text)}
    values = {name: os.environ.get(name, "") for name in sorted(names)}
    return {name: _forms_of(value) for name, value in values.items() if len(value) >= SECRET_LENGTH_MIN}


def _forms_of(value: str) -> frozenset[bytes]:
    """Return a text as it stands in a file: as it is, in JSON, and in JSON that is a text in JSON."""
    found = {value}
    for _ in range(2):
        found |= {json.dumps(each, ensure_ascii=escapes)[1:-1] for each in found for escapes in (True, False)}
    return frozenset(each.encode(errors="surrogateescape") for each in found)


def _write(file: Any, path: Path, kind: str, files: Mapping[str, bytes | None], secrets: Secrets) -> Contents:
    packed: dict[str, Packed] = {}
    for name, content in files.items():
        place = path / name
        if content is None:
            packed[name] = Packed(bytes=place.stat().st_size, sha256=sha256_of(place))
        else:
            packed[name] = Packed(bytes=len(content), sha256=sha256(content).hexdigest())
    contents = Contents(prism=version(OWN_PACKAGE), kind=kind, name=path.resolve().name.lstrip("."), files=packed)
    if problem := misnamed(contents):
        raise RunDirectoryError(f"{path}: cannot be packed: its pack {problem}; give it another name")
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr(_member(CONTENTS), msgspec.json.format(msgspec.json.encode(contents), indent=1))
        done = set[str]()
        for name, each in packed.items():
            if each.sha256 in done:
                continue
            done.add(each.sha256)
            kept = files[name]
            chunks = chunks_of(path / name) if kept is None else iter([kept])
            if secrets and fnmatch(name, f"*{SEGMENT_SUFFIX}"):
                # Secrets are looked for in what it has compressed, too. In a damaged segment they cannot be found.
                place = path / name
                with closing(RealDisk(place.parent)) as disk, suppress(JournalError):
                    for texts in texts_of(disk, place.name):
                        _refuse_secrets(place, texts, secrets)
            with archive.open(_member(each.sha256), "w", force_zip64=True) as member:
                written = _copy(chunks, member, path / name, secrets)
            if written != each:
                raise RunDirectoryError(f"{path / name}: has changed while it was packed; pack it again")
    return contents


def _member(name: str) -> ZipInfo:
    member = ZipInfo(name, _LONG_AGO)
    member.compress_type = ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member


def _copy(chunks: Iterator[bytes], member: Any, path: Path, secrets: Secrets) -> Packed:
    """Write a content, unless a secret is in it."""
    digest, size, tail = sha256(), 0, b""
    longest = max((len(form) for forms in secrets.values() for form in forms), default=1)
    for chunk in chunks:
        seen = tail + chunk
        _refuse_secrets(path, seen, secrets)
        tail = seen[-(longest - 1) :] if longest > 1 else b""
        digest.update(chunk)
        size += len(chunk)
        member.write(chunk)
    return Packed(bytes=size, sha256=digest.hexdigest())


def _refuse_secrets(path: Path, content: bytes, secrets: Secrets) -> None:
    for variable, forms in secrets.items():
        if any(form in content for form in forms):
            problem = f"has the value of ${variable} in it, so it is not packed"
            raise RunDirectoryError(f"{path}: {problem}; if it is no secret, unset ${variable}")


def _paths_in(path: Path, files: list[str], replaced: Mapping[str, bytes]) -> Iterator[str]:
    """Yield `file: text` of each text that looks like a path below this user's home, or in this directory."""
    here = {str(Path.cwd()), str(path.resolve().parent)} - {"/"}
    with suppress(RuntimeError):  # a user without a home directory
        here |= {str(Path.home())} - {"/"}
    pattern = re.compile("|".join(rf"{re.escape(each)}/[^\s\"',]*" for each in sorted(here, reverse=True)).encode())
    for name in files:
        if name.endswith(_TEXTS) and INPUTS not in name.split("/"):
            content = replaced[name] if name in replaced else (path / name).read_bytes()
            for found in dict.fromkeys(pattern.findall(content)):
                yield f"{name}: {found.decode(errors='replace')}"


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
