"""The command line, in an empty directory that holds `small.yaml`."""

from tests.actors.cli.conftest import made, prism

__all__ = ["made", "prism"]
