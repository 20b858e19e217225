"""A server that is killed in mid-run and comes back, and servers that cannot be used from the start."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from actors.oracle.circuit_breaker import BreakerState
from actors.runtime.simulation import Simulation
from tests.command import Prism
from tests.patience import HANG_S
from tests.standin import ModelServer, ModelServerProcess, ServerSettings
from tests.wire.support import FALLS_BACK, config, run

OUTAGE_S = 4.5
"""Restarting takes half a second more, so the first probe, five seconds after the breaker opens, finds a server."""
ENOUGH = 50
"""Decisions by the model, before the outage and after it."""


class Outage:
    """Kills the server once the model has decided often enough, restarts it, and ends the run once that is so again."""

    def __init__(self, server: ModelServerProcess) -> None:
        self.seen: list[BreakerState] = [BreakerState.CLOSED]
        self.is_due, self.is_over = anyio.Event(), False
        self._server = server
        self._before = self._back = 0

    async def happen(self) -> None:
        await self.is_due.wait()
        await to_thread.run_sync(self._server.stop)
        await anyio.sleep(OUTAGE_S)
        await to_thread.run_sync(self._server.start)
        self.is_over = True

    def watch(self, simulation: Simulation) -> None:
        decided = simulation.counters.decisions_by_source()["llm"]
        state = simulation.oracle.admission.breaker.state
        if state is not self.seen[-1]:
            self.seen.append(state)
        if decided >= ENOUGH:
            self.is_due.set()
        if not (self.is_over and state is BreakerState.CLOSED):
            self._back = decided
        elif decided >= self._back + ENOUGH:
            simulation.stop()


@pytest.mark.slow
async def test_a_run_outlives_a_server_that_is_killed_and_restarted(tmp_path: Path) -> None:
    endless = {"rounds": 10_000, "ticks_per_round": 12}
    with ModelServerProcess() as server:
        chosen = config(server.url, simulation=endless, run={"tick_s": 0.05}, feed={"size": 5}, oracle=FALLS_BACK)
        outage = Outage(server)
        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(outage.happen)
                summary = await run(chosen, tmp_path, on_tick=outage.watch)
    assert outage.seen[:2] == [BreakerState.CLOSED, BreakerState.OPEN]
    assert outage.seen[-1] is BreakerState.CLOSED
    fallbacks = Counter(summary.fallbacks_by_reason)
    assert fallbacks.keys() == {"connection_error", "breaker_open"}
    assert fallbacks["connection_error"] >= 10, "half of a window of 20"
    assert summary.decisions_by_source["llm"] >= 2 * ENOUGH


@contextmanager
def closed_port() -> Iterator[str]:
    """An address at which nothing listens, and nobody else can meanwhile: the port is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_server_that_is_not_there_is_one_line_and_leaves_no_directory(prism: Prism, tmp_path: Path) -> None:
    with closed_port() as url:
        ollama, openai = prism(url), prism(url, oracle={"backend": "openai"})
    assert ollama == (
        5,
        "",
        f"prism: no Ollama server answers at {url}; start it with `ollama serve`, or set llm.host to where it runs\n",
    )
    assert openai == (
        5,
        "",
        f"prism: no server answers at {url}; start it, or set llm.host to where it runs\n",
    )
    assert not (tmp_path / "run").exists()


def test_an_unknown_model_is_one_line_with_those_that_exist(prism: Prism, tmp_path: Path) -> None:
    with ModelServer(ServerSettings(models=("llama3.2", "qwen3:8b"))) as server:
        line = (
            f"prism: the Ollama server at {server.url} has no model 'llama4': it has llama3.2:latest, qwen3:8b; "
            "get it with `ollama pull llama4`, or set llm.model\n"
        )
        assert prism(server.url, llm={"model": "llama4"}) == (5, "", line)
    assert not (tmp_path / "run").exists()


def test_a_key_that_is_refused_is_one_line_without_the_key(
    prism: Prism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(ServerSettings(key="right")) as server:
        assert prism(server.url, oracle={"backend": "openai"}) == (
            5,
            "",
            f"prism: {server.url} asks for a key; set it in $PRISM_LLM_API_KEY\n",
        )
        monkeypatch.setenv("PRISM_LLM_API_KEY", "sesame-93")
        assert prism(server.url, oracle={"backend": "openai"}) == (
            5,
            "",
            f"prism: {server.url} refuses the key in $PRISM_LLM_API_KEY; set another one\n",
        )
    assert not (tmp_path / "run").exists()
