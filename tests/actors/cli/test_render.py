"""The renderer: one record as JSON, as a view of its own, as one line, or as tables; and the summary of a run."""

import io
import json
from functools import partial
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from actors.cli.render import facts_of, show
from actors.cli.run_command import parts_of_end
from actors.logs.output import output
from actors.runs.summary import Summary, summarise
from prism.config import Config
from prism.llm import OracleStatistics
from prism.show import Show
from tests.actors.social_runs import SMALL, run
from tests.catalogue import catalogue
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
    run_of_minutes = summarise(run_scheduled(0, partial(run, SMALL)), 604_800.0)
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
