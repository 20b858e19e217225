"""Altair, imported also for a user without a home directory.

Altair asks for it at import. A container may have a user whom the system does not know, and no HOME.
"""

import os
import tempfile
from pathlib import Path

try:
    Path.home()
except RuntimeError:
    os.environ["HOME"] = tempfile.gettempdir()
    try:
        import altair  # noqa: F401
    finally:
        del os.environ["HOME"]
