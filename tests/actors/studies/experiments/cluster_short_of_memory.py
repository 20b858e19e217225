"""Run an experiment on a Ray cluster whose memory monitor finds too much memory in use, whatever runs."""

from __future__ import annotations

import json
import sys

from tests.actors.studies.experiments.cluster import driver


def main() -> None:
    """Run it, and write how it ended."""
    process = driver("out", "--jobs", "1", on="ray")
    said = process.communicate(timeout=200)[1]
    sys.stdout.write(json.dumps({"code": str(process.returncode), "said": said}) + "\n")


if __name__ == "__main__":
    main()
