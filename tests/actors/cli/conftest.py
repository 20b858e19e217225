"""The real command line, run in this process and in others."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.command import Prism, prism_alone
from tests.durability.test_full_disk import small_disk
from tests.plain import plain_text

__all__ = ["made", "prism", "small_disk"]

Made = Callable[..., Path]

SMALL = plain_text("""
simulation: {rounds: 3, ticks_per_round: 24, seed: 5}
population: {size: 60, activity: {mean: 0.9, sigma: 0.1}}
""")

ECONOMY = """
simulation: {domain: economy, rounds: 16, ticks_per_round: 1, tick_seconds: 7889400}
population: {deliberation_minutes: 0}
"""


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let a task read files: a command is alone in its process, so it holds up nothing else."""


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return a function that returns a run of `SMALL` with these options, made once. Tests use copies of it."""

    @cache
    def make(*options: str, code: int = 0) -> Path:
        place = tmp_path_factory.mktemp("made")
        (place / "small.yaml").write_text(SMALL)
        ended = prism_alone("run", str(place / "small.yaml"), "-q", "--out", str(place / "run"), *options)
        assert ended.code == code, ended.err
        return place / "run"

    return make


@pytest.fixture
def prism(prism: Prism) -> Prism:
    """Return a function that runs the command line in an empty directory that holds `small.yaml`."""
    Path("small.yaml").write_text(SMALL)
    return prism
