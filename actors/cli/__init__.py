"""The command line, `prism`."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line. What it needs takes half a second to import; Ctrl-C in that time is no crash."""
    try:
        from actors.cli.app import main as run  # noqa: PLC0415  # so that Ctrl-C is caught here
    except KeyboardInterrupt:
        sys.exit(130)
    run()
