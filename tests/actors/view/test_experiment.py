"""The local page on experiments, causes and networks."""

from pathlib import Path

import anyio
import httpx
import numpy as np
import pytest
from anyio import create_task_group, to_thread, wait_all_tasks_blocked

from actors.studies.causes.record import keep
from actors.view import network
from actors.view.network import drawn_ties
from prism.social.ties.graph import FollowGraph
from tests.actors.studies.causes.test_kept import LIKES
from tests.actors.studies.experiments.files import CONDITIONS, SEEDS, write_cell, write_experiment_directory
from tests.actors.view.asking import HOST, Asked, copied
from tests.patience import HANG_S

SHORT, LONG = CONDITIONS


def test_cells_are_listed_with_their_states_and_again_as_they_end(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", done=3)
    asked = Asked(path)
    before, cells = asked.json("home"), asked.part("experiment")
    assert f"Cells: 3 done, {2 * SEEDS - 3} waiting." in cells
    assert cells.count("cell-done") == 3
    key = f"{0:04x}{4:016x}"
    write_cell(path / "cells" / key, likes=4)
    cells = asked.part("experiment")
    assert "Cells: 4 done" in cells
    assert f'href="#/run/{key}" id="cell-{key}" aria-label="{SHORT}, seed 4: done"' in cells
    assert asked.json("home")["version"] != before["version"]


def test_cells_are_listed_by_condition_and_seed_and_not_by_their_hashes(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", done=SEEDS + 1)
    for cell in (path / "cells").iterdir():
        (cell / "manifest.json").write_text("{}")
    asked = Asked(path)
    labels = [line.label for line in asked.lines()]
    assert asked.json(f"runs/{f'{1:04x}{1:016x}'}")["label"] == f"{LONG}, seed 1"
    assert labels == [*(f"{SHORT}, seed {seed}" for seed in range(1, SEEDS + 1)), f"{LONG}, seed 1"]


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: they read the disk."""


def test_causes_are_shown_as_in_the_report_and_by_agent_and_new_ones_too(embedded: Path, tmp_path: Path) -> None:
    run = copied(embedded, tmp_path, "own")
    asked = Asked(run, "own")
    before = asked.json("runs/own")["version"]
    assert "What made likes" not in asked.part("runs/own/sections")
    keep(run, LIKES)
    assert asked.json("runs/own")["version"] != before
    assert "What made likes" in asked.part("runs/own/sections")
    words = "likes: its presence from tick 0 on: +3, 7 without it"
    assert words in asked.part("runs/own/agent?agent=1&tick=20")
    assert words not in asked.part("runs/own/agent?agent=2&tick=20")


def test_requests_for_a_picture_that_is_being_drawn_keep_no_thread(tmp_path: Path, small_run: Path) -> None:
    copied(small_run, tmp_path, "run")
    asked = Asked(tmp_path, "run")
    given = list[httpx.Response]()

    async def ask(client: httpx.AsyncClient, path: str) -> None:
        given.append(await client.get(f"/api/{path}", timeout=HANG_S))

    async def all_of_them() -> None:
        to_thread.current_default_thread_limiter().total_tokens = 2
        async with (
            httpx.AsyncClient(transport=httpx.ASGITransport(asked.guard), base_url=HOST) as client,
            create_task_group() as tasks,
        ):
            with asked.read("run").network._lock, anyio.fail_after(HANG_S):  # so its people are not made
                for _ in range(4):
                    tasks.start_soon(ask, client, "runs/run/network")
                await wait_all_tasks_blocked()
                await ask(client, "home")
                assert len(given) == 1

    anyio.run(all_of_them)
    assert ({each.status_code for each in given}, len({each.text for each in given[1:]})) == ({200}, 1)


def test_lines_join_the_people_who_are_drawn_once_whoever_follows_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "DRAWN_MAX", 5)
    random = np.random.default_rng(3)
    ties = sorted({(int(one), int(other)) for one, other in random.integers(0, 9, (40, 2)) if one != other})
    tails, heads = np.array(ties).T
    people, first, second, counts, all_ties = drawn_ties(FollowGraph(9, tails, heads))
    assert (people.tolist(), all_ties) == ([0, 2, 4, 6, 8], len(ties))
    found = {(int(people[a]), int(people[b])): n for a, b, n in zip(first, second, counts.tolist(), strict=True)}
    drawn = [(min(tie), max(tie)) for tie in ties if {*tie} <= {*people.tolist()}]
    assert found == {pair: drawn.count(pair) for pair in drawn}
