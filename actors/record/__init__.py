"""Runs as they are read from their directories: journal, oracle log, manifest, status and course."""
