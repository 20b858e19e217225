"""`prism export`: what it says and refuses, and what is there after it failed: everything or nothing."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from actors.tables.export import Exported, Progress, export
from tests.catalogue import catalogue
from tests.command import Prism
from tests.durability.test_full_disk import SmallDisk

FORMATS = ("csv", "parquet")


@pytest.fixture
def run(small_run: Path, tmp_path: Path) -> Path:
    """A copy of a run, `run` in the working directory."""
    return shutil.copytree(small_run, tmp_path / "run")


def left(directory: Path) -> list[str]:
    """Return what is in a directory, but for the run and its configuration."""
    return sorted({path.name for path in directory.iterdir()} - {"run", "small.yaml"})


def test_it_says_what_was_written_and_which_tables_there_are_none_of(run: Path, prism: Prism, tmp_path: Path) -> None:
    ended = prism("export", str(run), "--to", "csv")
    assert ended.code == 0
    (remark,) = ended.err.splitlines()
    assert remark.startswith(f"prism: {run}: not as configured: feed.out_of_network: ")
    *absent, last = ended.out.splitlines()
    assert absent == [
        "without ties, attribute_changes: nobody has changed any",
        "without feeds: feeds were not recorded: set run.record_feeds",
        "without judgements: no judgements were shared: set oracle.sharing.by",
    ]
    size = sum(path.stat().st_size for path in (tmp_path / "run-csv").iterdir())
    assert last.startswith(f"run-csv: 9 tables, {size:,} bytes; rows: runs 1, rounds 3, agents 60, ")
    assert left(tmp_path) == ["run-csv"]


def test_it_writes_the_tables_that_are_asked_for_and_replaces_only_an_export(
    run: Path, prism: Prism, tmp_path: Path
) -> None:
    asked = ("export", str(run), "--to", "csv", "--tables", "posts, engagements", "--out", "out")
    assert prism(*asked).out.startswith("out: 2 tables, ")
    assert left(tmp_path / "out") == ["engagements.csv", "posts.csv"]
    again = prism(*asked)
    assert (again.code, again.err) == (2, "prism: out: exists already; --force replaces this export\n")
    assert prism(*asked[:4], "--tables", "runs", "--out", "out", "--force").code == 0
    assert left(tmp_path / "out") == ["runs.csv"]
    (tmp_path / "out" / "notes.txt").write_text("mine")
    refused = prism(*asked, "--force")
    problem = "prism: out: exists already, and is no export, so it is not replaced\n"
    assert (refused.code, refused.err) == (2, problem)
    assert left(tmp_path / "out") == ["notes.txt", "runs.csv"]
    assert left(tmp_path) == ["out"]


def test_a_query_of_ones_own_is_printed_or_written(run: Path, prism: Prism, tmp_path: Path) -> None:
    query = "SELECT kind, count(*) AS posts FROM posts GROUP BY kind ORDER BY kind"
    printed = prism("export", str(run), "--sql", query)
    assert (printed.code, printed.err) == (0, "")
    assert "original" in printed.out
    assert left(tmp_path) == []
    written = prism("export", str(run), "--sql", query, "--to", "csv", "--quiet")
    assert (written.code, written.out, left(tmp_path / "run-csv")) == (0, "", ["query.csv"])
    head, first, *_ = (tmp_path / "run-csv" / "query.csv").read_text().splitlines()
    assert (head, first.split(",")[0]) == ('"kind","posts"', '"original"')


def test_a_query_reads_several_runs_and_their_journals(run: Path, prism: Prism, tmp_path: Path) -> None:
    assert prism("run", "--quiet", "--ticks", "24", "--set", "population.size=90", "--out", "other").code == 0
    query = """
        SELECT run, count(*) AS moves, sum(tick) AS ticks, max(moment(run, tick)) AS latest
        FROM {} GROUP BY run ORDER BY run
    """
    journal = "(FROM journal.updates JOIN journal.kinds USING (run, kind) WHERE kind_moves(kind) AND to_state <> '')"
    for out, source in (("tables", "transitions"), ("journals", journal)):
        told = prism("export", str(run), "other", "--sql", query.format(source), "--to", "csv", "--out", out, "-q")
        assert (told.code, told.err) == (0, "")
    lines = (tmp_path / "tables" / "query.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ['"run"', '"run"', '"other"']
    assert (tmp_path / "journals" / "query.csv").read_text().splitlines() == lines


def test_a_run_whose_people_are_in_a_missing_file_has_its_other_tables(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "ties.txt").write_text("".join(f"{one} {(one + 1) % 9}\n" for one in range(9)))
    settings = "simulation: {rounds: 1, ticks_per_round: 6}\npopulation: {graph: {path: ties.txt}}\n"
    (tmp_path / "study.yaml").write_text(settings)
    assert prism("run", "study.yaml", "--quiet", "--out", "run").code == 0
    (kept,) = (tmp_path / "run" / "inputs").glob("*/ties.txt")
    kept.unlink()
    ended = prism("export", "run", "--to", "csv")
    assert ended.code == 3
    assert ended.err.startswith(f"prism: run: {kept.relative_to(tmp_path / 'run')}: is missing: ")
    assert "; bring along the whole directory of the run, or one file of it, which `prism pack` makes" in ended.err
    assert ended.err.endswith(
        "; --tables without agents, edges, attribute_changes, questions and judgements needs no input files\n"
    )
    assert prism("export", "run", "--to", "csv", "--tables", "runs,rounds,transitions,posts,engagements").code == 0


@catalogue("form", FORMATS)
def test_ctrl_c_leaves_nothing(form: str, run: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done > progress.whole / 2:
            raise KeyboardInterrupt

    def exporting(
        paths: Sequence[Path], to: str, out: Path, tables: Sequence[str], _: Any, *, sql: str | None, replaces: bool
    ) -> Exported:
        return export(paths, to, out, tables, interrupt, sql=sql, replaces=replaces)

    monkeypatch.setattr("actors.cli.export.export", exporting)
    assert prism("export", str(run), "--to", form).code == 130
    assert left(Path.cwd()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A file system of 128 kB."""
    if shutil.which("mount") is None:
        pytest.skip("there is no mount command")
    disk = SmallDisk(tmp_path / "disk")
    yield disk
    disk.unmount()


@catalogue("form", FORMATS)
def test_a_full_disk_ends_the_export_with_one_line_and_leaves_nothing(
    form: str, run: Path, small_disk: SmallDisk, prism: Prism
) -> None:
    ended = prism("export", str(run), "--to", form, "--out", "disk/out", "--quiet")
    if ended.code == 0:  # what fits is whole; then fill all but a little
        shutil.rmtree(small_disk.path / "out")
        (small_disk.path / "filler").write_bytes(bytes(100 * 1024))
        ended = prism("export", str(run), "--to", form, "--out", "disk/out", "--quiet")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("prism: disk/")
    assert "cannot be written" in ended.err
    assert len(ended.err.splitlines()) == 1
    assert [path.name for path in small_disk.path.iterdir() if path.name != "filler"] == []
