"""Disks that are full or read-only, for real: one line, and a run that goes on once there is room."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from actors.store.journal import JOURNAL
from actors.store.lock import LOCK
from actors.store.manifest import CONFIG, SUMMARY
from tests.command import Prism, short_of_room
from tests.durability.conftest import TINY
from tests.durability.process_runs import differences

FREE = "free some space, then run the same command again"


@pytest.fixture
def whole(prism: Prism, tmp_path: Path) -> Path:
    (tmp_path / "tiny.yaml").write_text(TINY.replace("tick_s: 0.01", "tick_s: 0"))
    assert prism("run", "tiny.yaml", "--quiet", "--out", "whole").code == 0
    return tmp_path / "whole"


def begin_or_go_on(prism: Prism, run: Path) -> None:
    """What a user does once there is room."""
    command = ("resume", str(run)) if (run / JOURNAL).exists() else ("run", "tiny.yaml", "--out", str(run))
    assert prism(*command, "--quiet").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_disk_that_fills_up_ends_the_run_with_one_line_and_it_goes_on_when_there_is_room(
    share: float, whole: Path, prism: Prism, tmp_path: Path
) -> None:
    # The configuration has all settings, and has to fit.
    header, full = (whole / CONFIG).stat().st_size + 100, (whole / JOURNAL).stat().st_size
    limit = header + int(share * (full - header))
    ended = short_of_room(limit, "run", str(tmp_path / "tiny.yaml"), "--quiet", "--out", str(tmp_path / "run"))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"prism: {tmp_path}/run/{JOURNAL}: cannot be written: File too large; what was committed is safe: "
        "raise ulimit -f, then continue with `prism resume`\n"
    )
    assert (tmp_path / "run" / JOURNAL).stat().st_size == limit, "the last frame is torn"
    assert not (tmp_path / "run" / SUMMARY).exists()
    again = short_of_room(limit, "resume", str(tmp_path / "run"), "--quiet")
    assert again.returncode == 1
    assert again.stderr.splitlines()[-1].startswith(f"prism: {tmp_path}/run/{JOURNAL}: cannot be written: ")
    begin_or_go_on(prism, tmp_path / "run")
    assert differences(tmp_path / "run", whole) == []


class SmallDisk:
    """A file system in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(path)], capture_output=True, text=True, check=False
        )
        if made.returncode:
            pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")

    def change(self, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.path)], check=True)

    def fill(self) -> None:
        with (self.path / "filler").open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))

    def unmount(self) -> None:
        subprocess.run(["umount", str(self.path)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    if shutil.which("mount") is None:
        pytest.skip("there is no mount command")
    disk = SmallDisk(tmp_path / "disk")
    yield disk
    disk.unmount()


def test_on_a_disk_without_any_room_nothing_is_begun(small_disk: SmallDisk, whole: Path, prism: Prism) -> None:
    small_disk.fill()
    ended = prism("run", "tiny.yaml", "--quiet", "--out", "disk/run")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"prism: disk/run/run.lock: cannot be written: No space left on device; {FREE}\n"
    (small_disk.path / "filler").unlink()
    begin_or_go_on(prism, small_disk.path / "run")
    assert differences(small_disk.path / "run", whole) == []


@pytest.mark.parametrize("has_lock", [True, False], ids=["after_a_crash", "after_an_end"])
def test_a_run_whose_disk_is_full_when_it_is_resumed_says_so_and_stays_as_it_is(
    has_lock: bool, small_disk: SmallDisk, embedded: Path, prism: Prism
) -> None:
    run = shutil.copytree(embedded, small_disk.path / "run")
    if has_lock:
        (run / LOCK).write_text("process 1 on a machine that crashed\n")
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    small_disk.fill()
    ended = prism("resume", "disk/run", "--quiet")
    assert (ended.code, ended.out) == (1, "")
    file = CONFIG if has_lock else LOCK
    assert ended.err == f"prism: disk/run/{file}: cannot be written: No space left on device; {FREE}\n"
    after = {path.name: path.read_bytes() for path in run.iterdir()}
    assert {**after, LOCK: before[LOCK]} == before, "all but who holds it"
    (small_disk.path / "filler").unlink()
    assert prism("resume", "disk/run", "--quiet").code == 0
    assert prism("replay", "disk/run", "--quiet").code == 0


def test_a_run_on_a_read_only_disk_can_be_read_and_not_resumed(
    small_disk: SmallDisk, embedded: Path, prism: Prism
) -> None:
    shutil.copytree(embedded, small_disk.path / "run")
    small_disk.change("ro")
    resumed = prism("resume", "disk/run")
    assert (resumed.code, resumed.err) == (2, "prism: disk/run/run.lock: cannot be opened: Read-only file system\n")
    begun = prism("run", str(embedded / "config.yaml"), "--out", "disk/other")
    assert (begun.code, begun.err) == (2, "prism: disk/other: cannot be made a run directory: Read-only file system\n")
    assert prism("replay", "disk/run", "--quiet").code == 0
    assert prism("verify", "disk/run").code == 0
    assert "crashed" in prism("runs", "disk").out
    small_disk.change("rw")
