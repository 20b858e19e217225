"""Runs in real processes that are killed or in shards, and a run in the state that a crash leaves."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest

from actors.core.frames import Damage
from actors.runs.directory import RunDirectory
from actors.store.checkpoint import checkpoint_names
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL, read_ticks
from actors.store.manifest import CONFIG, SUMMARY, read_manifest, read_summary
from actors.store.rounds import ROUNDS
from tests.command import Ended, Prism, begin, end, prism_alone
from tests.patience import wait_until
from tests.plain import plain_text

CHANGING = ("wall_s", "latency_s_p50", "latency_s_p95", "wall_activations", "resumes", "ticks_replayed", "shards")
"""The fields of a summary that come from the clock, and from resumes."""


def whole_ticks(run: Path) -> tuple[int, Damage | None]:
    """Return the whole ticks in the journal, and the damage after them, if there is any."""
    disk, ticks = RealDisk(run), 0
    for frame in read_ticks(disk):
        if isinstance(frame, Damage):
            return ticks, frame
        ticks += 1
    return ticks, None


class KillableRun:
    """A run of a configuration in a directory that is killed again and again. `options`: of `prism run`."""

    def __init__(self, config: Path, run: Path, options: Sequence[str] = ()) -> None:
        self.run = run
        self._begin = ["run", str(config), "--quiet", "--out", str(run), *options]

    def start(self) -> subprocess.Popen[str]:
        """Return a process that resumes the run, or begins it if it has no journal yet."""
        if (self.run / JOURNAL).exists():
            return begin("resume", str(self.run), "--quiet")
        return begin(*self._begin)

    def run_and_kill(self, random: Random, longest_s: float) -> bool:
        """Run one process and kill it within this time; return False if it had ended well before."""
        process = self.start()
        try:
            process.wait(random.uniform(0.0, longest_s))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return True
        end(process)
        return False

    def finish(self) -> None:
        end(self.start())


def outcome(run: Path) -> dict[str, Any]:
    """Return what must be the same after any number of kills: journal and series to the byte, and the summary."""
    summary = json.loads((run / SUMMARY).read_text())
    return {
        JOURNAL: [(path.name, path.read_bytes()) for path in sorted(run.glob("journal*"))],
        ROUNDS: (run / ROUNDS).read_bytes(),
        SUMMARY: {key: value for key, value in summary.items() if key not in CHANGING},
    }


def differences(run: Path, reference: Path) -> list[str]:
    one, other = outcome(run), outcome(reference)
    return [name for name in one if one[name] != other[name]]


STARTS_S = 240.0  # only a hang takes this long: on a busy machine Ray starts in a minute or two
SHARDED = plain_text("""
simulation: {rounds: 12, ticks_per_round: 24, seed: 5}
population: {size: 300, activity: {mean: 0.9, sigma: 0.1}}
run: {checkpoint_every_ticks: 24, activation: compiled, tick_s: 0.02}
""")


def events(run: Path, name: str) -> list[dict[str, Any]]:
    log = run / "log.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [each for line in lines if line.endswith("}") and (each := json.loads(line))["event"] == name]


def wait_for(run: Path, name: str, process: subprocess.Popen[str], count: int = 1) -> list[dict[str, Any]]:
    """Return the events with a name, once there are so many."""
    wait_until(lambda: len(events(run, name)) >= count, process, within_s=STARTS_S)
    return events(run, name)


def begun(*words: str | Path, place: Path, cluster: str = "") -> subprocess.Popen[str]:
    """Begin a command in a directory, with the address of its cluster."""
    environment = {"PRISM_JIT": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_ADDRESS": cluster}
    return begin(*words, cwd=place, env=environment, stderr=subprocess.STDOUT)


def ended(process: subprocess.Popen[str]) -> None:
    out, _ = process.communicate(timeout=STARTS_S)
    assert process.returncode == 0, out


def assert_same(run: Path, whole: Path) -> None:
    assert read_summary(run)["digest"] == read_summary(whole)["digest"]
    for name in ("journal.prism", "rounds.csv"):
        assert (run / name).read_bytes() == (whole / name).read_bytes()


MORE_TICKS = 40  # the length to which a crashed run is resumed


class Crashed(NamedTuple):
    """A crashed run."""

    path: Path
    whole: bytes  # the journal of the same run, which went on to `MORE_TICKS` without a crash

    @property
    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.path.iterdir() if path.is_file()}

    def read(self, name: str) -> bytes:
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
