"""`prism export`: what it says and refuses, and what is there after it failed: everything or nothing."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from actors.tables.export import Exported, export
from tests.catalogue import catalogue
from tests.command import Prism
from tests.durability.test_full_disk import SmallDisk

FORMATS = ("csv", "parquet")
EXPORT = ("export", "run", "--to", "csv")


@pytest.fixture(autouse=True)
def _run(small_run: Path, tmp_path: Path) -> None:
    """Copy a run into the working directory."""
    shutil.copytree(small_run, tmp_path / "run")


def left(directory: str = ".") -> list[str]:
    """Return what is in a directory, but for the run and its configuration."""
    return sorted({path.name for path in Path(directory).iterdir()} - {"run", "small.yaml"})


def test_it_says_what_was_written_and_which_tables_there_are_none_of(prism: Prism) -> None:
    ended = prism(*EXPORT)
    assert ended.code == 0
    (remark,) = ended.err.splitlines()
    assert remark.startswith("prism: run: not as configured: feed.out_of_network: ")
    *absent, last = ended.out.splitlines()
    assert absent == [
        "without ties, attribute_changes: nobody has changed any",
        "without feeds: feeds were not recorded: set run.record_feeds",
    ]
    size = sum(path.stat().st_size for path in Path("run-csv").iterdir())
    assert last.startswith(f"run-csv: 9 tables, {size:,} bytes; rows: runs 1, rounds 3, agents 60, ")
    assert left() == ["run-csv"]


def test_it_writes_the_tables_that_are_asked_for_and_replaces_only_an_export(prism: Prism) -> None:
    asked = (*EXPORT, "--tables", "posts, engagements", "--out", "out")
    assert prism(*asked).out.startswith("out: 2 tables, ")
    assert left("out") == ["engagements.csv", "posts.csv"]
    again = prism(*asked)
    assert (again.code, again.err) == (2, "prism: out: exists already; --force replaces this export\n")
    assert prism(*EXPORT, "--tables", "runs", "--out", "out", "--force").code == 0
    assert left("out") == ["runs.csv"]
    Path("out/notes.txt").write_text("mine")
    refused = prism(*asked, "--force")
    problem = "prism: out: exists already, and is no export, so it is not replaced\n"
    assert (refused.code, refused.err) == (2, problem)
    assert (left("out"), left()) == (["notes.txt", "runs.csv"], ["out"])


def test_a_query_reads_several_runs_and_their_journals_and_is_printed_or_written(prism: Prism, few_run: Path) -> None:
    shutil.copytree(few_run, "other")
    query = """
        SELECT run, count(*) AS moves, sum(tick) AS ticks, max(moment(run, tick)) AS latest
        FROM {} GROUP BY run ORDER BY run
    """
    journal = "(FROM journal.updates JOIN journal.kinds USING (run, kind) WHERE kind_moves(kind) AND to_state <> '')"
    printed = prism("export", "run", "other", "--sql", query.format("transitions"))
    assert (printed.code, "moves" in printed.out, left()) == (0, True, ["other"])
    for out, source in (("tables", "transitions"), ("journals", journal)):
        told = prism("export", "run", "other", "--sql", query.format(source), "--to", "csv", "--out", out, "-q")
        assert (told.code, told.out, left(out)) == (0, "", ["query.csv"])
    lines = Path("tables/query.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ['"run"', '"run"', '"other"']
    assert Path("journals/query.csv").read_text().splitlines() == lines


def test_what_a_question_does_not_have_is_null_in_its_journal(prism: Prism) -> None:
    query = "SELECT count(*) AS all, count(memory) AS known FROM journal.questions"
    told = prism("export", "run", "--sql", query, "--json")
    assert (told.code, [row["known"] for row in json.loads(told.out)], json.loads(told.out)[0]["all"] > 0) == (
        0,
        [0],
        True,
    )


def test_a_run_whose_people_are_in_a_missing_file_has_its_other_tables(prism: Prism) -> None:
    Path("ties.txt").write_text("".join(f"{one} {(one + 1) % 9}\n" for one in range(9)))
    Path("study.yaml").write_text("simulation: {ticks: 6}\npopulation: {graph: {path: ties.txt}}\n")
    assert prism("run", "study.yaml", "--quiet", "--out", "study").code == 0
    (kept,) = Path("study/inputs").glob("*/ties.txt")
    kept.unlink()
    ended = prism("export", "study", "--to", "csv")
    assert ended.code == 3
    assert ended.err.startswith(f"prism: study: {kept.relative_to('study')}: is missing: ")
    for told in (
        "; bring along the whole directory of the run, or one file of it, which `prism pack` makes",
        "; --tables without agents, edges, attribute_changes and questions needs no input files\n",
    ):
        assert told in ended.err
    assert prism("export", "study", "--to", "csv", "--tables", "runs,rounds,transitions,posts,engagements").code == 0


@catalogue("form", FORMATS)
def test_ctrl_c_leaves_nothing(form: str, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(progress: tuple[int, int]) -> None:
        if progress[0] > progress[1] / 2:
            raise KeyboardInterrupt

    def exporting(
        paths: Sequence[Path], to: str, out: Path, tables: Sequence[str], _: Any, *, sql: str | None, replaces: bool
    ) -> Exported:
        return export(paths, to, out, tables, interrupt, sql=sql, replaces=replaces)

    monkeypatch.setattr("actors.cli.export.export", exporting)
    assert prism("export", "run", "--to", form).code == 130
    assert left() == []


@catalogue("form", FORMATS)
def test_a_full_disk_ends_the_export_with_one_line_and_leaves_nothing(
    form: str, small_disk: SmallDisk, prism: Prism
) -> None:
    small_disk.fill()
    ended = prism("export", "run", "--to", form, "--out", "disk/out", "--quiet")
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert ended.err.startswith("prism: disk/")
    assert "cannot be written" in ended.err
    assert left("disk") == ["filler"]
