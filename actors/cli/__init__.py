"""The command line: `prism run | validate | init | doctor`."""

from actors.cli.app import main

__all__ = ["main"]
