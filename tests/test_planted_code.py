"""A directory of a stranger's, in which commands are run: no process of PRISM's runs the code that lies there."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.command import without_settings
from tests.standin import ModelServer, ServerSettings
from tests.wire.gateways import planned

MODULES = (
    *("selectors", "json", "pickle", "socket", "threading", "tempfile", "signal", "random", "sitecustomize"),
    *("multiprocessing", "concurrent", "asyncio", "encodings", "importlib", "prism", "actors", "numpy", "msgspec"),
    *("anyio", "structlog", "click", "ray", "grpc", "psutil", "setproctitle", "numba"),
)
PLANTED = "from pathlib import Path; import os; Path({place!r}, f'{{__name__}}-{{os.getpid()}}').touch()\n"
IN_PARTS = ("--set", "run.segment_mb=0.0001", "--set", "simulation.rounds=8")
PROGRAM = """
from pathlib import Path
from actors.view.explainer import EXPLAIN, Explainer

if __name__ == "__main__":
    explainer = Explainer(EXPLAIN)
    assert explainer.get(Path("run"), 0, 7).children
"""
"""The process that a program of the user's starts by PRISM."""


def plant(directory: Path, ran: Path) -> None:
    ran.mkdir()
    for name in MODULES:
        text = PLANTED.format(place=str(ran))
        (directory / f"{name}.py").write_text(text)
        (directory / name).mkdir()
        (directory / name / "__init__.py").write_text(text)


@pytest.mark.slow
@pytest.mark.timeout(1200)  # a cluster of Ray begins and ends in it
def test_no_process_runs_the_code_of_the_working_directory(tmp_path: Path) -> None:
    here, ran = tmp_path / "here", tmp_path / "ran"
    here.mkdir()
    (tmp_path / "program.py").write_text(PROGRAM)

    def ended(*command: str) -> subprocess.CompletedProcess[str]:
        command = (sys.executable, "-P", *command)
        found = subprocess.run(
            command, cwd=here, env=without_settings(), capture_output=True, text=True, check=False, timeout=300
        )
        assert ([*map(str, ran.iterdir())], found.returncode) == ([], 0), (command, found.stdout, found.stderr)
        return found

    with ModelServer(ServerSettings()) as server:
        planned(here, server.url, "{max_concurrency: 4}", backend="openai")
        plant(here, ran)
        prism = ("-m", "actors.cli")
        ended(*prism, "run", "base.yaml", "--set", "oracle.backend=choice", *IN_PARTS, "--out", "run", "-q")
        ended(*prism, "experiment", "e.yaml", "--out", "out", "--jobs", "2")  # processes and a gateway
        ended(*prism, "cause", "run", "--of", "likes", "--budget", "2", "--draws", "0", "--jobs", "2")
        ended(str(tmp_path / "program.py"))
        if find_spec("ray") is not None:
            shutil.rmtree(here / "out")
            ended(*prism, "experiment", "e.yaml", "--out", "out", "--on", "ray", "--jobs", "1")
