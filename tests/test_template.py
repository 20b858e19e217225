"""`prism init --template domain`: the package that it writes runs, its tests pass, and its notebook can be executed."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import yaml
from nbclient import NotebookClient

from tests.command import Prism, run_prism
from tests.own_domains import path_restored
from tests.paths import ROOT

NAME = "crossing_of_roads"


@pytest.fixture
def prism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Prism]:
    monkeypatch.chdir(tmp_path)
    with path_restored():
        yield lambda *arguments: run_prism(monkeypatch, capsys, *arguments)


@pytest.fixture
def study(prism: Prism) -> Path:
    ended = prism("init", "--template", "domain", "crossing-of-roads")
    assert ended.code == 0, ended.err
    return Path("crossing-of-roads").absolute()


def test_the_package_has_the_name_of_its_directory_everywhere(study: Path) -> None:
    files = sorted(path.relative_to(study).as_posix() for path in study.rglob("*") if path.is_file())
    assert f"{NAME}/domain.py" in files
    assert {"config.yaml", "pyproject.toml", "README.md", "study.ipynb", f"tests/test_{NAME}.py"} <= set(files)
    assert not any("junction" in (study / name).read_text() for name in files)
    assert f'{NAME} = "{NAME}.domain:build"\n' in (study / "pyproject.toml").read_text()
    assert yaml.safe_load((study / "config.yaml").read_text())["simulation"]["domain"] == f"{NAME}.domain:build"


def test_a_directory_whose_name_no_package_can_have_is_refused(prism: Prism) -> None:
    for directory in ("class", "2nd", "a b", "prism"):
        ended = prism("init", "--template", "domain", directory)
        assert (ended.code, "DIR names the package: " in ended.err, Path(directory).exists()) == (2, True, False)


def test_it_runs_where_it_is_without_being_installed(study: Path, prism: Prism) -> None:
    assert prism("validate", "crossing-of-roads/config.yaml").out.startswith(
        "crossing-of-roads/config.yaml: ok: 4 agents"
    )
    ended = prism("run", "crossing-of-roads/config.yaml", "--quiet", "--ticks", "60", "--out", "run")
    assert ended.code == 0, ended.err
    assert ended.out in prism("replay", "run", "--quiet").out
    assert (Path("run") / "rounds.csv").read_text().splitlines()[0].endswith(",waiting,passed")


@pytest.mark.slow
def test_its_tests_pass(study: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"]
    ended = subprocess.run(command, cwd=study, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
    assert re.search(r"\b10 passed", ended.stdout)


@pytest.mark.slow
def test_its_notebook_can_be_executed(study: Path) -> None:
    notebook = nbformat.read(study / "study.ipynb", as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(study)}}).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code[0].outputs[-1]["data"]["text/plain"].startswith("{'waiting': ")
    assert "".join(output["text"] for output in code[-1].outputs).count("passed") == 3
