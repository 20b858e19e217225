"""A Ray cluster of two nodes on the loopback device, and what happens to an experiment on it; a script for a namespace.

`unshare` gives it a network with nothing but loopback, since Ray replaces 127.0.0.1 by an address of the machine where
there is one; and its own process numbers, so that all of Ray's processes end with the script.
"""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.command import begin
from tests.patience import wait_until

HEAD = "127.0.0.1:6399"
CLIENT_PORT = 10001
STARTS_MAX = 4
NAMESPACE = ("unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
PLAIN = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_worker_niceness": "0",
    "RAY_num_workers_soft_limit": "8",
}
STORE = ("--object-store-memory", "80000000", "--disable-usage-stats", "--block")


def why_not(*modules: str) -> str:
    """Return why no such cluster is started here, with these modules; empty if it is."""
    if not os.environ.get("PRISM_TEST_CLUSTER"):
        return "whole clusters take ten minutes: `make test-cluster`"
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return "needs unshare and ip"
    tried = subprocess.run([*NAMESPACE, "ip", "link", "set", "lo", "up"], capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"needs a network namespace: {tried.stderr.strip()}"
    missing = [each for each in modules if find_spec(each) is None]
    return f"needs {' and '.join(missing)}" if missing else ""


def in_namespace(directory: Path, module: str = "tests.actors.studies.experiments.cluster") -> dict[str, Any]:
    """Run a script in a namespace and in a directory with the experiment `e.yaml`, and return what it has found."""
    here = os.environ | PLAIN | {"TMPDIR": str(directory), "HOME": str(directory)}
    script = f"ip link set lo up && exec {sys.executable} -m {module}"
    ended = subprocess.run(
        [*NAMESPACE, "sh", "-c", script],
        cwd=directory,
        env=here,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def node(*options: str) -> subprocess.Popen[bytes]:
    """Start a node, and wait until it is there. Ray gives up one that begins slowly, as on a busy machine."""
    command = [str(Path(sys.executable).with_name("ray")), "start", *options, *STORE]
    said = Path("node.txt")
    for _ in range(STARTS_MAX):
        with said.open("wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        wait_until(partial(_has_begun_or_ended, process, said))
        if process.poll() is None:
            return process
    raise AssertionError(said.read_text()[-2000:])


def _has_begun_or_ended(process: subprocess.Popen[bytes], said: Path) -> bool:
    return process.poll() is not None or b"Ray runtime started" in said.read_bytes()


def driver(out: str, *options: str, on: str = HEAD, file: str = "e.yaml") -> subprocess.Popen[str]:
    """Start the command on the cluster."""
    return begin("experiment", file, "--out", out, "--on", on, *options, cwd=Path.cwd(), stdout=subprocess.DEVNULL)


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    """Wait for a command, and return what it has said."""
    said = process.communicate(timeout=200)[1]
    assert process.returncode == code, said
    return said


def running() -> dict[int, int]:
    """Return `{process: the process of its node}` of those that run a cell now, by the title that Ray gives them."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, KeyError):
            if (path / "cmdline").read_bytes().startswith(b"ray::_run_cell"):
                found[int(path.name)] = int(_status(path / "status")["PPid"])
    return found


def _status(path: Path) -> dict[str, str]:
    return dict(line.split(":\t", 1) for line in path.read_text().splitlines() if ":\t" in line)


def done(out: str) -> int:
    """Return the number of cells whose files have arrived."""
    return len(list(Path(out, "cells").glob("*/summary.json")))


def raylets_of(started: subprocess.Popen[bytes]) -> list[int]:
    """Return the process that is the node, once it is there."""
    found = []
    for path in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            fields = _status(path)
            if fields["Name"] == "raylet" and int(fields["PPid"]) == started.pid:
                found.append(int(path.parent.name))
    return found


def started_nodes(directory: str) -> tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]:
    """Start a head and a second node, each with one processor, and wait until both are there.

    The head serves Ray's client where its package is installed: without it, Ray refuses to begin with that port.
    """
    import ray

    host, port = HEAD.split(":")
    own = ("--num-cpus", "1", "--node-ip-address")
    begun = ("--head", "--port", port, "--include-dashboard", "false", "--temp-dir", f"{directory}/r")
    for_clients = ("--ray-client-server-port", str(CLIENT_PORT)) if find_spec("grpc") is not None else ()
    head = node(*begun, *for_clients, *own, host)
    second = node("--address", HEAD, *own, host)
    for _ in range(10):
        with suppress(ConnectionError, RuntimeError):
            ray.init(HEAD, log_to_driver=False, logging_level=logging.ERROR)
            break
        time.sleep(1)
    wait_until(lambda: sum(each["Alive"] for each in ray.nodes()) == 2)
    ray.shutdown()
    return head, second


def main() -> None:
    """Run an experiment while a process, a node and the command are killed; and by Ray's client."""
    head, second = started_nodes(os.environ["TMPDIR"])
    struck = driver("struck")
    wait_until(lambda: len(running()) == 2)
    found: dict[str, str] = {"nodes": str(len(set(running().values())))}
    os.kill(min(running()), signal.SIGKILL)
    wait_until(lambda: done("struck") >= 3 and running())
    os.kill(raylets_of(second)[0], signal.SIGKILL)
    found["done_at_loss"] = str(done("struck"))
    found["struck"] = ended(struck)

    killed = driver("killed")
    wait_until(lambda: done("killed") >= 1 and running())
    killed.kill()
    killed.communicate()
    wait_until(lambda: not running())
    found["done_at_kill"] = str(done("killed"))
    found["again"] = ended(driver("killed"))

    client = driver("client", on=f"ray://127.0.0.1:{CLIENT_PORT}")
    wait_until(lambda: done("client") >= 1 and running())
    os.kill(min(running()), signal.SIGKILL)
    found["client"] = ended(client)
    found["no_client"] = ended(driver("none", on="ray://127.0.0.1:9"), 2)
    sys.stdout.write(json.dumps(found) + "\n")
    head.terminate()


if __name__ == "__main__":
    main()
