"""The inputs that runs keep: the names by which configurations call them, and their places on this machine.

A run keeps each of its input files in its directory as `inputs/SHA-256/NAME`, and the code of its own in the directory
`inputs/SHA-256`. Its configuration calls them by these names, which are the same on every machine. Whoever opens a run
notes here where its inputs are. A name says what the content is, so it does not matter in which run it is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path, PurePath

from actors.core.files import read_regular, sha256_of
from prism.wording import counted

INPUTS = "inputs"
KEPT = re.compile(rf"{INPUTS}/(?P<sha256>[0-9a-f]{{64}})(?:/(?P<name>[^/]+))?")
"""The name by which a run calls a kept input; that of kept code has no `name`."""
SOURCE_BYTES_MAX = 1 << 28
"""The most bytes of one file of code."""
_places: dict[str, Path] = {}
"""`{name of a kept input: where it is here}`, for the runs that this process has opened, the latest last."""


def kept_name(digest: str, name: str) -> str:
    """Return the name by which a run calls an input file that it keeps."""
    return f"{INPUTS}/{digest}/{PurePath(name).name}"


def is_kept(name: str | None) -> bool:
    """Return whether a name is that of a kept file, or of kept code."""
    return name is not None and KEPT.fullmatch(name) is not None


def kept_sha256(name: str) -> str | None:
    """Return the SHA-256 that the content of a kept input must have; None for another file."""
    found = KEPT.fullmatch(name)
    return None if found is None else found["sha256"]


def plain_name(name: str) -> str:
    """Return the name of an input file without its directory, as pages and reports show it."""
    return PurePath(name).name if is_kept(name) else name


def note_places(names: Iterable[str], directory: Path) -> None:
    """Note that the kept inputs with these names are in a directory: that of a run, or of an experiment."""
    _places.update({name: directory / name for name in names if is_kept(name)})


def note_files(places: Mapping[str, Path]) -> None:
    """Note the files with the content of kept inputs; these may have any names."""
    _places.update(places)


def place_of(name: str) -> Path:
    """Return the place of a kept input. If nobody has noted it, it is looked up from the current directory."""
    return _places.get(name, Path(name))


def problem_of_kept(directory: Path, name: str) -> str:
    """Return why a kept input in a directory is not what its name says; empty if it is.

    Raises:
        OSError: it cannot be read.
    """
    place = directory / name
    if not place.exists():
        return "is missing"
    found = sources_sha256(sources_below(place, place)) if place.is_dir() else sha256_of(place)
    return "" if found == kept_sha256(name) else f"is not what the run has kept (sha256 {found[:12]})"


def size_of_kept(directory: Path, name: str) -> str:
    """Return the size of a kept input in words, and whether other runs have the same file on the disk."""
    place = directory / name
    files = [path for path in place.rglob("*") if path.is_file()] if place.is_dir() else [place]
    others = max((path.stat().st_nlink - 1 for path in files), default=0)
    shared = f", one file with {counted(others, 'other')}" if others else ""
    return f"{sum(path.stat().st_size for path in files):,} bytes{shared}"


def sources_below(directory: Path, root: Path) -> dict[str, bytes]:
    """Return `{name from the root: content}` of the Python and YAML files in a directory, in order of name."""
    files = sorted(path for suffix in (".py", ".yaml") for path in directory.rglob(f"*{suffix}"))
    return {path.relative_to(root).as_posix(): read_regular(path, SOURCE_BYTES_MAX) for path in files}


def sources_of(places: Iterable[Path]) -> dict[str, bytes]:
    """Return `{name: content}` of the code in files and packages; names begin with that of the file or package."""
    found: dict[str, bytes] = {}
    for place in places:
        found |= (
            sources_below(place, place.parent)
            if place.is_dir()
            else {place.name: read_regular(place, SOURCE_BYTES_MAX)}
        )
    return found


def kept_code(name: str | None) -> dict[str, bytes]:
    """Return `{name: content}` of code that a run keeps under a name; empty if the code does not match the name.

    Raises:
        OSError: it cannot be read.
    """
    return sources_below(place_of(name), place_of(name)) if name is not None and is_kept(name) else {}


def sources_sha256(sources: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of code, by its names and bytes."""
    digest = sha256()
    for name, source in sorted(sources.items()):
        digest.update(f"{name}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()
