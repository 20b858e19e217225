"""The command line, in an empty directory that holds `small.yaml`, and a run of it."""

from tests.actors.cli.conftest import made, prism, small_run

__all__ = ["made", "prism", "small_run"]
