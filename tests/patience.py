"""The longest time that a test waits for another thread or another process."""

import subprocess
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

HANG_S = 120.0
"""Only a hang takes this long, on any machine under any load. Less than the limit of pytest itself."""


def wait_until(
    is_so: Callable[[], object], process: subprocess.Popen[Any] | None = None, what: str = "", within_s: float = HANG_S
) -> None:
    """Wait until something is so, `what` in words; a process that ends before is an error."""
    give_up = monotonic() + within_s
    while not is_so():
        assert process is None or process.poll() is None, process.communicate()
        assert monotonic() < give_up, what
        sleep(0.01)
