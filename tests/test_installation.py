"""The wheel in an environment of its own, also with a domain of one's own; and what `make` says where there is none."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from actors.core.errors import JournalError
from tests.durability.process_runs import whole_ticks
from tests.paths import ROOT

DEFAULT, ECONOMY = "0be0389f49fef493f70abb7aef9e80ee", "f330434e20d2f3af8b25384fff999b4f"
"""Digests of the shipped configurations."""

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet")
OURS = ("PYTHON", "PRISM_", "COVERAGE", "MAKE", "MFLAGS")
OUTSIDE = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=OUTSIDE if env is None else env, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `prism` of a wheel, installed with the packages of the lock in an environment of its own."""
    place = tmp_path_factory.mktemp("installed")
    built = run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", place, ROOT, cwd=place)
    assert built.returncode == 0, built.stderr
    (wheel,) = place.glob("prism_sim-*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", place / "venv", cwd=place)
    python = place / "venv" / "bin" / "python"
    install = (*PIP, "--python", str(python), "install", "--no-deps", "--no-compile")
    packages = run(*install, "--require-hashes", "-r", ROOT / "requirements.lock", cwd=place)
    if packages.returncode:
        pytest.skip(f"pip cannot install here: {packages.stderr.strip().splitlines()[-1]}")
    assert run(*install, "--no-index", wheel, cwd=place).returncode == 0
    return python.parent / "prism"


@pytest.mark.slow
def test_the_wheel_has_every_file_that_the_packages_have_here(installed: Path) -> None:
    (there,) = installed.parent.parent.glob("lib/python*/site-packages")
    lost = [
        path.relative_to(ROOT).as_posix()
        for package in ("prism", "actors")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not (there / path.relative_to(ROOT)).is_file()
    ]
    assert (there / "actors" / "view").is_dir()
    assert lost == []


@pytest.mark.slow
def test_the_wheel_runs_everything_that_is_shipped_in_an_empty_directory(installed: Path, tmp_path: Path) -> None:
    def prism(*arguments: str) -> subprocess.CompletedProcess[str]:
        ended = run(installed, *arguments, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        return ended

    assert prism("--version").stdout.startswith("prism, version ")
    default = prism("run")
    assert "no CONFIG given: running the shipped default configuration (default.yaml: 2,000 " in default.stderr
    assert f"digest {DEFAULT}" in default.stdout
    assert (tmp_path / "runs" / "default-001" / "journal.prism").exists()

    assert prism("init", "--example", "economy").stdout.endswith("next: prism run economy/prism.yaml\n")
    assert prism("run", "economy/prism.yaml", "--quiet").stdout == f"{ECONOMY}\n"
    listed = [line.split()[0] for line in prism("init", "--list").stdout.splitlines()]
    assert [name for name in listed if "/" not in name] == shipped()
    assert prism("init", "study", "--example", "experiments/feed").stdout.endswith(
        "prism experiment study/experiment.yaml\n"
    )
    for name in shipped():
        prism("init", f"all/{name}", "--example", name)
        if name != "higgs":  # whose graph one has to fetch
            prism("validate", f"all/{name}/prism.yaml")


@pytest.mark.slow
def test_a_domain_of_its_own_is_installed_killed_resumed_and_replayed_to_its_digest(
    installed: Path, tmp_path: Path
) -> None:
    def prism(*arguments: str) -> str:
        ended = run(installed, *arguments, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    prism("init", "--template", "domain", "two-roads")
    build = (*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", tmp_path)
    assert run(*build, tmp_path / "two-roads", cwd=tmp_path).returncode == 0
    (wheel,) = tmp_path.glob("two_roads-*.whl")
    install = (*PIP, "--python", str(installed.parent / "python"), "install", "--no-deps", "--no-index")
    assert run(*install, wheel, cwd=tmp_path).returncode == 0
    (tmp_path / "two-roads" / "two_roads").rename(tmp_path / "gone")  # what runs now is the installed package

    by_name = ("run", "two-roads/config.yaml", "--quiet", "--set", "simulation.domain=two_roads", "--ticks", "300")
    whole = prism(*by_name, "--out", "whole")
    slow = [str(installed), *by_name, "--out", "killed", "--set", "run.tick_s=0.05"]
    with subprocess.Popen(slow, cwd=tmp_path, env=OUTSIDE) as process:
        while process.poll() is None and ticks_in(tmp_path / "killed") < 30:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        process.kill()
    assert 30 <= ticks_in(tmp_path / "killed") < 300
    assert prism("resume", "killed", "--quiet", "--accept-settings", "--set", "run.tick_s=0") == whole
    assert prism("replay", "killed", "--quiet") == whole
    assert "BAD" not in prism("verify", "killed")
    prism("export", "killed", "--to", "csv", "--out", "tables")
    assert (tmp_path / "tables" / "phases.csv").read_text().startswith('"run","agent","colour",')
    assert "cars at its last question" in prism("explain", "killed", "--agent", "1", "--tick", "200")


def ticks_in(directory: Path) -> int:
    try:
        return whole_ticks(directory)[0]
    except (OSError, JournalError):
        return 0


def shipped() -> list[str]:
    names = sorted(path.stem for path in (ROOT / "configs").glob("*.yaml"))
    return ["default", *(name for name in names if name != "default")]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_says_in_a_line_what_is_missing(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(ROOT / name, tmp_path)
    for refuses, told in (
        ("version_info", "PRISM needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3 ..."),
        ("ensurepip", "PRISM needs Python's venv and pip; on Debian and Ubuntu: apt install python3-venv"),
    ):
        python = tmp_path / "python3"
        python.write_text(f'#!/bin/sh\ncase "$*" in *{refuses}*) exit 1;; esac\n')
        python.chmod(0o755)
        ended = run("make", "run", f"PYTHON={python}", cwd=tmp_path)
        assert ended.returncode != 0
        assert (ended.stderr.splitlines()[0], ended.stdout) == (told, "")
        assert not (tmp_path / ".venv").exists()
