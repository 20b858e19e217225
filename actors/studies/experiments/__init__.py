"""Experiments: many runs as one, from their plan to the table of results."""
