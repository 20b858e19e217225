"""A line on standard error when a process ends within."""

from __future__ import annotations

import subprocess
import sys

from tests.catalogue import catalogue

SCRIPT = """
import os
from actors.runs.last_words import last_words
with last_words("goes on with `prism resume`"):
    {}
"""


@catalogue(
    ("ends", "said"),
    [
        ("os._exit(1)", "prism: goes on with `prism resume`\n"),
        ("os.kill(os.getpid(), 9)", "prism: goes on with `prism resume`\n"),
        ("pass", ""),
        ("raise SystemExit", ""),
    ],
)
def test_they_are_said_only_where_the_process_ends_within(ends: str, said: str) -> None:
    command = [sys.executable, "-c", SCRIPT.format(ends)]
    assert subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stderr == said
