"""A Ray cluster of several nodes, and what happens to runs in shards on it; a script for a namespace of its own.

    python -m tests.durability.shards_cluster SCENE

`run` and `config.yaml` are in its directory. It prints what it has found as JSON.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.actors.studies.experiments.cluster import HEAD, node
from tests.durability.process_runs import STARTS_S, begun, events, wait_for
from tests.patience import wait_until

Node = subprocess.Popen[bytes]
Found = dict[str, object]
HERE = Path()
RUN = HERE / "run"
GONE_S = 30.0


def main(scene: str) -> None:
    found = SCENES[scene]()
    sys.stdout.write(json.dumps(found) + "\n")


def a_node_is_killed() -> Found:
    """Kill the node of a shard: the others are enough."""
    _, *workers = nodes = [head(), worker(), worker()]
    process = run_in(3)
    homes = {*shards_now().values()}
    victim = next(each for each in workers if homes & processes_of(each))
    killed(victim)
    said, seconds = end_of(process, 0)
    is_spread = max(len(homes & processes_of(each)) for each in nodes) == 1
    return {"is_spread": is_spread, "lost": len(events(RUN, "shard_lost")), "said": said, "seconds": seconds}


def the_cluster_is_killed() -> Found:
    """Kill all nodes, the head's last; then start another cluster, and resume in another number of shards."""
    nodes = [head(), worker()]
    process = run_in(2)
    for each in reversed(nodes):
        killed(each)
    said, seconds = end_of(process, 1)
    again, _ = end_of(begun("resume", RUN, "-q", place=HERE, cluster=HEAD), 2)
    nodes = [head(), worker(), worker()]
    end_of(resumed_in(3), 0)
    return {"said": said, "seconds": seconds, "again": again}


def there_is_little_room() -> Found:
    """Ask for more shards than there is room for; stop in both ways, ask again, and add a node."""
    _, times, seconds = head(), 1, list[float]()
    process = run_in(3, waits_for="shards_awaited", count=times)
    for kind, code in ((signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)):
        process.send_signal(kind)
        said, took = end_of(process, code)
        seconds.append(took)
        wait_until(lambda: not shards_now(), within_s=GONE_S)
        process, times = resumed_in(3), times + 1
        waiting = wait_for(RUN, "shards_awaited", process, times)[-1]
    _ = worker()
    end_of(process, 0)
    return {"said": said, "seconds": max(seconds), "begun": waiting["begun"], "of": waiting["of"]}


SCENES = {each.__name__: each for each in (a_node_is_killed, the_cluster_is_killed, there_is_little_room)}


def head(cpus: int = 1) -> Node:
    """Start the first node, with so many processors."""
    host, port = HEAD.split(":")
    options = ("--port", port, "--include-dashboard", "false", "--temp-dir", f"{os.environ['TMPDIR']}/r")
    return node("--head", *options, "--num-cpus", str(cpus), "--node-ip-address", host)


def worker(cpus: int = 1) -> Node:
    return node("--address", HEAD, "--num-cpus", str(cpus), "--node-ip-address", HEAD.partition(":")[0])


def run_in(
    shards: int, config: Path = HERE / "config.yaml", waits_for: str = "checkpoint_written", count: int = 2
) -> subprocess.Popen[str]:
    """Begin the run, and wait until its log has so many events of a name."""
    setting = f"run.shards={shards}"
    process = begun("run", config, "--out", RUN, "-q", "--set", setting, place=HERE, cluster=HEAD)
    wait_for(RUN, waits_for, process, count)
    return process


def resumed_in(shards: int) -> subprocess.Popen[str]:
    return begun("resume", RUN, "-q", "--set", f"run.shards={shards}", place=HERE, cluster=HEAD)


def end_of(process: subprocess.Popen[str], code: int) -> tuple[str, float]:
    """Wait for a command that ends with a code; return its last line, and the seconds."""
    since = time.monotonic()
    said, _ = process.communicate(timeout=STARTS_S)
    assert process.returncode == code, (process.returncode, said)
    return (said.splitlines() or [""])[-1], time.monotonic() - since


def killed(victim: Node) -> None:
    """Kill all processes of a node, as when its machine loses power."""
    for each in processes_of(victim):
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    victim.wait()


def processes_of(victim: Node) -> set[int]:
    found = {victim.pid}
    with suppress(psutil.NoSuchProcess):
        found |= {each.pid for each in psutil.Process(victim.pid).children(recursive=True)}
    return found


def shards_now() -> dict[int, int]:
    """Return `{process: its parent}` of the processes of shards; a node is one parent."""
    found = [each.info for each in psutil.process_iter(["pid", "ppid", "name", "status"])]
    shards = [each for each in found if str(each["name"]).startswith("ray::_ShardAct")]
    return {each["pid"]: each["ppid"] for each in shards if each["status"] != psutil.STATUS_ZOMBIE}


if __name__ == "__main__":
    main(*sys.argv[1:])
