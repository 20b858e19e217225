"""The inputs that a run keeps: their names, one file for many runs, and code with the modules that it imports."""

import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import anyio
import pytest

from actors import read_config, resume, run
from actors.core.errors import RunDirectoryError
from actors.runs.directory import RunDirectory
from actors.runs.inputs import LARGE_BYTES, inputs_of, keep
from actors.runs.replay import replay
from actors.store.manifest import CONFIG, read_manifest
from actors.store.run import read_resolved
from prism.config import Config
from prism.errors import ConfigError, InputError
from tests.own_domains import path_restored, write_study

SETTINGS = {"simulation.rounds": 1, "simulation.ticks_per_round": 4, "population.size": 40}
READER = """
from prism.config import Config, Section
from tests.domains import TrafficDomain


class Settings(Section):
    table: str = "lights.txt"


def build(config: Config, settings: Settings, inputs) -> TrafficDomain:
    return TrafficDomain(int(inputs.read(settings.table)) + int(inputs.read("more.txt")))
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with path_restored():
        yield


TIES = "source,target\n1,2\n2,3\n3,1\n"
LARGE = TIES + "\n" * LARGE_BYTES


def configured(**settings: object) -> Config:
    Path("c.yaml").write_text("")
    return read_config("c.yaml", {**SETTINGS, **settings}, environment={})


def started(out: str, **settings: object) -> str:
    return run(configured(**settings), out=out).digest


def replayed(path: str | Path) -> str:
    return anyio.run(replay, RunDirectory(Path(path))).engine.digest.hexdigest()


def kept(directory: str, name: str) -> Path:
    (found,) = Path(directory).glob(f"inputs/*/{name}")
    return found


def test_a_kept_file_is_called_by_its_hash_and_name_and_cannot_be_written() -> None:
    Path("ties.csv").write_text(TIES)
    started("run", **{"population.graph.path": "ties.csv"})
    digest = sha256(TIES.encode()).hexdigest()
    name = f"inputs/{digest}/ties.csv"
    assert Path("run", name).read_text() == TIES
    assert Path("run", name).stat().st_mode & 0o222 == 0
    assert read_resolved(Path("run", CONFIG)).population.graph.path == name
    assert read_manifest(Path("run")).inputs == {name: digest}


def test_runs_side_by_side_have_one_large_file_and_each_its_own_small_one() -> None:
    Path("ties.csv").write_text(LARGE)
    Path("hours.csv").write_text(",".join(f"h{hour:02d}" for hour in range(24)) + "\n" + ",".join("1" * 24))
    for out in ("one", "two"):
        started(out, **{"population.graph.path": "ties.csv", "population.activity.hours": "hours.csv"})
    assert kept("one", "ties.csv").samefile(kept("two", "ties.csv"))
    assert not kept("one", "ties.csv").samefile("ties.csv")
    assert not kept("one", "hours.csv").samefile(kept("two", "hours.csv"))


def test_a_file_that_changes_before_it_is_kept_is_refused() -> None:
    Path("ties.csv").write_text(TIES)
    config = configured(**{"population.graph.path": "ties.csv"})
    inputs = inputs_of(config, {"ties.csv": sha256(TIES.encode()).hexdigest()})
    Path("ties.csv").write_text(LARGE)
    Path("run").mkdir()
    with pytest.raises(RunDirectoryError, match=r"ties\.csv: has changed while the run was started; start it again"):
        keep(RunDirectory(Path("run")), inputs)
    assert [path for path in Path("run").rglob("*") if path.is_file()] == []


def test_a_tape_to_replay_is_kept_once_it_is_whole() -> None:
    Path("tape.sqlite").write_text("answers")
    config = configured(**{"oracle.backend": "ollama", "oracle.tape": "replay", "oracle.tape_path": "tape.sqlite"})
    name = f"inputs/{sha256(b'answers').hexdigest()}/tape.sqlite"
    assert inputs_of(config, {}).config.oracle.tape_path == name
    Path("tape.sqlite-wal").touch()
    assert inputs_of(config, {}).config.oracle.tape_path == "tape.sqlite"


def test_the_only_copy_of_an_input_is_not_removed_when_it_is_damaged_and_a_lost_one_is_named() -> None:
    Path("ties.csv").write_text(TIES)
    started("run", **{"population.graph.path": "ties.csv"})
    run_directory, damaged = RunDirectory(Path("run")), kept("run", "ties.csv")
    name = damaged.relative_to("run").as_posix()
    damaged.chmod(0o644)
    damaged.write_text(TIES[:-2])
    with pytest.raises(RunDirectoryError, match=r"ties\.csv: is not what the run has kept; bring along"):
        keep(run_directory, inputs_of(read_resolved(Path("run", CONFIG)), {name: damaged.parent.name}))
    assert damaged.read_text() == TIES[:-2]
    damaged.unlink()
    with pytest.raises(InputError, match=r"/ties\.csv: is missing: .* bring along the whole directory of the run"):
        replayed("run")


def test_files_that_a_domain_reads_are_kept_whether_a_setting_names_them_or_its_code(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study", READER)
    for name in ("lights.txt", "more.txt"):
        Path(name).write_text("2")
    digest = run(read_config(study.config, environment={}), out="run").digest
    config = read_resolved(Path("run", CONFIG))
    name = f"inputs/{sha256(b'2').hexdigest()}"
    assert config.domain == {"table": f"{name}/lights.txt"}
    assert config.simulation.domain_inputs == {"more.txt": f"{name}/more.txt"}
    for source in ("lights.txt", "more.txt"):
        Path(source).write_text("9")
    assert replayed("run") == digest
    assert resume("run", ticks=40).summary.ticks == 40


def test_code_is_kept_with_the_modules_beside_it_that_it_imports(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study")
    source = study.file.read_text()
    study.file.write_text(source.replace("(settings.lights)", f"({study.module}_number.number(settings.lights))"))
    study.file.write_text(f"import {study.module}_number\n{study.file.read_text()}")
    Path(study.path, f"{study.module}_number.py").write_text(
        f"def number(lights):\n    from {study.module}_inner import add\n\n    return add(lights)\n"
    )
    Path(study.path, f"{study.module}_inner.py").write_text("def add(lights):\n    return lights + 1\n")
    Path(study.path, f"{study.module}_other.py").write_text("raise SystemExit\n")
    with path_restored():
        digest = run(read_config(study.config, environment={}), out="run").digest
    shutil.rmtree(study.path)
    names = sorted(path.stem.removeprefix(study.module) for path in Path("run").glob("inputs/*/*.py"))
    assert names == ["", "_inner", "_number"]
    with path_restored():
        assert replayed("run") == digest


def test_code_that_was_edited_is_kept_by_another_process_only(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study")
    with path_restored():
        config = read_config(study.config, environment={})
        run(config, out="one")
        study.file.write_text(f"{study.file.read_text()}\nX = 1\n")
        with pytest.raises(RunDirectoryError, match=r"has been edited since this process imported it; start a new"):
            run(config, out="two")
        assert not Path("two", CONFIG).exists()
    with path_restored():
        run(read_config(study.config, environment={}), out="three")
        with pytest.raises(ConfigError, match=r"and another is in .*; do it in a process of its own"):
            replayed("one")
