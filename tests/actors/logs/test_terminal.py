"""What of the log a terminal shows, and that the run's file has all of it."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.typing import EventDict

from actors.logs.rate_limit import LEFT_OUT, LINES_MAX, PERIOD_S, SHOWN, TerminalLog
from actors.logs.setup import logging_to
from tests.catalogue import catalogue

SKIPPED = "SKIPPED Agent [Borland] due to unvalidated Action"
WORLD = "prism.economy.world"


class Clock:
    """A clock that goes when told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Terminal:
    """The lines that a terminal would show."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.log = TerminalLog(lambda _, __, event: json.dumps(dict(event)), self.clock)

    def shows(self, method: str, **event: Any) -> list[EventDict]:
        """What is shown when this is said."""
        try:
            return [json.loads(line) for line in self.log(None, method, event).splitlines()]
        except structlog.DropEvent:
            return []

    def remaining(self) -> list[tuple[str, int]]:
        """Kinds and numbers of lines that are left over at the end."""
        return [(line["of"], line["lines"]) for line in map(json.loads, self.log.remaining().splitlines())]


def skipped(terminal: Terminal, times: int) -> list[str]:
    return [line["event"] for _ in range(times) for line in terminal.shows("info", event=SKIPPED, logger=WORLD)]


def test_the_first_few_lines_of_a_kind_are_shown_and_the_end_says_how_many_more_there_were() -> None:
    terminal = Terminal()
    assert skipped(terminal, 50) == [SKIPPED] * SHOWN
    assert terminal.remaining() == [(WORLD, 50 - SHOWN)]
    assert terminal.remaining() == []


def test_after_a_minute_a_line_says_how_many_more_there_were_and_a_few_are_shown_again() -> None:
    terminal = Terminal()
    skipped(terminal, 50)
    terminal.clock.now_s = PERIOD_S
    assert skipped(terminal, 5) == [LEFT_OUT, *[SKIPPED] * SHOWN]


def test_errors_and_what_the_actors_say_are_all_shown() -> None:
    terminal = Terminal()
    for _ in range(50):
        assert terminal.shows("error", event="LLM_FAILURE", logger="prism.llm.client")
        assert terminal.shows("warning", event="agent_restarted")
    assert terminal.remaining() == []


def test_what_the_file_leaves_out_and_what_the_terminal_does_is_one_number() -> None:
    terminal = Terminal()
    for _ in range(LINES_MAX):
        terminal.shows("warning", event="irrelevant_decision", logger="prism.agents.llm_agent")
    (line,) = terminal.shows("warning", event=LEFT_OUT, of="prism.agents.llm_agent", lines=30, limit="20 in 60 s")
    assert (line["lines"], line["limit"]) == (30 + LINES_MAX - SHOWN, "3 in 60 s")
    assert terminal.remaining() == []


class Screen(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


@catalogue(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "xterm")])
def test_the_file_of_the_run_has_every_line_and_the_terminal_colours_if_it_may(
    variable: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, path = Screen(), tmp_path / "log.jsonl"
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, value)
    with logging_to(path):
        for _ in range(50):
            logging.getLogger(WORLD).info(SKIPPED)
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == [SKIPPED] * 50
    *shown, left_out = screen.getvalue().splitlines()
    assert [SKIPPED in line for line in shown] == [True] * SHOWN
    assert LEFT_OUT in left_out
    assert ("\x1b[" in screen.getvalue()) == (value == "xterm")
