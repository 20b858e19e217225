"""The files of a run: journal, oracle log, checkpoints, and the recovery of a run from them."""
