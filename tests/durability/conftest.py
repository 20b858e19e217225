"""The command line in this process, and runs in the state that a crash leaves."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.durability.process_runs import SHARDED, Crashed, begun, crash, ended
from tests.plain import plain_text
from tests.standin import ModelServer, ServerSettings

TINY = plain_text("""
simulation: {ticks: 34, ticks_per_round: 12, seed: 5}
population: {size: 8, graph: {degree: 3}, posts_per_session: 0.5, ambiguity: 1.0, activity: {mean: 0.9, sigma: 0.1}}
feed: {size: 2}
run: {checkpoint_every_ticks: 8, sync: false, tick_s: 0.01}
""")
"""Eight people; checkpoints at ticks 24, 32 and 34. The last is taken away, so a crash seems to have come there."""

LIVE = """
oracle: {{backend: ollama, max_concurrency: 8}}
llm: {{host: "{host}", systemone: "off", timeout_s: 120.0}}
"""


@pytest.fixture(scope="session")
def crashed_embedded(tmp_path_factory: pytest.TempPathFactory) -> Crashed:
    return crash(tmp_path_factory.mktemp("embedded"), TINY)


@pytest.fixture(scope="session")
def server() -> Iterator[ModelServer]:
    """Return a server that answers differently every time."""
    with ModelServer(ServerSettings(slots=8, live=True)) as server:
        yield server


@pytest.fixture(scope="session")
def crashed_live(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> Crashed:
    return crash(tmp_path_factory.mktemp("live"), TINY + LIVE.format(host=server.url))


@pytest.fixture
def embedded(crashed_embedded: Crashed, tmp_path: Path) -> Path:
    """Return a copy of the crashed run of the embedded oracle, `run` in the working directory."""
    return _copy(crashed_embedded, tmp_path)


@pytest.fixture
def live(crashed_live: Crashed, tmp_path: Path) -> Path:
    """Return a copy of the crashed run of the live oracle, `run` in the working directory."""
    return _copy(crashed_live, tmp_path)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the run of `SHARDED` in one process; beside it is its configuration."""
    place = tmp_path_factory.mktemp("whole")
    (place / "config.yaml").write_text(SHARDED, encoding="utf-8")
    ended(begun("run", "config.yaml", "--out", "run", "-q", place=place))
    return place / "run"


def _copy(crashed: Crashed, tmp_path: Path) -> Path:
    return shutil.copytree(crashed.path, tmp_path / "run")
