"""Names and texts of others on a terminal: they are printed as text, by every command, and no terminal obeys them."""

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
import structlog
from rich.live import Live
from rich.table import Table
from rich.text import Text

from actors.display.console import SafeConsole
from actors.logs.setup import logging_to
from prism.quoting import printable, printable_lines
from tests.actors.cli.conftest import SMALL
from tests.catalogue import catalogue
from tests.command import Prism
from tests.hostile_texts import SURROGATES, TERMINAL, TEXTS, harms_a_terminal
from tests.paths import ROOT

NAME = "r\x1b]0;harmed\x07\x1b[8m\u202e\udcff"
"""The name of a directory: it would set a terminal's title, hide what follows, turn it round, and it is no UTF-8."""
ESCAPED = r"r\x1b]0;harmed\x07\x1b[8m\u202e\udcff"
PRINTERS = {"actors/display/console.py", "actors/logs/output.py", "actors/cli/app.py"}


@catalogue("text", [*TEXTS.values(), *SURROGATES.values()])
def test_a_printable_text_is_one_line_that_harms_no_terminal(text: str) -> None:
    assert not harms_a_terminal(printable(text))
    assert len(printable(text).splitlines()) <= 1
    printable(text).encode()
    assert not harms_a_terminal(printable_lines(text))


@catalogue("text", TERMINAL.values())
def test_a_console_prints_texts_as_data_and_its_own_colours_as_colours(text: str) -> None:
    file = StringIO()
    console = SafeConsole(file=file, force_terminal=True, color_system="truecolor", width=200, legacy_windows=False)
    table = Table("name")
    table.add_row(Text(text, style="red"))
    console.print(table, text, "[bold]brackets[/bold]")
    with Live(Text(text), console=console, transient=True):
        pass
    shown = file.getvalue()
    assert "\x1b[31m" in shown
    plain = re.sub(r"\x1b\[\??\d*(?:;\d+)*[A-Zmhl]|\r", "", shown)
    assert "[bold]brackets[/bold]" in plain
    assert not harms_a_terminal(plain)
    assert text not in shown


def test_the_log_as_text_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to(None):
        structlog.get_logger().warning("server_failed", detail=NAME, host="a\nprism: done", tried=[NAME])
    told = capsys.readouterr().err
    assert ESCAPED in told
    assert "\nprism: done" not in told
    assert not harms_a_terminal(told)


def test_everything_is_printed_in_one_way() -> None:
    """Nothing but the console, the messages and the end of a command prints by itself."""
    strays = []
    for path in sorted((ROOT / "actors").rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        if place not in PRINTERS:
            found = re.findall(r"(?<![\w.])print\(|click\.s?echo\(|(?<!Safe)\bConsole\(", path.read_text("utf-8"))
            strays += [f"{place}: {each}" for each in found]
    assert strays == []


def test_the_command_that_comes_next_can_be_pasted(prism: Prism) -> None:
    ended = prism("init", "a b $x;")
    assert ended.out.splitlines()[-1] == "next: prism run 'a b $x;/prism.yaml'"


# Every command, by a name that harms


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a hostile name, which holds a configuration and a run of it."""
    place = tmp_path_factory.mktemp("hostile") / NAME
    place.mkdir()
    (place / "small.yaml").write_text(SMALL)
    ended = command("run", place / "small.yaml", "--out", place / "run")
    assert ended.returncode == 0, ended.stderr
    assert ESCAPED.encode() in ended.stdout.replace(b"\n", b"")  # lines are 80 columns wide
    expect_harmless(ended)
    return place


def command(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-m", "actors.cli", *(os.fspath(each) for each in arguments)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, check=False, timeout=120)


def expect_harmless(ended: subprocess.CompletedProcess[bytes]) -> None:
    assert not harms_a_terminal((ended.stdout + ended.stderr).decode())
    assert b"Traceback" not in ended.stderr


COMMANDS = [
    ("fork", "{}/run", "--at", "30", "--out", "{}/forked"),
    ("resume", "{}/run", "--ticks", "80"),
    ("verify", "{}/run"),
    ("replay", "{}/run"),
    ("runs", "{}"),
    ("explain", "{}/run", "--agent", "1"),
    ("export", "{}/run", "--out", "{}/tables", "--to", "csv"),
    ("report", "{}/run", "--out", "{}/report.html"),
    ("chart", "{}/small.yaml", "--out", "{}/chart.svg"),
    ("validate", "{}/small.yaml"),
    ("doctor", "{}/small.yaml"),
    ("init", "{}/new"),
]
REFUSED = [
    ("run", "{}/none.yaml"),
    ("run", "{}/small.yaml", "--out", "{}/run"),
    ("resume", "{}/none"),
    ("export", "{}/none", "--out", "{}/x", "--to", "csv"),
    ("view", "{}/none", "--port", "0"),
    ("experiment", "run", "{}/none.yaml"),
    ("no-such-{}",),
]


@pytest.mark.slow
def test_every_command_works_in_a_directory_whose_name_would_harm_and_a_refusal_names_it_as_text(place: Path) -> None:
    for words in (*COMMANDS, *REFUSED):
        ended = command(*(each.format(place) if "{}" in each else each for each in words))
        expect_harmless(ended)
        if words in COMMANDS:
            assert ended.returncode == 0, ended.stderr
        else:
            assert ended.returncode in (1, 2, 3), ended.stderr
            assert ESCAPED.encode() in ended.stderr
