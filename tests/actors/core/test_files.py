"""Regular files: what is no file is refused before it is opened, and no more is read than allowed."""

import errno
import os
import socket
from pathlib import Path

import pytest

from actors.core.errors import DiskFailedError, RunDirectoryError
from actors.core.files import (
    NotJsonError,
    NotRegularError,
    TooLargeError,
    open_own,
    opened,
    read_json,
    read_regular,
    write_file,
)
from tests.catalogue import catalogue


def test_json_of_any_depth_and_shape_is_read_in_one_way_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    deep = [form * depth for form in ('{"a":', "[", '[{"a":') for depth in (65, 900, 100_000)]
    contents = [
        *deep,
        *(f"{each}1{'}' * each.count('{')}" for each in deep if "[" not in each),
        "",
        "{",
        '{"a": "\\ud800"}',
    ]
    for content in (*(each.encode() for each in contents), b"\xff\xfe", b'{"a": "\xff"}', b"\0" * 9):
        file.write_bytes(content)
        with pytest.raises(NotJsonError, match="is not what PRISM writes: "):
            read_json(file)
    file.write_text('{"a": [1, {"b": 2.5}]}')
    assert read_json(file) == {"a": [1, {"b": 2.5}]}
    with pytest.raises(NotJsonError, match="Expected `str`"):
        read_json(file, dict[str, str])
    file.unlink()
    file.mkdir()
    with pytest.raises(NotRegularError):
        read_json(file)


def test_a_file_and_a_link_to_it_are_read_whole_unless_they_are_too_large(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1 2\n")
    (tmp_path / "link").symlink_to("f")
    assert read_regular(tmp_path / "f", 4) == read_regular(tmp_path / "link", 4) == b"1 2\n"
    with pytest.raises(TooLargeError) as caught:
        read_regular(tmp_path / "f", 3)
    assert caught.value.strerror == "is larger than the 3 bytes that it may have"


@catalogue("kind", ["directory", "named pipe", "device", "socket"])
def test_what_is_no_file_is_refused_by_its_kind_and_not_opened(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket may have 107 bytes
    path = tmp_path / "p"
    if kind == "directory":
        path.mkdir()
    elif kind == "named pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind("p")
    else:
        path = Path("/dev/zero")
    monkeypatch.setattr(os, "open", None)
    with pytest.raises(NotRegularError, match=f"is a {kind}, and not a regular file"), opened(path):
        pass


def test_a_pipe_that_takes_the_place_of_a_file_meanwhile_does_not_wait_for_its_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "f", os.open
    path.write_bytes(b"")

    def replaced(*arguments: object) -> int:
        path.unlink()
        os.mkfifo(path)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", replaced)
    with pytest.raises(NotRegularError, match="named pipe"), opened(path):
        pass


def test_a_write_that_fails_or_is_interrupted_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    write_file(path, b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFailedError, match="f: cannot be written: No space left on device; free some space, then"):
        write_file(path, b"new")
    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["f"]


def test_a_file_is_replaced_whole_keeps_its_permissions_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path, link = tmp_path / "f", tmp_path / "link"
    write_file(path, b"old")
    path.chmod(0o600)
    link.symlink_to("f")
    write_file(link, b"new", follows=True)
    assert (path.read_bytes(), path.stat().st_mode & 0o777, link.is_symlink()) == (b"new", 0o600, True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["f", "link"]
    with pytest.raises(RunDirectoryError, match="no/f: cannot be written: No such file or directory"):
        write_file(tmp_path / "no" / "f", b"x")
    write_file(Path("/dev/null"), b"x", follows=True)
    assert not Path("/dev/null").is_file()
    with pytest.raises(RunDirectoryError, match="Is a directory"):
        write_file(tmp_path, b"x", follows=True)


def test_a_file_of_a_run_is_a_regular_file_with_one_name(tmp_path: Path) -> None:
    outside, link, twin, pipe = (tmp_path / name for name in ("outside", "link", "twin", "pipe"))
    outside.write_bytes(b"thesis")
    link.symlink_to(outside)
    (tmp_path / "dangling").symlink_to(tmp_path / "none")
    twin.hardlink_to(outside)
    os.mkfifo(pipe)
    for path, said in (
        (link, "is a symbolic link, and PRISM writes through no link"),
        (tmp_path / "dangling", "is a symbolic link"),
        (twin, "is a file with another name elsewhere"),
        (pipe, "is a named pipe, and not a regular file"),
        (tmp_path, "is a directory, and not a regular file"),
    ):
        with pytest.raises(OSError, match=said):
            open_own(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        if path != twin:  # it would be replaced, and the other name keep its content
            with pytest.raises(RunDirectoryError, match=said):
                write_file(path, b"x")
    assert outside.read_bytes() == b"thesis"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["dangling", "link", "outside", "pipe", "twin"]
