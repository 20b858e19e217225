"""A run and its directory: create, execute, checkpoint, resume, replay, fork, verify, list, summarise."""
