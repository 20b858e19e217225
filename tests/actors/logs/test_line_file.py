"""A file of lines that does not grow without a limit."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from actors.logs.line_file import LineFile


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
