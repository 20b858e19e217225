"""The record of a run: journal, segments, checkpoints and oracle log; recovery; and the one reader of runs."""
