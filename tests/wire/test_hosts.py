"""Whole runs on several servers over real sockets: shared out, with one gone, with one absent, and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.runtime.simulation import Simulation
from tests.command import Ended, Prism, run_prism
from tests.standin import Latency, ModelServer, ServerSettings
from tests.wire.support import config, run

SLOW = ServerSettings(latency=Latency(mean_s=0.002))
ABSENT = "http://127.0.0.1:9"


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ollama", "openai"])
async def test_servers_that_answer_alike_give_the_run_of_one_and_share_its_calls(backend: str, tmp_path: Path) -> None:
    oracle = {"backend": backend}
    with ModelServer(SLOW) as first, ModelServer(SLOW) as second:
        alone = await run(config(first.url, oracle=oracle), tmp_path)
        before = len(first.calls)
        hosts = {"hosts": [first.url, second.url]}
        spread = await run(config("", oracle=oracle, llm={"host": "unused", **hosts}), tmp_path)
        shares = len(first.calls) - before, len(second.calls)
    assert spread.digest == alone.digest
    assert spread.oracle_calls == alone.oracle_calls > 100
    assert spread.fallback_share == 0.0
    assert 0.6 < shares[1] / shares[0] < 1.7


@pytest.mark.slow
async def test_a_server_that_goes_in_mid_run_is_no_outage(tmp_path: Path) -> None:
    with ModelServer(SLOW) as steady, ModelServer(SLOW) as gone:
        undisturbed = await run(config(steady.url), tmp_path)
        calls_before = len(steady.calls)
        seen: list[tuple[bool, ...]] = []

        def leave(simulation: Simulation) -> None:
            if len(gone.calls) > 50 and not seen:
                gone.stop()
            if gone_for(simulation):
                seen.append(tuple(host.is_up for host in simulation.oracle.oracle.hosts()))  # type: ignore[attr-defined]

        def gone_for(simulation: Simulation) -> bool:
            return simulation.oracle.oracle.hosts()[1].failures > 0  # type: ignore[attr-defined, no-any-return]

        llm = {"hosts": [steady.url, gone.url]}
        summary = await run(config("", llm={"host": "unused", **llm}), tmp_path, on_tick=leave)
        assert len(steady.calls) > calls_before
    assert (True, False) in seen
    assert summary.digest == undisturbed.digest
    assert summary.fallbacks_by_reason == {}
    assert summary.status == "done"


@pytest.fixture
def prism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prism:
    """Return the command line in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    def command(*arguments: str) -> Ended:
        (tmp_path / "p.yaml").write_text("population: {size: 20}\noracle: {backend: ollama}\n")
        return run_prism(monkeypatch, capsys, *arguments)

    return command


def test_doctor_names_every_host_and_says_how_many_are_there(prism: Prism) -> None:
    with ModelServer() as server:
        ended = prism("doctor", "p.yaml", "--set", f"llm.hosts=[{server.url}, {ABSENT}]")
    assert ended.code == 0, ended.err
    assert f"{server.url}, {ABSENT}" in " ".join(ended.out.split())
    assert "1 of 2 hosts are there" in " ".join(ended.out.split())


def test_a_run_begins_although_one_host_is_absent(prism: Prism) -> None:
    with ModelServer() as server:
        ended = prism("run", "p.yaml", "--ticks", "30", "--set", f"llm.hosts=[{ABSENT}, {server.url}]")
    assert ended.code == 0, ended.err
    assert "1 of 2 hosts are there" in ended.err + ended.out


def test_hosts_that_are_all_absent_are_one_line_and_exit_code_5(prism: Prism) -> None:
    ended = prism("run", "p.yaml", "--set", f"llm.hosts=[{ABSENT}, http://127.0.0.1:10]")
    assert ended.code == 5
    assert ended.err.splitlines()[-1].startswith("prism: no Ollama server answers at http://127.0.0.1:")


def test_a_host_stands_only_once(prism: Prism) -> None:
    ended = prism("validate", "p.yaml", "--set", "llm.hosts=[http://a, http://a]")
    assert ended.code == 3
    assert "llm.hosts: expected addresses that differ, got 'http://a' more than once" in ended.err
