"""What is on the disk: journal, oracle log, checkpoints, and how a run is recovered from them."""
