"""The process of a `ModelServerProcess`."""

from __future__ import annotations

import sys

from actors.testing.settings import ModelServerError
from tests.standin.process import serve

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("this module is for ModelServerProcess; from a shell use: prism testing serve")
    try:
        serve(sys.argv[1])
    except ModelServerError as error:
        sys.exit(f"tests.standin: {error}")
