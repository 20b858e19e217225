"""Metrics of a run, as seen from outside: snapshots, their exposition, and the HTTP endpoint."""
