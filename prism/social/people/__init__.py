"""People: who they are, where they come from, and when they are there."""
