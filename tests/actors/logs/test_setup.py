"""Logs: how they are set up, files of lines with a limit, and standard error that is protected for a while."""

import io
import json
import logging
import sys
from contextlib import closing, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.typing import EventDict

from actors.logs.output import output, standard_error_protected
from actors.logs.setup import LEFT_OUT, LINES_MAX, PERIOD_S, LineFile, LogLimit, logging_to
from tests.catalogue import catalogue


def test_events_go_to_the_file_as_json_lines_and_are_printed_as_text_or_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with logging_to(tmp_path / "log.jsonl"):
        structlog.get_logger().warning("agent_restarted", actor=3, tick=7)
    (line,) = (tmp_path / "log.jsonl").read_text().splitlines()
    event = json.loads(line)
    assert (event["event"], event["level"], event["actor"], event["tick"]) == ("agent_restarted", "warning", 3, 7)
    (printed,) = capsys.readouterr().err.splitlines()
    assert "agent_restarted" in printed
    assert "tick=7" in printed
    assert not {"{", "\x1b"} & set(printed)
    monkeypatch.setattr(output, "format", "json")
    with logging_to(None):
        structlog.get_logger().warning("agent_restarted", tick=7)
    assert json.loads(capsys.readouterr().err)["tick"] == 7


def test_a_full_disk_ends_the_copy_and_not_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to(Path("/dev/full")):
        structlog.get_logger().warning("lost")
        structlog.get_logger().warning("also_lost")
    printed = capsys.readouterr().err
    assert "full ends here: No space left on device\n" in printed
    assert "also_lost" in printed


def events_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_event_says_its_tick_and_its_actor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.jsonl"
    with logging_to(path) as context:
        structlog.get_logger().warning("before")
        context.tick = lambda: 7
        structlog.get_logger().warning("during")
        structlog.get_logger().warning("of_its_own", tick=3, actor=12)
        with structlog.contextvars.bound_contextvars(actor="oracle"):
            logging.getLogger("prism.llm").warning("slow")
    assert [(event["event"], event.get("tick"), event["actor"]) for event in events_of(path)] == [
        ("before", None, "run"),
        ("during", 7, "run"),
        ("of_its_own", 3, 12),
        ("slow", 7, "oracle"),
    ]
    capsys.readouterr()


def test_secrets_are_in_neither_log_wherever_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PRISM_LLM_API_KEY", 'sk-"quoted"-1234')
    monkeypatch.setenv("PRISM_METRICS_PASSWORD", "opensesame")
    path = tmp_path / "log.jsonl"
    with logging_to(path):
        log = structlog.get_logger()
        log.warning("asked", url='http://h/?key=sk-"quoted"-1234', headers={"Authorization": "Bearer x"})
        log.warning(
            "typed opensesame", deep=[("opensesame", {"opensesame": b"opensesame"})], where=Path("/home/opensesame")
        )
        log.warning("named", api_key="abc", password=b"abc", nested={"client_secret": "abc"}, tokens=12, max_token=5)
        try:
            raise ValueError("no such key: opensesame")
        except ValueError:
            log.exception("failed")
        logging.getLogger("library").warning("sent %s", "opensesame")
    written = path.read_text() + capsys.readouterr().err
    for secret in ("opensesame", "sk-", "quoted", "Bearer", "abc"):
        assert secret not in written
    asked, typed, named, failed, _ = events_of(path)
    assert asked["url"] == "http://h/?key=[redacted]"
    assert typed["event"] == "typed [redacted]"
    assert (named["tokens"], named["max_token"]) == (12, 5)
    assert "ValueError: no such key: [redacted]" in failed["exception"]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def said(limit: LogLimit, name: str, times: int, method: str = "warning") -> int:
    """Return how many of so many events got through."""
    count = 0
    for _ in range(times):
        with suppress(structlog.DropEvent):
            limit(None, method, {"event": name})
            count += 1
    return count


def test_the_same_warning_is_said_twenty_times_a_minute_and_the_rest_is_counted(logged: list[EventDict]) -> None:
    clock = Clock()
    limit = LogLimit(clock)
    assert said(limit, "agent_restarted", 1_000, "error") == LINES_MAX
    assert said(limit, "another", 3) == 3
    assert logged == []
    clock.now = PERIOD_S
    assert said(limit, "agent_restarted", 1, "error") == 1
    assert [(event["event"], event["of"], event["lines"]) for event in logged] == [
        (LEFT_OUT, "agent_restarted", 1_000 - LINES_MAX)
    ]


def test_the_end_says_what_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.jsonl"
    with logging_to(path):
        for agent in range(LINES_MAX + 30):
            structlog.get_logger().error("agent_restarted", actor=agent)
    events = events_of(path)
    assert [event["event"] for event in events] == ["agent_restarted"] * LINES_MAX + [LEFT_OUT]
    assert (events[-1]["of"], events[-1]["lines"], events[-1]["level"]) == ("agent_restarted", 30, "warning")
    assert len(capsys.readouterr().err.splitlines()) == LINES_MAX + 1


class Screen(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


@catalogue(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "xterm")])
def test_the_file_has_every_line_and_the_terminal_warnings_of_libraries_in_colours_if_it_may(
    variable: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, path = Screen(), tmp_path / "log.jsonl"
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, value)
    with logging_to(path):
        logging.getLogger("prism.economy.world").info("SKIPPED")
        logging.getLogger("prism.llm").warning("SLOW")
    assert [event["event"] for event in events_of(path)] == ["SKIPPED", "SLOW"]
    assert "SKIPPED" not in screen.getvalue()
    assert "SLOW" in screen.getvalue()
    assert ("\x1b[" in screen.getvalue()) == (value == "xterm")


def write(path: Path, size_max: int, *lines: str) -> None:
    with closing(LineFile(path, size_max)) as file:
        for line in lines:
            file.put(line)


def files(path: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in path.parent.iterdir()}


def test_a_file_at_its_limit_is_set_aside_and_the_oldest_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    write(path, 12, *(f"{number}.." for number in range(14)))
    assert files(path) == {
        f"log.jsonl{'' if place == 6 else f'.{6 - place}'}": f"{2 * place}..\n{2 * place + 1}..\n"
        for place in range(1, 7)
    }


def test_a_line_that_a_crash_has_torn_is_not_joined_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"event": "to')
    write(path, 1000, '{"event": "whole"}')
    assert path.read_text() == '{"event": "to\n{"event": "whole"}\n'


def test_a_file_that_cannot_be_set_aside_ends_there_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.jsonl"
    (tmp_path / "log.jsonl.4").write_text("older")
    (tmp_path / "log.jsonl.5").mkdir()
    write(path, 12, "one......", "two......", "three....")
    assert path.read_text() == "one......\n"
    assert capsys.readouterr().err == "prism: log.jsonl ends here: Is a directory\n"


def test_a_stream_that_somebody_has_put_in_its_place_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", sys.__stderr__)
    other = StringIO()
    with standard_error_protected():
        monkeypatch.setattr(sys, "stderr", other)
    assert sys.stderr is other
    with standard_error_protected():
        assert sys.stderr is other
