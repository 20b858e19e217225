"""A run in the state that a crash leaves: two checkpoints, ticks after the later one, no summary."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from actors.runs.directory import RunDirectory
from actors.store.checkpoint import checkpoint_names
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL
from actors.store.manifest import CONFIG, SUMMARY, read_manifest
from tests.command import Ended, Prism, prism_alone

MORE_TICKS = 40
"""The length to which a crashed run is resumed."""


class Crashed(NamedTuple):
    """A crashed run."""

    path: Path
    whole: bytes  # the journal of the same run, which went on to `MORE_TICKS` without a crash

    @property
    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.path.iterdir() if path.is_file()}

    def read(self, name: str) -> bytes:
        """Return the content of one of its files."""
        return (self.path / name).read_bytes()


def crash(place: Path, config: str) -> Crashed:
    """Run a configuration in this directory, remove the files that are written only at the end, and return the run."""
    (place / "config.yaml").write_text(config)
    path, whole = place / "run", place / "whole"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("actors.store.checkpoint.KEPT", 3)  # two are left when the last one is taken away
        _prism("run", str(place / "config.yaml"), "--out", str(path))
    names = checkpoint_names(RealDisk(path))
    (path / names[0]).unlink()
    (path / SUMMARY).unlink()
    undo_seals(path)
    _prism("run", str(place / "config.yaml"), "--out", str(whole), "--ticks", str(MORE_TICKS))
    return Crashed(path, (whole / JOURNAL).read_bytes())


def undo_seals(path: Path) -> None:
    """Write the manifest as it is while a run is under way: without the seals of what its end leaves."""
    directory = RunDirectory(path)
    manifest = read_manifest(directory.path)
    sealed = {CONFIG: manifest.sealed[CONFIG]}
    directory.write_manifest(msgspec.structs.replace(manifest, sealed=sealed, checkpoints=()))


def _prism(*arguments: str) -> None:
    ended = prism_alone(*arguments, "--quiet")
    assert ended.code == 0, ended.err


def resumed(prism: Prism, *options: str) -> Ended:
    ended = prism("resume", "run", "--quiet", "--ticks", str(MORE_TICKS), *options)
    assert "Traceback" not in ended.err
    assert all(line.startswith("prism: ") for line in ended.err.splitlines()), ended.err
    if ended.code:
        assert ended.out == ""
    return ended
