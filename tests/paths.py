"""The paths of the project, and of real input outside of it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The root of the project."""

DATA = ROOT.parent / "shared" / "data"
"""The directory of real input, if there is any: tests that need it skip if it is absent."""
