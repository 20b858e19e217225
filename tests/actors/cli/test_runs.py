"""`prism runs`: the runs there are, and how they stand."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from actors.store.journal import JOURNAL
from actors.store.lock import PHASE, locked
from actors.store.manifest import SUMMARY
from tests.actors.cli.conftest import Made
from tests.command import Prism
from tests.standin import ModelServer

TITLES = ["run", "domain", "state", "resumable", "ticks", "of", "agents", "digest", "note"]


@pytest.fixture
def five(made: Made, small_run: Path, tmp_path: Path) -> Path:
    """A run in each state, but the running one is only about to be."""
    for name in ("crashed", "damaged", "done", "running"):
        shutil.copytree(small_run, tmp_path / "runs" / name)
    stop = ("--set", "oracle.max_calls=3", "--set", "oracle.when_spent=stop")
    shutil.copytree(made(*stop, code=4), tmp_path / "runs" / "stopped")
    (tmp_path / "runs" / "crashed" / SUMMARY).unlink()
    (tmp_path / "runs" / "damaged" / JOURNAL).write_bytes(b"PRISMJ")
    return tmp_path / "runs"


def rows(out: str) -> dict[str, list[str]]:
    """`{run: its cells from the state on}`; the domain of a damaged run is empty."""
    found = [line.split() for line in out.splitlines()[1:]]
    return {cells[0]: cells[1 if cells[1] == "damaged" else 2 :] for cells in found}


def test_each_state_is_told(five: Path, prism: Prism) -> None:
    with locked(five / "running"):
        ended = prism("runs")
    assert ended.code == 0
    assert ended.out.splitlines()[0].split() == TITLES
    told = rows(ended.out)
    assert {run: cells[:2] for run, cells in told.items()} == {
        "runs/crashed": ["crashed", "yes"],
        "runs/damaged": ["damaged", "no"],
        "runs/done": ["done", "--ticks"],
        "runs/running": ["starting", "no"],
        "runs/stopped": ["stopped", "yes"],
    }
    assert told["runs/done"][2:5] == ["72", "72", "60"]
    assert told["runs/running"][6:8] == ["process", str(os.getpid())]
    assert int(told["runs/stopped"][2]) < 72
    assert "by spend_cap" in ended.out


ECONOMY = """
simulation: {{domain: economy, rounds: 3, ticks_per_round: 1, seed: 5, tick_seconds: 7889400}}
oracle: {{backend: ollama, when_spent: stop}}
llm: {{host: "{host}", num_ctx: 4096, timeout_s: 120.0}}
"""


def test_an_economy_that_its_spend_cap_has_ended_is_stopped_until_it_goes_on(prism: Prism, tmp_path: Path) -> None:
    with ModelServer() as server:
        (tmp_path / "economy.yaml").write_text(ECONOMY.format(host=server.url))
        assert prism("run", "economy.yaml", "-q", "--set", "oracle.max_calls=20", "--out", "runs/economy").code == 4
        state, resumable, ticks, *note = rows(prism("runs").out)["runs/economy"]
        assert (state, resumable, note[-2:]) == ("stopped", "yes", ["by", "spend_cap"])
        assert 0 < int(ticks) < 3
        assert prism("verify", "runs/economy").code == 0
        more = ("--accept-settings", "--set", "oracle.max_calls=1000")
        assert prism("resume", "runs/economy", "-q", *more).code == 0
    assert rows(prism("runs").out)["runs/economy"][:3] == ["done", "--ticks", "3"]


def test_a_run_at_work_shows_its_phase_how_long_it_lasts_and_why_and_a_directory_has_its_name(
    five: Path, prism: Prism
) -> None:
    with locked((five / "running").rename(five / "a[red]:smile:")):
        (five / "a[red]:smile:" / PHASE).write_text(
            json.dumps({"phase": "waiting_for_oracle", "since": time.time() + 0.1, "reason": "timeout"})
        )
        told = prism("runs", "runs/a[red]:smile:").out
    assert rows(told)["runs/a[red]:smile:"][:2] == ["waiting_for_oracle", "no"]
    assert "  for 0 s (timeout), process " in told
