"""A Ray cluster of two nodes in two networks, whose cells ask a model through a gateway; a script for a namespace.

The model's server listens at the loopback device of the first network, so a cell on the second node can reach it by
the gateway alone.
"""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.actors.studies.experiments.cluster import driver, ended, running, started_nodes
from tests.patience import wait_until
from tests.standin import Latency, ModelServer, ServerSettings
from tests.wire.gateways import planned

HERE, THERE = "10.77.0.1", "10.77.0.2"
HEAD = f"{HERE}:6399"
PLACES = 3
CALLS_MAX = 40


def second_network() -> list[str]:
    """Connect a second network with this one, and return the command that runs something there."""
    holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
    wait_until(lambda: Path(f"/proc/{holder.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink())
    inside = ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
    for command in (
        f"ip link add here type veth peer name there netns {holder.pid}",
        f"ip addr add {HERE}/24 dev here",
        "ip link set here up",
    ):
        subprocess.run(command.split(), check=True)
    for command in ("ip link set lo up", f"ip addr add {THERE}/24 dev there", "ip link set there up"):
        subprocess.run([*inside, *command.split()], check=True)
    return inside


def written(name: str, url: str, oracle: str) -> str:
    """Write an experiment, and return the name of its file."""
    planned(Path(), url, oracle, backend="openai").path.rename(name)
    return name


def asked(server: ModelServer) -> Counter[str]:
    """Return how often each question was put to the server so far, checks left out."""
    return Counter(repr((each.request_id.split("-")[:3], each.body)) for each in server.calls if each.request_id)


def noted(seen: dict[int, int]) -> list[int]:
    """Add the processes that run a cell now to those seen so far, and return the nodes of all."""
    seen |= running()
    return list(seen.values())


def kill_one() -> bool:
    """Kill a process that runs a cell now, and return whether there was one."""
    process = min(running(), default=None)
    if process is not None:
        os.kill(process, signal.SIGKILL)
    return process is not None


def main() -> None:
    """Run an experiment on processes, on the cluster while a process is killed, and where a node has no way."""
    started_nodes(os.environ["TMPDIR"], HEAD, THERE, second_network())
    found: dict[str, str] = {}
    with ModelServer(ServerSettings(slots=64, latency=Latency(mean_s=0.03))) as server:
        limits = f"max_concurrency: {PLACES}"
        there = f"{limits}, address: {HERE}"
        ended(driver("here", "--jobs", "2", on="processes", file=written("e.yaml", server.url, f"{{{limits}}}")))
        alone, before = asked(server), server.statistics().calls

        struck = driver("struck", on=HEAD, file=written("struck.yaml", server.url, f"{{{there}}}"))
        seen: dict[int, int] = {}
        wait_until(lambda: len(set(noted(seen))) == 2 and kill_one())
        found["nodes"] = str(len(set(seen.values())))
        found["struck"] = ended(struck)
        found["asked_again"] = str(sum((asked(server) - alone - alone).values()))
        found["peak"] = str(server.statistics().peak_in_flight)

        before = server.statistics().calls
        budget = f"{{{there}, max_calls: {CALLS_MAX}}}"
        found["spent"] = ended(driver("spent", on=HEAD, file=written("spent.yaml", server.url, budget)), 2)
        found["spent_calls"] = str(server.statistics().calls - before)

        found["no_way"] = ended(driver("no_way", on=HEAD, file=written("no_way.yaml", server.url, f"{{{limits}}}")), 2)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
