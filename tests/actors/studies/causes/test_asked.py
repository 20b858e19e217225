"""The model of a run is asked about futures: as many questions as are allowed, each once, on a tape beside the run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.command import prism_alone
from tests.recorded import LIVE, content, make_run
from tests.standin import ModelServer

FEW = ("--of", "likes", "--by", "people", "--budget", "4", "--draws", "0", "--json")


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def run(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a short run with a model that is still there."""
    simulation = {**LIVE["simulation"], "rounds": 2}
    return make_run(tmp_path_factory.mktemp("asked"), {**LIVE, "simulation": simulation, "llm": {"host": server.url}})


def told(run: Path, ask: int) -> dict[str, Any]:
    """Return the result of a search in which so many questions may be asked."""
    ended = prism_alone("cause", str(run), *FEW, "--ask", str(ask))
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


@pytest.mark.slow
def test_so_many_questions_are_asked_once_and_a_second_search_finds_the_same_on_the_tape(
    run: Path, server: ModelServer
) -> None:
    before, calls = content(run), [len(server.calls)]
    searches = []
    for ask in (0, 6, 6, 9):
        searches.append(told(run, ask))
        calls.append(len(server.calls))
    counts = [(each["asked"], each["taped"]) for each in searches]
    assert counts == [(0, 0), (6, 0), (0, 6), (3, 6)]
    at_start = calls[3] - calls[2]  # the check of the server
    assert [now - then - at_start for then, now in pairwise(calls[1:])] == [6, 0, 3]
    same = ("asked", "taped")
    first, second = ({key: value for key, value in each.items() if key not in same} for each in searches[1:3])
    assert first == second
    shutil.rmtree(run / "causes")  # where the command keeps what was found
    assert content(run) == before
    assert (run.parent / "run.cause.sqlite").is_file()


def test_a_server_that_is_down_is_one_line_and_its_own_exit_code(live: Path) -> None:
    before = content(live)
    ended = prism_alone("cause", str(live), *FEW, "--ask", "3")
    assert ended.code == 5
    assert ended.err.startswith("prism: no Ollama server answers at ")
    assert ended.err.count("\n") == 1
    assert content(live) == before
