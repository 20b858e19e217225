"""The tables of runs, and the explanation of any decision, worked out from the files of a run."""
