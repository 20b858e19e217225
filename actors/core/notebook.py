"""The notebook that a process may be the kernel of."""

from __future__ import annotations

import sys


def in_notebook() -> bool:
    """Return whether this process is a notebook's kernel. It imports nothing: a kernel has IPython already."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")
