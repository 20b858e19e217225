"""The life of a run's directory: create, execute, resume, replay, verify, fork, summarise."""
