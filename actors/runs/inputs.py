"""The inputs of a run, kept in its directory, so that it can be run again anywhere, even if the sources are gone.

Each file is `inputs/SHA-256/NAME`, and code is the directory `inputs/SHA-256`, all read-only. A large file that another
run beside this one keeps is not copied again: the two are hard links of one file on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from actors.core.errors import RunDirectoryError
from actors.core.files import chunks_of, sha256_of
from actors.factory.domains import is_own
from actors.factory.input_files import (
    BRING_ALONG,
    INPUTS,
    is_kept,
    kept_inputs,
    kept_name,
    kept_sha256,
    locate_input,
    note_places,
    replays_tape,
    texts_in,
    with_inputs,
    with_texts,
)
from actors.factory.own_code import is_edited, is_installed, sources_of, sources_sha256
from actors.runs.directory import RunDirectory
from actors.store.disk import RealDisk, write_whole
from prism.config import Config

LARGE_BYTES = 64 * 1024  # the bytes from which a file is looked for in other runs before it is copied
BESIDE_MAX = 1_000  # the most runs beside this one in which it is looked for
_READ_ONLY = 0o444


class Inputs(NamedTuple):
    """The inputs of a run, as it keeps them."""

    config: Config  # the run's configuration, which names what is kept
    files: Mapping[str, str]  # `{name of a kept file: as it was called}`
    # `{name: content}` of its own code, without installed packages; empty if it has no own code
    code: Mapping[str, bytes]

    @property
    def hashes(self) -> dict[str, str]:
        """`{name of a kept file: SHA-256}`."""
        return {name: str(kept_sha256(name)) for name in self.files}


def inputs_of(config: Config, read: Mapping[str, str], code: tuple[Path, ...] = ()) -> Inputs:
    """Return the inputs that a run is to keep. Nothing is written. Code that was edited since its import is refused.

    `read`: `{input file, as it was called: SHA-256}`; `code`: the places of its own code, as it was read.
    """
    tape = config.oracle.tape_path
    if tape is not None and replays_tape(config):
        place = locate_input(tape)
        # While somebody records to it, or after a crash, answers are in another file.
        if place.is_file() and not place.with_name(f"{place.name}-wal").exists():
            read = {**read, tape: sha256_of(place)}
    new, files = with_kept_files(config, read)
    if edited := [str(place) for place in code if is_edited(place)]:
        names = ", ".join(edited)
        raise RunDirectoryError(f"{names}: has been edited since this process imported it; start a new process")
    sources = sources_of(place for place in code if not is_installed(place.parent))
    if sources:
        kept = f"{INPUTS}/{sources_sha256(sources)}"
        new = replace(new, simulation=replace(new.simulation, domain_path=kept))
    return Inputs(new, files, sources)


def with_kept_files(config: Config, read: Mapping[str, str]) -> tuple[Config, dict[str, str]]:
    """Return a configuration that calls its files as a run does that keeps them, and `{that name: as it was called}`.

    `read`: as of `inputs_of`.
    """
    kept = {name: name if is_kept(name) else kept_name(digest, name) for name, digest in read.items()}
    new, inputs = with_inputs(config, lambda name: kept.get(name, name)), config.simulation.domain_inputs
    asked = with_texts(inputs, kept)
    if is_own(config):  # a file that no setting names: the domain's code does
        texts = {*texts_in(config.domain), *inputs.values()}
        asked |= {name: place for name, place in kept.items() if not is_kept(name) and name not in texts}
    simulation = replace(new.simulation, domain_inputs=asked)
    new = replace(new, simulation=simulation, domain=with_texts(config.domain, kept))
    return new, {place: name for name, place in kept.items()}


def keep(directory: RunDirectory, inputs: Inputs) -> None:
    """Write the missing inputs into a run's directory, and note the places of all.

    Each file is written whole or not at all; files that a killed process has left are written again. If one has changed
    since it was read, it is a RunDirectoryError.
    """
    with directory.writing():
        for name, source in inputs.files.items():
            _keep_file(directory.path, name, source)
        if inputs.code:
            place = directory.path / str(inputs.config.simulation.domain_path)
            for name, content in inputs.code.items():
                _write(place / name, iter([content]))
    note_places(kept_inputs(inputs.config), directory.path)


def keep_files(directory: RunDirectory, files: Iterable[Path]) -> None:
    """Keep files of an experiment, such as the modules of its measures, in its directory."""
    with directory.writing():
        for file in files:
            _keep_file(directory.path, kept_name(sha256_of(file), file.name), str(file))


def keep_those_of(parent: RunDirectory, child: RunDirectory, config: Config) -> None:
    """Keep in a run the inputs that a configuration of its parent names."""
    with child.writing():
        for name in kept_inputs(config):
            place = parent.path / name
            for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
                if not path.is_dir():
                    link_or_copy(path, child.path / path.relative_to(parent.path))


def _keep_file(directory: Path, name: str, source: str) -> None:
    target, digest, found = directory / name, str(kept_sha256(name)), locate_input(source)
    if target.exists() and sha256_of(target) == digest:
        return
    if is_kept(source) or found.parent.name == digest:
        if sha256_of(found) != digest:  # before any file is removed: this copy may be the last one
            raise RunDirectoryError(f"{found}: is not what the run has kept; {BRING_ALONG}")
        link_or_copy(found, target)
        return
    if found.stat().st_size >= LARGE_BYTES:  # a run beside this one, or in the directory of all runs, may have it
        with os.scandir(directory.resolve().parent) as entries:
            for other in islice((Path(entry) for entry in entries if entry.is_dir()), BESIDE_MAX):
                if (twin := other / name).is_file() and sha256_of(twin) == digest:
                    link_or_copy(twin, target)
                    return
    if _write(target, chunks_of(found)) != digest:
        target.unlink()
        raise RunDirectoryError(f"{source}: has changed while the run was started; start it again")


def link_or_copy(source: Path, target: Path) -> None:
    """Make a file another name of a kept one, or a copy where the disk or its owner allows no link.

    Without a source it is a FileNotFoundError, and the target is as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and source.samefile(target):
        return
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        _write(target, chunks_of(source))


def _write(path: Path, chunks: Iterator[bytes]) -> str:
    """Write a file whole or not at all, make it read-only, and return its SHA-256."""
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, disk = sha256(), RealDisk(path.parent)

    def hashed() -> Iterator[bytes]:
        for chunk in chunks:
            digest.update(chunk)
            yield chunk

    try:
        write_whole(disk, path.name, hashed())
    finally:
        disk.close()
    path.chmod(_READ_ONLY)
    return digest.hexdigest()
