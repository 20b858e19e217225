"""Files that cannot be written to as a command needs it: links, second names, and file systems without locks."""

import shutil
from pathlib import Path

from tests.actors.cli.conftest import SMALL
from tests.actors.studies.experiments.files import write_experiment
from tests.command import Prism
from tests.no_locks import without_locks

LONGER = ("resume", "run", "--ticks", "73", "-q")


def _content(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return {str(each): each.read_bytes() for each in files}


def test_a_run_with_a_link_is_not_resumed_and_nothing_is_written_through_it(
    small_run: Path, prism: Prism, tmp_path: Path
) -> None:
    names = {each.name for each in small_run.iterdir()} | {"run.lock", "log.jsonl", ".phase.json.tmp", "causes"}
    assert {"journal.prism", "oracle.log", "summary.json", "manifest.json"} <= names
    shutil.copytree(small_run, "run")
    outside = tmp_path / "outside"
    for name in sorted(names):
        path, is_there = Path("run", name), Path("run", name).exists()
        path.rename(outside) if is_there else outside.write_bytes(b"thesis")
        path.symlink_to(outside)
        before = _content(outside)
        ended = prism(*LONGER)
        assert ended.code == 2, (name, ended)
        assert ended.err.startswith(f"prism: run/{name}: cannot be opened: is a symbolic link, and PRISM writes "), name
        assert _content(outside) == before, name
        path.unlink()
        outside.rename(path) if is_there else outside.unlink()
    Path("latest").symlink_to("run")  # a link to the directory of a run is the run
    assert prism("resume", "latest", *LONGER[2:]).code == 0


def test_a_file_with_a_second_name_is_not_appended_to(small_run: Path, prism: Prism) -> None:
    for name in ("run.lock", "log.jsonl", "journal.prism", "oracle.log"):
        shutil.rmtree("run", ignore_errors=True)
        shutil.copytree(small_run, "run")
        Path("run", name).touch()
        Path("outside").unlink(missing_ok=True)
        Path("outside").hardlink_to(Path("run", name))
        before = Path("outside").read_bytes()
        ended = prism(*LONGER)
        assert (ended.code, ended.err.count("\n"), Path("outside").read_bytes()) == (2, 1, before), (name, ended)
        assert f"run/{name}: " in ended.err, (name, ended)
        assert "is a file with another name elsewhere" in ended.err, (name, ended)


def test_an_experiment_with_a_link_is_not_run(prism: Prism, tmp_path: Path) -> None:
    write_experiment(tmp_path)
    Path("out").mkdir()
    (tmp_path / "place").mkdir()
    (tmp_path / "file").write_bytes(b"thesis")
    for name in ("run.lock", "cells", "plans", "results.csv", "outcome.json", "seals"):
        link = Path("out", name)
        link.symlink_to(tmp_path / ("file" if "." in name else "place"))
        ended = prism("experiment", "e.yaml", "--out", "out", "--jobs", "1")
        assert (ended.code, f"out/{name}: cannot be opened: is a symbolic link" in ended.err) == (2, True), ended
        link.unlink()
    assert (_content(tmp_path / "place"), (tmp_path / "file").read_bytes()) == ({}, b"thesis")


READERS = {
    ("runs", "runs"): "one  social  done",
    ("pack", "runs/one", "--out", "one.prism"): "one.prism",
    ("export", "runs/one", "--to", "csv", "--out", "tables", "--tables", "runs"): "tables: ",
    ("verify", "runs/one", "--quick"): "runs/one",
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
    ends = dict(zip([*READERS, *WRITERS], without_locks([*READERS, *WRITERS], tmp_path), strict=True))
    for command, shown in READERS.items():
        assert (ends[command].code, shown in ends[command].out) == (0, True), (command, ends[command])
    for command, file in WRITERS.items():
        said = f"prism: {file}: cannot be locked: No locks available; this file system has no locks (flock), so write"
        assert (ends[command].code, said in ends[command].err) == (2, True), (command, ends[command])
