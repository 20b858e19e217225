"""Explanations: turns traced again, other futures of a run, and its people at a moment of it."""
