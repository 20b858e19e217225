"""`prism migrate`: the same ticks and digest in segments, or without, whatever ends it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from time import monotonic, sleep

import msgspec
import pytest

from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL, UNSEALED, TickFrame, head_bytes, read_tail, whole_ticks
from actors.runs.lock import locked
from tests.actors.real_runs import EMBEDDED, run_of
from tests.command import Prism


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A run of the format before segments."""
    run = run_of(tmp_path, EMBEDDED)
    tail = read_tail(RealDisk(run))
    ticks = (run / JOURNAL).read_bytes()[tail.at :]
    (run / JOURNAL).write_bytes(head_bytes(msgspec.structs.replace(tail.header, format=UNSEALED)) + ticks)
    return run


def ticks_of(run: Path) -> list[TickFrame]:
    return list(whole_ticks(RealDisk(run)))


def segments(run: Path) -> list[str]:
    return sorted(path.name for path in run.glob("journal-*"))


def test_a_run_of_the_format_before_is_sealed_and_goes_on_with_the_same_digest(old: Path, prism: Prism) -> None:
    whole = shutil.copytree(old, old.parent / "whole")
    before = ticks_of(old)
    ended = prism("migrate", str(old), "--segment-mb", "0.02")
    assert (ended.code, ended.err) == (0, "")
    count = len(segments(old))
    assert count >= 3
    assert f"{old}: {len(before)} ticks, {count} segments; 0." in ended.out
    assert "as before" in ended.out
    assert ticks_of(old) == before
    assert not (old / ".migrating").exists()
    assert prism("verify", str(old), "--quiet").code == 0
    for run in (old, whole):
        assert prism("resume", str(run), "--ticks", "60", "--quiet").code == 0
    assert ticks_of(old) == ticks_of(whole)
    assert segments(whole) == []  # it goes on as it began


@pytest.mark.parametrize(
    ("name", "problem"),
    [("nope", "nope: no such directory"), ("empty", "empty: is no run's directory: it has no manifest.json")],
)
def test_what_is_no_run_is_refused_as_by_every_other_command(
    name: str, problem: str, prism: Prism, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    for command in ("migrate", "verify"):
        ended = prism(command, name)
        assert (ended.code, ended.err) == (2, f"prism: {problem}\n")
    assert list((tmp_path / "empty").iterdir()) == []


def test_segments_can_be_taken_apart_and_made_again(old: Path, prism: Prism) -> None:
    plain = (old / JOURNAL).read_bytes()
    assert prism("migrate", str(old), "--segment-mb", "0.02").code == 0
    sealed = {name: (old / name).read_bytes() for name in [*segments(old), JOURNAL]}
    again = prism("migrate", str(old))
    assert again.code == 2
    assert again.err == (
        f"prism: {old / JOURNAL}: is in {len(sealed) - 1} segments already; --segment-mb 0 takes them apart first\n"
    )
    assert prism("migrate", str(old), "--segment-mb", "0").code == 0
    assert segments(old) == []
    assert (old / JOURNAL).read_bytes()[60:] == plain[60:]  # all but the number of the format, and what follows from it
    assert prism("migrate", str(old), "--segment-mb", "0.02").code == 0
    assert {name: (old / name).read_bytes() for name in [*segments(old), JOURNAL]} == sealed


@pytest.mark.parametrize("cut", [False, True], ids=["flipped", "torn"])
def test_a_damaged_journal_is_refused_by_byte_and_stays_as_it_is(old: Path, prism: Prism, cut: bool) -> None:
    content = (old / JOURNAL).read_bytes()
    content = content[:-3] if cut else content[:20_000] + bytes([content[20_000] ^ 1]) + content[20_001:]
    (old / JOURNAL).write_bytes(content)
    ended = prism("migrate", str(old), "--segment-mb", "0.02")
    assert ended.code == 1
    assert ended.err.startswith(f"prism: {old / JOURNAL}: damaged at byte ")
    assert ended.err.count("\n") == 1
    assert (old / JOURNAL).read_bytes() == content
    assert not segments(old)
    assert not (old / ".migrating").exists()


def test_a_run_that_somebody_works_on_is_refused(old: Path, prism: Prism) -> None:
    with locked(old):
        ended = prism("migrate", str(old))
    assert (ended.code, segments(old)) == (2, [])
    assert "is in use by process" in ended.err or "process" in ended.err


def migrating(run: Path) -> subprocess.Popen[str]:
    """A process that migrates a run, once it has begun to write."""
    command = [sys.executable, "-m", "actors.cli", "migrate", str(run), "--segment-mb", "0.001", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (run / ".migrating").exists() and process.poll() is None:
        sleep(0.0005)
    return process


@pytest.mark.process
@pytest.mark.slow
def test_killed_at_any_moment_it_leaves_the_run_as_it_was_or_sealed(old: Path) -> None:
    before, random, moments = ticks_of(old), Random(8), set[bool]()
    undisturbed = migrating(shutil.copytree(old, old.parent / "undisturbed"))
    begun = monotonic()
    undisturbed.communicate()
    longest_s = monotonic() - begun
    for _ in range(25):
        run = old.parent / "killed"
        shutil.rmtree(run, ignore_errors=True)
        process = migrating(shutil.copytree(old, run))
        sleep(random.uniform(0.0, longest_s))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert ticks_of(run) == before
        moments.add(bool(read_tail(RealDisk(run)).sealed.tick))
        again = migrating(run)
        assert (said := again.communicate()[1]) == "" or "segments already" in said
        assert ticks_of(run) == before
        assert read_tail(RealDisk(run)).sealed.tick
    assert moments == {True, False}
