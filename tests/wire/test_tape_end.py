"""What a tape need not hold: answers to questions that were asked so late that no tick could use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.ollama_server import Latency, OllamaServer, Settings
from tests.wire.support import config, run

ASKS_TO_THE_END: dict[str, dict[str, Any]] = {
    "simulation": {"rounds": 1, "ticks_per_round": 24},
    "population": {"posts_per_session": 0.8},
    "feed": {"size": 5},
}


SHORT: dict[str, dict[str, Any]] = {"simulation": {"rounds": 1}, "population": {"posts_per_session": 0.8}}


async def test_a_replay_does_not_miss_what_the_recorded_run_did_not_wait_for(tmp_path: Path) -> None:
    with OllamaServer(Settings(latency=Latency(mean_s=0.05))) as server:
        recorded = await run(config(server.url, **ASKS_TO_THE_END, oracle={"tape": "record"}), tmp_path)
    tape = {"tape": "replay", "tape_path": str(tmp_path / "tape.sqlite")}
    slowly = config(server.url, **ASKS_TO_THE_END, oracle=tape, run={"tick_s": 0.02})
    replayed = await run(slowly, tmp_path)
    assert replayed.digest == recorded.digest


async def test_a_tape_that_was_recorded_twice_replays_the_second_run(tmp_path: Path) -> None:
    tape = {"tape": "record", "tape_path": str(tmp_path / "tape.sqlite")}
    with OllamaServer(Settings(latency=Latency(mean_s=0.1))) as server:
        hasty = {**tape, "deadline_s": 0.15, "max_concurrency": 4}
        first = await run(config(server.url, **SHORT, oracle=hasty), tmp_path)
        server.settings = Settings()
        second = await run(config(server.url, **SHORT, oracle=tape), tmp_path)
    replayed = await run(config(server.url, **SHORT, oracle={**tape, "tape": "replay"}), tmp_path)
    assert first.fallbacks_by_reason.keys() == {"deadline"}
    assert replayed.digest == second.digest
