"""The server that forks the processes of this one: it has imported what they need, so they work at once."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running
from multiprocessing.util import get_temp_dir

from actors.core.machine import safe_path

SOCKET_PLACE_BYTES_MAX, SHORT_PLACE = 75, "/tmp"  # noqa: S108  # the library makes a private directory in it
"""The longest directory for temporary files in which a socket can have a name, and the one that is taken instead."""


def forkserver(*modules: str) -> ForkServerContext:
    """Return the context of processes forked from a server, which is begun, with these modules, unless it runs."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    temporary = tempfile.gettempdir()
    if len(os.fsencode(temporary)) > SOCKET_PLACE_BYTES_MAX:
        tempfile.tempdir = SHORT_PLACE
    try:
        get_temp_dir()  # the library makes it once, and puts the server's socket there
    finally:
        tempfile.tempdir = temporary
    with safe_path():
        ensure_running()
    return context
