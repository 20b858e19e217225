"""File systems without locks: readers need none, and writers name the file that cannot be locked."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.actors.cli.conftest import SMALL
from tests.actors.studies.experiments.files import write_experiment
from tests.no_locks import without_locks

READERS = {
    ("runs", "runs"): "one  social  done",
    ("report", "runs/one", "--out", "page.html"): "page.html",
    ("pack", "runs/one", "--out", "one.prism"): "one.prism",
    ("export", "runs/one", "--to", "csv", "--out", "tables"): "tables: ",
    ("verify", "runs/one"): "runs/one",
}
WRITERS = {
    ("run", "small.yaml", "--out", "new"): "new/run.lock",
    ("resume", "runs/one", "--ticks", "80"): "runs/one/run.lock",
    ("experiment", "e.yaml", "--out", "cells"): "cells/run.lock",
}


def test_readers_need_no_lock_and_writers_refuse_with_the_name_of_the_file(small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(small_run, tmp_path / "runs" / "one")
    (tmp_path / "small.yaml").write_text(SMALL)
    write_experiment(tmp_path)
    for command, shown, ended in zip(READERS, READERS.values(), without_locks([*READERS], tmp_path), strict=True):
        assert (ended.code, shown in ended.out) == (0, True), (command, ended)
    for command, file, ended in zip(WRITERS, WRITERS.values(), without_locks([*WRITERS], tmp_path), strict=True):
        said = f"prism: {file}: cannot be locked: No locks available; this file system has no locks (flock), so write"
        assert (ended.code, said in ended.err) == (2, True), (command, ended)
