"""The process of a `ModelServerProcess`. The server for people is `prism testing serve`."""

from __future__ import annotations

import sys

from actors.testing.errors import ModelServerError
from actors.testing.process import serve

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("this module is for ModelServerProcess; from a shell use: prism testing serve")
    try:
        serve(sys.argv[1])
    except ModelServerError as error:
        sys.exit(f"actors.testing: {error}")
