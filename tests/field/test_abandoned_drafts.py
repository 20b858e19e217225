"""What a command that was killed has left beside its file is removed by the next command that writes there."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from actors.core.files import ABANDONED_AFTER_S, opened_as_it_is, write_file
from actors.tables.export import export
from tests.catalogue import catalogue
from tests.paths import ROOT

KILLED = """
import os, signal, sys
from pathlib import Path
from actors.tables.export import export
export([Path(sys.argv[1])], "csv", Path(sys.argv[2]), on_progress=lambda _: os.kill(os.getpid(), signal.SIGKILL))
"""


def drafts(directory: Path) -> list[Path]:
    return sorted(directory.glob(".*"))


def age(path: Path) -> None:
    then = time.time() - 2 * ABANDONED_AFTER_S
    os.utime(path, (then, then))


def test_the_draft_of_a_killed_export_is_removed_by_the_next(small_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "t[a]bles"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(small_run), str(out)], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = drafts(tmp_path)
    export([small_run], "csv", out)
    assert drafts(tmp_path) == [left], "a draft so young may be of a command that has just begun"
    age(left)
    export([small_run], "csv", out, replaces=True)
    assert drafts(tmp_path) == []
    assert (out / "agents.csv").is_file()


@catalogue("is_directory", [True, False])
def test_the_draft_of_a_living_process_stays(tmp_path: Path, *, is_directory: bool) -> None:
    draft = tmp_path / ".page.html.abc.tmp"
    draft.mkdir() if is_directory else draft.write_text("half")
    age(draft)
    with opened_as_it_is(draft) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        write_file(tmp_path / "page.html", b"whole")
        assert drafts(tmp_path) == [draft]
    write_file(tmp_path / "page.html", b"whole again")
    assert drafts(tmp_path) == []


def test_files_of_others_and_links_stay(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link, other = tmp_path / ".page.html.abc.tmp", tmp_path / ".other.html.abc.tmp"
    link.symlink_to(tmp_path / "elsewhere")
    other.write_text("")
    for path in (tmp_path / "elsewhere", other):
        age(path)
    write_file(tmp_path / "page.html", b"whole")
    assert drafts(tmp_path) == [other, link]
