"""The command line, in an empty directory."""

from tests.actors.cli.conftest import made, prism, small_run

__all__ = ["made", "prism", "small_run"]
