"""Causes on a Ray cluster of two nodes, and without one; a script for a namespace of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.actors.studies.experiments.cluster import HEAD, started_nodes

FEW = ("--of", "likes", "--budget", "40", "--draws", "2", "--top", "3", "--json", "-")


def told(*options: str) -> str:
    """Return what the command prints about the run `run` of this directory."""
    command = [sys.executable, "-m", "actors.cli", "cause", "run", *FEW, *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def main() -> None:
    """Say what made an outcome, in this process and on the cluster."""
    head, second = started_nodes(os.environ["TMPDIR"])
    found = {"here": told(), "there": told("--on", HEAD)}
    sys.stdout.write(json.dumps(found) + "\n")
    second.terminate()
    head.terminate()


if __name__ == "__main__":
    main()
