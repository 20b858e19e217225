"""A line on standard error when a process ends within."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import os
from actors.runs.ray_shards import last_words
with last_words("goes on with `prism resume`"):
    {}
"""


def test_they_are_said_only_where_the_process_ends_within() -> None:
    for ends, said in (("os.kill(os.getpid(), 9)", "prism: goes on with `prism resume`\n"), ("raise SystemExit", "")):
        command = [sys.executable, "-c", SCRIPT.format(ends)]
        assert subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stderr == said
