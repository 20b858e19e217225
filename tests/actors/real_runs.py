"""Real runs, made once by the real command line, for tests that only read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import prism_alone
from tests.standin import ModelServer

EMBEDDED: dict[str, dict[str, Any]] = {
    "simulation": {"rounds": 4, "ticks_per_round": 12, "seed": 5},
    "population": {"size": 60, "ambiguity": 0.5, "posts_per_session": 0.5, "activity": {"mean": 0.9, "sigma": 0.2}},
    "run": {"checkpoint_every_ticks": 20},
}
DELIBERATION_TICKS = 2
LIVE: dict[str, dict[str, Any]] = {
    **EMBEDDED,
    "population": {**EMBEDDED["population"], "deliberation_minutes": float(DELIBERATION_TICKS)},
    "oracle": {"backend": "ollama"},
}


def run_of(directory: Path, sections: dict[str, dict[str, Any]]) -> Path:
    """Return the directory of a finished run of these settings."""
    config = directory / "settings.yaml"
    config.write_text(yaml.safe_dump(sections))
    out = directory / "run"
    ended = prism_alone("run", str(config), "--quiet", "--out", str(out))
    assert ended.code == 0, ended.err
    return out


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with the embedded oracle. Tests only read it."""
    return run_of(tmp_path_factory.mktemp("embedded"), EMBEDDED)


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with a model behind a real socket. Tests only read it."""
    with ModelServer() as server:
        return run_of(tmp_path_factory.mktemp("live"), {**LIVE, "llm": {"host": server.url}})
