"""The processors of this machine, the packages that it lacks, and the search path of the Pythons that PRISM starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "PYTHONSAFEPATH"


@contextmanager
def safe_path() -> Iterator[None]:
    """Let no Python that is started in the block import from the working directory, which may be a stranger's."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def not_installed(what: str, extra: str) -> str:
    """Return the line on a missing package: what uses it, and the extra that has it."""
    return (
        f"{what}, not installed here; to get it in a clone of the repository: make extras; "
        f"elsewhere: pip install 'prism-sim[{extra}]'"
    )
