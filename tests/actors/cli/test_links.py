"""Files that cannot be written to as a command needs it: links, second names, and file systems without locks."""

import shutil
from pathlib import Path

import pytest

from tests.actors.cli.conftest import SMALL
from tests.actors.studies.experiments.files import write_experiment
from tests.command import Prism
from tests.no_locks import without_locks

LONGER = ("resume", "run", "--ticks", "80", "-q")


def _linked(path: Path, outside: Path) -> None:
    """Move a file or directory elsewhere, and leave a link to it; if it is not there, link to a file."""
    if path.exists():
        path.rename(outside)
    else:
        outside.write_bytes(b"thesis")
    path.symlink_to(outside)


def _content(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return {str(each): each.read_bytes() for each in files}


def test_a_run_with_a_link_is_not_resumed_and_nothing_is_written_through_it(
    small_run: Path, prism: Prism, tmp_path: Path
) -> None:
    names = {each.name for each in small_run.iterdir()} | {"run.lock", "log.jsonl", ".phase.json.tmp", "causes"}
    assert {"journal.prism", "oracle.log", "summary.json", "manifest.json"} <= names
    for name in sorted(names):
        shutil.rmtree("run", ignore_errors=True)
        shutil.copytree(small_run, "run")
        outside = tmp_path / "outside"
        _linked(Path("run", name), outside)
        before = _content(outside)
        ended = prism(*LONGER)
        assert ended.code == 2, (name, ended)
        assert ended.err.startswith(f"prism: run/{name}: cannot be opened: is a symbolic link, and PRISM writes "), name
        assert _content(outside) == before, name
        shutil.rmtree(outside) if outside.is_dir() else outside.unlink()


def test_a_file_with_a_second_name_is_not_appended_to(small_run: Path, prism: Prism) -> None:
    for name in ("run.lock", "log.jsonl", "journal.prism", "oracle.log"):
        shutil.rmtree("run", ignore_errors=True)
        shutil.copytree(small_run, "run")
        Path("run", name).touch()
        Path("outside").unlink(missing_ok=True)
        Path("outside").hardlink_to(Path("run", name))
        before = Path("outside").read_bytes()
        ended = prism(*LONGER)
        assert (ended.code, Path("outside").read_bytes()) == (2, before), (name, ended)
        assert f"run/{name}: " in ended.err, (name, ended)
        assert "is a file with another name elsewhere" in ended.err, (name, ended)
        assert len(ended.err.splitlines()) == 1, (name, ended)


def test_a_link_to_the_directory_of_a_run_is_the_run(small_run: Path, prism: Prism) -> None:
    shutil.copytree(small_run, "run")
    Path("latest").symlink_to("run")
    assert prism("resume", "latest", "--ticks", "80", "-q").code == 0


@pytest.mark.parametrize(
    "link",
    ["cells", "plans", "results.csv", "outcome.json", "run.lock", "seals"],
)
def test_an_experiment_with_a_link_is_not_run(link: str, prism: Prism, tmp_path: Path) -> None:
    write_experiment(tmp_path)
    Path("out").mkdir()
    outside = tmp_path / "outside"
    if "." in link:
        outside.write_bytes(b"thesis")
    else:
        outside.mkdir()
    Path("out", link).symlink_to(outside)
    ended = prism("experiment", "e.yaml", "--out", "out", "--jobs", "1")
    assert (ended.code, f"out/{link}: cannot be opened: is a symbolic link" in ended.err) == (2, True), ended
    assert _content(outside) == ({str(outside): b"thesis"} if outside.is_file() else {})


@pytest.mark.slow
def test_causes_and_seals_are_not_written_through_links(small_run: Path, prism: Prism, tmp_path: Path) -> None:
    shutil.copytree(small_run, "run")
    outside = tmp_path / "outside"
    outside.mkdir()
    Path("run/causes").symlink_to(outside)
    ended = prism("cause", "run", "--of", "likes", "--budget", "4", "--jobs", "1")
    assert "not kept: run/causes: cannot be written: is a symbolic link" in ended.err, ended
    assert _content(outside) == {}


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
    ends = dict(zip([*READERS, *WRITERS], without_locks([*READERS, *WRITERS], tmp_path), strict=True))
    for command, shown in READERS.items():
        assert (ends[command].code, shown in ends[command].out) == (0, True), (command, ends[command])
    for command, file in WRITERS.items():
        said = f"prism: {file}: cannot be locked: No locks available; this file system has no locks (flock), so write"
        assert (ends[command].code, said in ends[command].err) == (2, True), (command, ends[command])
