"""The renderer: one record as JSON, as a view of its own, as one line, or as tables; and the summary of a run."""

import io
import json
import shutil
from functools import partial
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from actors.cli.render import facts_of, show
from actors.cli.run import parts_of_end
from actors.logs.output import output
from actors.runs.summary import Summary, summarise
from prism.config import Config
from prism.llm import OracleStatistics
from prism.show import Show
from tests.actors import social_runs
from tests.actors.cli.conftest import SMALL
from tests.actors.studies.experiments.files import write_experiment
from tests.catalogue import catalogue
from tests.command import Prism
from tests.no_locks import without_locks
from tests.schedules import run_scheduled


class Shown(msgspec.Struct):
    file: Path
    is_good: bool
    size_bytes: int
    wall_s: float
    cells: list[dict[str, float]]
    fallback_share: float | None = None


RECORD = Shown(Path("a\x1b"), True, 3 * 2**20, 62.0, [{"mean": 1.5, "most_usd": 4.0}, {"mean": 2.0}])


def test_a_record_is_json_or_one_line_where_that_is_asked_for_and_its_fields_have_units(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show(RECORD, lambda: [facts_of(msgspec.to_builtins(RECORD, enc_hook=str))])
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["file", r"a\x1b"],
        ["is", "good", "yes"],
        ["size", "3", "MiB"],
        ["wall", "1", "min", "02", "s"],
        ["cells", "mean", "1.5,", "most", "$4.00;", "mean", "2"],
        ["fallback", "share", "-"],
    ]

    def view() -> list[str]:
        raise AssertionError("nobody sees the view")

    monkeypatch.setattr(output, "is_quiet", True)
    show(RECORD, view)
    assert capsys.readouterr().out == ""
    show(RECORD, view, brief="digest")
    assert capsys.readouterr().out == "digest\n"
    monkeypatch.setattr(output, "as_json", True)
    show(RECORD, view, brief="digest")
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert json.loads(printed) == {**msgspec.to_builtins(RECORD, enc_hook=str), "file": "a\x1b"}


def shown(summary: Summary, width: int, *, details: bool = True) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    for part in parts_of_end(summary, "runs/soak-001", Show(Config()), details=details):
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


@pytest.fixture
def week() -> Summary:
    """The summary of a run of a week, by its numbers."""
    run_of_minutes = summarise(run_scheduled(0, partial(social_runs.run, social_runs.SMALL)), 604_800.0)
    counts = {"agents": 1_000_000, "rounds": 8_400, "ticks": 201_600, "activations": 1_000_000_000}
    calls = OracleStatistics(
        calls={"ok": 30_000_000},
        latency_s={"ok": 9e6},
        latency_s_p50=59.999,
        latency_s_p95=599.999,
        latency_s_p99=599.999,
        prompt_tokens=12_000_000_000,
        completion_tokens=2_000_000_000,
        wasted_tokens=1_000_000_000,
        cost_usd=99_999.0,
        wasted_usd=9_999.0,
    )
    return msgspec.structs.replace(run_of_minutes, in_words=[], oracle_calls=30_000_000, llm=calls, **counts)


@catalogue("stopped_by", [None, "SIGTERM", "spend_cap"])
def test_no_line_of_a_week_takes_more_than_80_columns(stopped_by: str | None, week: Summary) -> None:
    status = "done" if stopped_by is None else "stopped"
    summary = msgspec.structs.replace(week, status=status, stopped_by=stopped_by)
    resumed = msgspec.structs.replace(summary, resumes=1_000, wall_activations=999_000_000, ticks_replayed=9_999)
    for each in (summary, resumed):
        assert shown(each, 80, details=False) == shown(each, 300, details=False)


def test_without_details_it_is_about_twenty_lines_without_zeros(week: Summary) -> None:
    told = msgspec.structs.replace(week, in_words=["One. " * 60], llm=None)
    lines = shown(told, 80, details=False)
    assert len(lines[lines.index("") :]) <= 21
    assert {"likes", "reshares"} <= {line.split()[0] for line in lines if line}
    assert not [line for line in lines if line.split()[-1:] == ["0"] or "█" in line]
    assert lines[-1] == "files in runs/soak-001; all figures: --details"
    assert any(line.startswith("  tokens: ") for line in shown(week, 80, details=False))
    # After a resume the time is that of the last process.
    resumed = msgspec.structs.replace(week, resumes=2, wall_s=60.0, wall_activations=500, ticks_replayed=1)
    told_of = ["1,000,000,000 activations", "since resume 2: 500 activations in 1 min 00 s", "1 tick done again"]
    assert shown(resumed, 80)[1:4] == told_of


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
