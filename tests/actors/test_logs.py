from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
import structlog

from actors.logs import logging_to


def test_events_go_to_the_file_as_json_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to(tmp_path / "log.jsonl"):
        structlog.get_logger().warning("agent_restarted", actor=3, tick=7)
    (line,) = (tmp_path / "log.jsonl").read_text().splitlines()
    event = json.loads(line)
    assert (event["event"], event["level"], event["actor"], event["tick"]) == ("agent_restarted", "warning", 3, 7)
    assert json.loads(capsys.readouterr().err) == event


def test_what_libraries_log_goes_there_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to(tmp_path / "log.jsonl"):
        logging.getLogger("somewhere").warning("careful")
        logging.getLogger("somewhere").info("not that important")
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["careful"]
    capsys.readouterr()


def test_a_full_disk_ends_the_copy_and_not_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to(Path("/dev/full")):
        structlog.get_logger().warning("lost")
        structlog.get_logger().warning("also_lost")
    printed = capsys.readouterr().err
    assert "full ends here: No space left on device\n" in printed
    assert "also_lost" in printed
