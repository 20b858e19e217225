"""The directory of a run: when the files of a run that did not begin are removed."""

from __future__ import annotations

import json
from pathlib import Path

from actors.runs.directory import RunDirectory
from tests.catalogue import catalogue


def line(level: str, event: str) -> str:
    return json.dumps({"event": event, "level": level}) + "\n"


@catalogue(
    ("log", "is_kept"),
    [
        ("", False),
        (line("info", "run_started") + line("debug", "llm_exchange"), False),
        (line("info", 'a text with "level": "warning" in it'), False),
        (line("info", "run_started") + '{"event": "cut", "level": "warn', False),
        (line("warning", "oracle_away"), True),
        ("no object\n", False),
        (json.dumps({"level": "error", "event": {"level": "info"}}) + "\n", True),
        ('{"level":"warning","event":"without blanks"}\n', True),
    ],
)
def test_a_run_that_did_not_begin_leaves_a_log_of_warnings_and_nothing_else(
    log: str, is_kept: bool, tmp_path: Path
) -> None:
    directory = RunDirectory.create(tmp_path / "run", "run")
    directory.log.write_text(log)
    directory.discard_unless_begun()
    assert directory.log.exists() is is_kept
    assert directory.path.exists() is is_kept
