"""Displays of a run that is under way: on a terminal, in a log, or below the cell of a notebook."""
