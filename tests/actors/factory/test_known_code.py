"""Code that is known, and what lies beside it."""

import os
import py_compile
import sys
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from actors.core.errors import UntrustedCodeError
from actors.factory.input_files import note_files
from actors.factory.own_code import (
    KnownCode,
    allow,
    find_domain_code,
    known_code,
    locate_code,
    sources_below,
    sources_sha256,
)
from prism.config import SimulationConfig
from prism.errors import ConfigError
from tests.own_domains import path_restored


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Begin without known code, and leave Python's path as it was."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(known_code, "_here", set())
    before = set(sys.modules)
    with path_restored():
        yield
    for name in set(sys.modules) - before:
        if name.startswith("town"):
            del sys.modules[name]


def named(reference: str, directory: Path) -> SimulationConfig:
    return SimulationConfig(domain=reference, domain_path=str(directory))


def written(directory: Path, **sources: str) -> Path:
    directory.mkdir(exist_ok=True)
    for name, source in sources.items():
        (directory / f"{name}.py").write_text(source)
    return directory


def test_to_locate_code_runs_nothing_and_names_what_it_imports_from_its_directory(tmp_path: Path) -> None:
    place = written(
        tmp_path / "place",
        town_a="import msgspec\nfrom town_a_roads import x\nraise SystemExit",
        town_a_roads="import town_a_cars, json",
        town_a_cars="",
        town_a_unused="",
        json="raise SystemExit",
    )
    code = locate_code(named("town_a:build", place))
    assert [file.name for file in code.sources] == ["town_a.py", "town_a_roads.py", "town_a_cars.py"]
    assert "town_a" not in sys.modules


def test_unknown_code_is_refused_and_allowed_code_is_known_wherever_it_lies(tmp_path: Path) -> None:
    place = written(tmp_path / "place", town_b="from town_b_roads import build", town_b_roads="def build(): ...")
    with pytest.raises(UntrustedCodeError, match=r"town_b\.py \(sha256 .*town_b_roads\.py \(sha256 .* before; read it"):
        find_domain_code(named("town_b:build", place))
    assert "town_b" not in sys.modules
    with path_restored():
        allow([locate_code(named("town_b:build", place))])
    moved = place.rename(tmp_path / "moved")
    assert callable(find_domain_code(named("town_b:build", moved))[1])


def test_an_edit_of_any_of_its_files_and_another_function_are_asked_for_anew(tmp_path: Path) -> None:
    place = written(tmp_path / "place", town_c="from town_c_roads import build", town_c_roads="def build(): ...")
    with path_restored():  # as another process of the same user
        allow([locate_code(named("town_c:build", place))])
    with (place / "town_c_roads.py").open("a") as file:
        file.write("\n# edited\n")
    with pytest.raises(UntrustedCodeError, match="code that is not the code that you have run here before"):
        find_domain_code(named("town_c:build", place))
    place = written(tmp_path / "place", town_d="def build(): ...\ndef delete_everything(): ...")
    allow([locate_code(named("town_d:build", place))])
    find_domain_code(named("town_d:build", place))
    with pytest.raises(UntrustedCodeError):
        find_domain_code(named("town_d:delete_everything", place))


def test_functions_of_two_modules_are_known_as_a_run_keeps_them_together(tmp_path: Path) -> None:
    place = written(tmp_path / "place", town_k="def a(): ...", town_l="def b(): ...")
    allow([locate_code(named("town_k:a", place)), locate_code(named("town_l:b", place))])
    kept = place.rename(tmp_path / sources_sha256(sources_below(place, place)))
    name = f"inputs/{kept.name}"
    note_files({name: kept})
    assert all(
        callable(find_domain_code(SimulationConfig(domain=each, domain_path=name))[1])
        for each in ("town_k:a", "town_l:b")
    )


def test_a_compiled_file_of_other_code_is_not_used(tmp_path: Path) -> None:
    place = written(tmp_path / "place", town_g="def build(): ...\nX = 'other'\n")
    source = place / "town_g.py"
    at = source.stat()
    py_compile.compile(str(source), cache_from_source(str(source)))
    source.write_text("def build(): ...\nX = 'known'\n")
    os.utime(source, ns=(at.st_atime_ns, at.st_mtime_ns))
    allow([locate_code(named("town_g:build", place))])
    find_domain_code(named("town_g:build", place))
    assert sys.modules["town_g"].X == "known"


def test_a_pipe_in_place_of_code_is_not_waited_for(tmp_path: Path) -> None:
    place = tmp_path / "place" / "town_j"
    place.mkdir(parents=True)
    (place / "__init__.py").touch()
    os.mkfifo(place / "roads.py")
    with pytest.raises(ConfigError, match=r"roads\.py cannot be read: is a named pipe"):
        locate_code(named("town_j:build", place.parent))


def test_a_record_that_cannot_be_written_or_is_a_link_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").write_text("0123 town_i\n")
    (tmp_path / "state" / "prism").mkdir(parents=True)
    (tmp_path / "state" / "prism" / "code").symlink_to(tmp_path / "elsewhere")
    KnownCode().add(["4567 town_i"])
    assert "0123 town_i" not in KnownCode().keys
    assert (tmp_path / "elsewhere").read_text() == "0123 town_i\n"
    # Without a record, code is known to its process.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    known = KnownCode()
    known.add(["0123 town_h"])
    assert "0123 town_h" in known.keys
    assert "0123 town_h" not in KnownCode().keys
