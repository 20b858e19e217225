"""A real llama.cpp server with a trained model, where `make test-model` has installed both."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

ENVIRONMENT = Path(os.environ.get("PRISM_MODEL_ENV", ROOT / ".venv-model"))
START_S = 120.0


@pytest.fixture(scope="session")
def llama() -> Iterator[str]:
    """Return the address of a server that runs while the tests do."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        pytest.skip("no trained model is installed here: `make test-model` installs one")
    with subprocess.Popen(
        [python, ROOT / "tests" / "model" / "serve.py", ENVIRONMENT / "model.gguf"],
        stdin=subprocess.PIPE,  # it ends when this closes, however these tests end
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line.startswith("listening on "), line or "the server ended before it listened"
        yield line.split()[-1]
        server.terminate()
