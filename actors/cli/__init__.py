"""The command line, `prism`."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line. Its imports take some time; Ctrl-C in that time is not a crash."""
    try:
        from actors.cli.app import main as run  # noqa: PLC0415  # so that Ctrl-C is caught here
    except KeyboardInterrupt:
        sys.exit(130)
    run()
