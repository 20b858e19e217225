"""Shards in processes of Ray: one is killed, then the whole run, and it goes on in another number of shards."""

import os
import signal
import socket
import subprocess
import time
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from actors.store.manifest import read_summary
from tests.durability.process_runs import SHARDED, STARTS_S, assert_same, begun, ended, events, wait_for
from tests.plain import plain_text
from tests.standin import Latency, ModelServer, ServerSettings

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("ray") is None, reason="needs ray")]


def in_two_shards(whole: Path, run: Path) -> subprocess.Popen[str]:
    """Return a process with the same run in two shards, once it has some checkpoints."""
    config = whole.parent / "config.yaml"
    process = begun("run", config, "--out", run, "-q", "--set", "run.shards=2", place=run.parent)
    wait_for(run, "checkpoint_written", process, 2)
    return process


def test_a_run_loses_a_shard_and_goes_on_by_itself(tmp_path: Path, whole: Path) -> None:
    run = tmp_path / "run"
    process = in_two_shards(whole, run)
    places = events(run, "shards_ready")[0]["places"]
    os.kill(int(places[0].rpartition(":")[2]), signal.SIGKILL)
    assert wait_for(run, "shard_lost", process)[0]["shard"] == 1
    ended(process)
    assert read_summary(run)["resumes"] == 1
    assert_same(run, whole)


def assert_private(process: subprocess.Popen[str], place: Path) -> None:
    """The processes of a run listen on this machine alone, and its cluster's files and token are the user's."""
    first = psutil.Process(process.pid)
    family = [first, *first.children(recursive=True)]
    listening = {
        ip_address(each.laddr.ip) for one in family for each in one.net_connections("inet") if each.status == "LISTEN"
    }
    assert listening
    assert all((getattr(each, "ipv4_mapped", None) or each).is_loopback for each in listening)
    tokens = {one.environ().get("RAY_AUTH_TOKEN", "").encode() for one in family} - {b""}
    assert len(tokens) == 1
    (own,) = place.iterdir()
    assert own.stat().st_mode & 0o077 == 0
    files = [each for each in own.rglob("*") if each.is_file()]
    assert files
    assert not any(token in each.read_bytes() for token in tokens for each in files)


def test_a_private_cluster_loses_its_engine_and_the_run_is_resumed_in_three_shards(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    with TemporaryDirectory(prefix="ray-", dir="/tmp") as place:  # sockets need short names
        monkeypatch.setenv("RAY_TMPDIR", place)
        process = in_two_shards(whole, run)
        assert_private(process, Path(place))
        process.kill()
        process.communicate()
        monkeypatch.undo()
    ended(begun("resume", run, "-q", "--set", "run.shards=3", place=tmp_path))
    assert_same(run, whole)


ASKING = """
simulation: {{rounds: 4, ticks_per_round: 24, seed: 5}}
population: {{size: 100, ambiguity: 0.3, deliberation_minutes: 2, activity: {{mean: 0.9, sigma: 0.1}}}}
oracle: {{backend: ollama, max_concurrency: 8, tape: record, tape_path: tape.sqlite}}
llm: {{host: "{host}", systemone: "off"}}
run: {{checkpoint_every_ticks: 12, activation: compiled}}
"""
"""Undecided people who deliberate, so that questions are open in checkpoints; a model answers by chat."""


def test_a_run_that_asks_a_model_loses_a_shard_and_is_the_run_of_its_tape_in_one_process(tmp_path: Path) -> None:
    with ModelServer(ServerSettings(latency=Latency(mean_s=0.03, p99_s=0.2))) as server:
        (tmp_path / "asking.yaml").write_text(plain_text(ASKING.format(host=server.url)), encoding="utf-8")
        process = begun("run", "asking.yaml", "--out", "run", "-q", "--set", "run.shards=3", place=tmp_path)
        wait_for(tmp_path / "run", "checkpoint_written", process, 2)
        places = events(tmp_path / "run", "shards_ready")[0]["places"]
        os.kill(int(places[1].rpartition(":")[2]), signal.SIGKILL)
        wait_for(tmp_path / "run", "shard_lost", process)
        ended(process)
        calls = len(server.calls)
        ended(begun("run", "asking.yaml", "--out", "whole", "-q", place=tmp_path))
    assert calls > 100
    assert all("sky" in str(each.body) for each in server.calls[calls:]), "the tape has all but the check"
    assert read_summary(tmp_path / "run")["resumes"] == 1
    assert_same(tmp_path / "run", tmp_path / "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait_for_a_cluster_that_says_nothing(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "config.yaml").write_text(SHARDED, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(STARTS_S)
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        words = "run", "config.yaml", "--out", "run", "-q", "--set", "run.shards=2"
        process = begun(*words, place=tmp_path, cluster=address)
        silent.accept()[0].close()  # PRISM looks whether somebody is there; then Ray connects, and waits
        time.sleep(4.0)
        process.send_signal(number)
        process.communicate(timeout=20.0)  # Ray itself would wait for minutes
        assert process.returncode in {128 + number, -number}
