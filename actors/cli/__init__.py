"""The command line, `prism`."""

import gc
import os
import signal
import sys

__all__ = ["main"]

GC_THRESHOLDS = 50_000, 20, 50
"""Imports and kernels make 300,000 objects that stay. Python's own thresholds (700, 10, 10) examine them all again and
again, which takes a tenth of a short command."""


def main() -> None:
    """Run the command line. Its imports take some time; Ctrl-C in that time is not a crash.

    A script's background jobs inherit a SIGINT that is ignored. Every command promises that SIGINT ends it, so it is
    no longer ignored here.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(*GC_THRESHOLDS)
    # Several threads take ten times as long on matrices of our sizes, and sum in another order on each machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from actors.cli.app import main as run  # noqa: PLC0415  # so that Ctrl-C is caught here
    except KeyboardInterrupt:
        sys.exit(130)
    run()
