"""Where the tests find the project, and real input outside of it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The project."""

DATA = ROOT.parent / "shared" / "data"
"""Real input, where there is any: tests that need it skip where it is absent."""
