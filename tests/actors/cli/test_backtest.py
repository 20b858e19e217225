from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from tests.catalogue import catalogue
from tests.command import Prism
from tests.economy.history import US_PATH

CONFIG = f"economy: {{initial: {{path: '{US_PATH}'}}}}"


@pytest.fixture(autouse=True)
def config(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_backtest_writes_its_table_series_scores_and_plot(prism: Prism) -> None:
    ended = prism("backtest", "c.yaml", "--out", "b")
    assert ended.code == 0
    assert "1987q1-1992q3" in ended.out
    assert "one quarter ahead the rule is nearer than no change in 0 of 5 periods" in ended.out
    assert sorted(path.name for path in Path("b").iterdir()) == [
        "backtest.csv",
        "backtest.png",
        "config.yaml",
        "inputs",
        "manifest.json",
        "scores.csv",
    ]
    series = rows("b/backtest.csv")
    assert (len(series), series[0]["quarter"], series[-1]["quarter"]) == (198, "1960q2", "2009q3")
    assert rows("b/scores.csv")[0]["period"] == "1960q2-2009q3"
    assert Path("b/backtest.png").read_bytes().startswith(b"\x89PNG")


def test_equal_backtests_are_equal_bytes(prism: Prism) -> None:
    assert prism("backtest", "c.yaml", "--out", "one").code == prism("backtest", "c.yaml", "--out", "two").code == 0
    files = [path.relative_to("one") for path in Path("one").rglob("*") if path.is_file()]
    assert len(files) == 6
    for path in files:
        assert Path("one", path).read_bytes() == Path("two", path).read_bytes(), path


def test_without_matplotlib_a_line_says_how_to_get_it(prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ended = prism("backtest", "c.yaml", "--out", "b")
    assert ended.code == 0
    assert ended.err == (
        "prism: no plot: it is drawn with matplotlib, not installed here; to get it in a clone of the repository: "
        "make extras; elsewhere: pip install 'prism-sim[plots]'\n"
    )
    assert "1987q1-1992q3" in ended.out
    assert not Path("b/backtest.png").exists()
    assert Path("b/backtest.csv").exists()


def test_a_backtest_is_listed_as_one_and_not_as_a_damaged_run(prism: Prism) -> None:
    prism("backtest", "c.yaml", "--quiet")
    line = "runs/c-backtest-001: a backtest, not a run; its scores are in scores.csv\n"
    assert prism("runs").out == line
    assert prism("runs", "runs/c-backtest-001").out == line


@catalogue("command", [("report", "b", "--out", "page.html"), ("view", "b", "--port", "0"), ("verify", "b")])
def test_a_backtest_has_no_page_and_one_line_says_so(command: tuple[str, ...], prism: Prism) -> None:
    prism("backtest", "c.yaml", "--quiet", "--out", "b")
    ended = prism(*command)
    shown = "its scores are in scores.csv and backtest.csv; `prism backtest CONFIG` shows them"
    assert (ended.code, ended.err) == (2, f"prism: b: is a backtest, not a run; {shown}\n")


def test_a_backtest_can_be_of_some_quarters(prism: Prism) -> None:
    ended = prism("backtest", "c.yaml", "--from", "1987q1", "--to", "1992q3", "--quiet")
    assert (ended.code, ended.out) == (0, "runs/c-backtest-001\n")
    assert [row["period"] for row in rows("runs/c-backtest-001/scores.csv")] == ["1987q1-1992q3"]
    assert len(rows("runs/c-backtest-001/backtest.csv")) == 23


def test_settings_change_the_rule_that_is_judged(prism: Prism) -> None:
    prism("backtest", "c.yaml", "--out", "plain", "--quiet")
    prism("backtest", "c.yaml", "--out", "smooth", "--quiet", "--set", "economy.taylor.smoothing=0.8")
    plain, smooth = (float(rows(f"{name}/scores.csv")[0]["rmse"]) for name in ("plain", "smooth"))
    assert smooth < plain


@catalogue(
    ("arguments", "problem"),
    [
        (("--from", "1987"), "Invalid value for '--from': expected a quarter such as 1985q1, got '1987'"),
        (("--from", "2009q1"), "expected at least 8 quarters between 2009q1 and the end of the file"),
        (("--to", "1950q1"), "expected at least 8 quarters between the beginning and 1950q1 of the file"),
    ],
)
def test_a_span_that_cannot_be_judged_is_wrong_usage(prism: Prism, arguments: tuple[str, ...], problem: str) -> None:
    ended = prism("backtest", "c.yaml", *arguments)
    assert ended.code == 2
    assert problem in ended.err
    assert not Path("runs").exists()


def test_a_configuration_without_quarters_is_refused(prism: Prism) -> None:
    ended = prism("backtest", "small.yaml")
    assert ended.code == 3
    assert ended.err == (
        "prism: small.yaml: economy.initial.path: a backtest needs a file of quarters, such as "
        "configs/data/us-macro-quarterly.csv, got null\n"
    )


@catalogue(
    ("text", "line"),
    [
        ("year,quarter\n", "q.csv:1: missing column: realgdp, cpi, tbilrate, unemp; expected year, quarter, realgdp, "),
        ("year,quarter,realgdp,cpi,tbilrate,unemp\n1959,1,x,2,3,4\n", "q.csv:2: realgdp: expected a number above 0"),
        (None, "q.csv: no such file in "),
    ],
)
def test_a_bad_file_of_quarters_is_one_line_and_exit_code_3(prism: Prism, text: str | None, line: str) -> None:
    if text is not None:
        Path("q.csv").write_text(text)
    ended = prism("backtest", "c.yaml", "--set", "economy.initial.path=q.csv")
    assert ended.code == 3
    assert ended.err.startswith(f"prism: {line}")
    assert ended.err.count("\n") == 1
    assert not Path("runs").exists()


def test_a_directory_with_files_in_it_is_left_alone(prism: Prism) -> None:
    Path("b").mkdir()
    Path("b/mine.txt").write_text("x")
    ended = prism("backtest", "c.yaml", "--out", "b")
    assert ended.code == 2
    assert [path.name for path in Path("b").iterdir()] == ["mine.txt"]
