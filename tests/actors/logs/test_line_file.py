"""A file of lines that does not grow without a limit."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from actors.logs.line_file import LineFile, Rotation

TEN = Rotation(size_max=10, kept=2)


def write(path: Path, rotation: Rotation, *lines: str) -> None:
    with closing(LineFile(path, rotation)) as file:
        for line in lines:
            file.put(line)


def files(path: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in path.parent.iterdir()}


def test_a_file_at_its_limit_is_set_aside_and_the_oldest_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    write(path, TEN, *(f"{number}..." for number in range(9)))
    assert files(path) == {
        "log.jsonl.2": "4...\n5...\n",
        "log.jsonl.1": "6...\n7...\n",
        "log.jsonl": "8...\n",
    }


def test_a_line_that_a_crash_has_torn_is_not_joined_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"event": "to')
    write(path, Rotation(), '{"event": "whole"}')
    assert path.read_text() == '{"event": "to\n{"event": "whole"}\n'


def test_a_file_that_cannot_be_set_aside_ends_there_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.jsonl"
    (tmp_path / "log.jsonl.2").mkdir()
    write(path, TEN, "one......", "two......", "three....")
    assert path.read_text() == "one......\n"
    assert capsys.readouterr().err == "prism: log.jsonl ends here: Is a directory\n"
